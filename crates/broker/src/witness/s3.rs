//! A witness that is a bucket: every checkpoint becomes an object, which is not written twice. Give the key no
//! more than the right to put objects, and let the bucket lock them.

use cloister_control::ports::CheckpointWitness;
use cloister_control::{Clock, S3Witness};
use futures_util::future::{BoxFuture, FutureExt};
use reqwest::{Client, StatusCode};
use url::Url;

use super::signature::{Signer, sha256_hex};
use super::{SecretKey, Tried, judged, persist};

pub(super) struct Bucket {
    client: Client,
    /// Of the bucket, without a slash at its end.
    base: String,
    host: String,
    prefix: String,
    name: String,
    region: String,
    access_key: String,
    secret: SecretKey,
    clock: Clock,
}

impl Bucket {
    pub(super) fn new(
        client: Client,
        endpoint: &Url,
        options: &S3Witness,
        secret: SecretKey,
    ) -> Self {
        let base = endpoint.as_str().trim_end_matches('/');
        let host = endpoint.host_str().unwrap_or_default();
        let host = endpoint.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        Self {
            client,
            base: format!("{base}/{}", encoded(&options.bucket)),
            host,
            prefix: options.prefix.clone(),
            name: format!("s3 {base}/{}/{}", options.bucket, options.prefix),
            region: options.region.clone(),
            access_key: options.access_key.clone(),
            secret,
            clock: Clock,
        }
    }

    async fn put(&self, number: u64, line: &[u8]) -> Tried {
        let secret = match self.secret.read().await {
            Ok(secret) => secret,
            Err(why) => return Tried::Refused(why),
        };
        let url = format!("{}/{}{number:012}.json", self.base, encoded(&self.prefix));
        let path = url.splitn(4, '/').nth(3).map(|path| format!("/{path}")).unwrap_or_default();
        let hash = sha256_hex(line);
        let time = self.clock.now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let signer = Signer { access_key: &self.access_key, secret: &secret, region: &self.region };
        // In the order of their names, as they are signed.
        let headers = [
            ("host", self.host.as_str()),
            ("if-none-match", "*"),
            ("x-amz-content-sha256", hash.as_str()),
            ("x-amz-date", time.as_str()),
        ];
        let authorization = signer.authorize("PUT", &path, &headers, &hash, &time);
        let mut request = self.client.put(url).body(line.to_vec());
        for (name, value) in headers.into_iter().filter(|(name, _)| *name != "host") {
            request = request.header(name, value);
        }
        let request = request.header("authorization", authorization);
        // What is there already stays: it is what was shown first.
        judged(request.send().await, &[StatusCode::PRECONDITION_FAILED])
    }
}

/// A path as it is signed and sent: all but a few characters as percents.
fn encoded(path: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~/".contains(byte);
    path.bytes()
        .map(
            |byte| if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") },
        )
        .collect()
}

impl CheckpointWitness for Bucket {
    fn name(&self) -> &str {
        &self.name
    }

    fn keep<'a>(&'a self, number: u64, line: &'a [u8]) -> BoxFuture<'a, Result<(), String>> {
        persist(move || self.put(number, line)).boxed()
    }
}
