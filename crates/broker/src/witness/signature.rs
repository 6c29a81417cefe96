//! The signature that S3 stores ask for (AWS Signature Version 4), for one small request without a query.

use ring::{digest, hmac};

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// Whose key signs, and for where.
pub(super) struct Signer<'a> {
    pub(super) access_key: &'a str,
    pub(super) secret: &'a str,
    pub(super) region: &'a str,
}

impl Signer<'_> {
    /// The value of the `authorization` header. Headers come in the order of their names, in lower case; the
    /// time looks like `20130524T000000Z`.
    pub(super) fn authorize(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body_hash: &str,
        time: &str,
    ) -> String {
        let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
        let names = names.join(";");
        let lines: String =
            headers.iter().map(|(name, value)| format!("{name}:{}\n", value.trim())).collect();
        let request = format!("{method}\n{path}\n\n{lines}\n{names}\n{body_hash}");
        let day = time.split('T').next().unwrap_or_default();
        let scope = format!("{day}/{}/s3/aws4_request", self.region);
        let text = format!("{ALGORITHM}\n{time}\n{scope}\n{}", sha256_hex(request.as_bytes()));
        let mut key = sign(format!("AWS4{}", self.secret).as_bytes(), day);
        for part in [self.region, "s3", "aws4_request"] {
            key = sign(key.as_ref(), part);
        }
        let signature = hex(sign(key.as_ref(), &text).as_ref());
        format!(
            "{ALGORITHM} Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
            self.access_key
        )
    }
}

fn sign(key: &[u8], text: &str) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes())
}

pub(super) fn sha256_hex(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
