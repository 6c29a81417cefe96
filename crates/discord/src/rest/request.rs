//! What is asked of Discord: a method of an address below the API's, and what is said with it.

use reqwest::Method;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::Fault;

/// A request; nothing of it is shown, for an address may hold the token of an interaction.
pub(crate) struct Request {
    method: Method,
    path: String,
    body: Option<Body>,
    /// The bot's own token goes along; without it, the address holds the token that allows it.
    ours: bool,
}

/// What is said with a request.
struct Body {
    kind: String,
    bytes: Vec<u8>,
}

/// A file that goes along.
pub(crate) struct File<'a> {
    pub(crate) name: &'a str,
    pub(crate) data: &'a [u8],
}

impl Request {
    const fn new(method: Method, path: String) -> Self {
        Self { method, path, body: None, ours: true }
    }

    pub(crate) const fn get(path: String) -> Self {
        Self::new(Method::GET, path)
    }

    pub(crate) const fn post(path: String) -> Self {
        Self::new(Method::POST, path)
    }

    pub(crate) const fn put(path: String) -> Self {
        Self::new(Method::PUT, path)
    }

    pub(crate) const fn patch(path: String) -> Self {
        Self::new(Method::PATCH, path)
    }

    /// Without the bot's token.
    pub(crate) fn by_token(self) -> Self {
        Self { ours: false, ..self }
    }

    pub(crate) fn saying(self, said: &impl Serialize) -> Result<Self, Fault> {
        let bytes = serde_json::to_vec(said).map_err(|error| Fault::not_made(&error))?;
        let body = Body { kind: "application/json".to_owned(), bytes };
        Ok(Self { body: Some(body), ..self })
    }

    /// The same with a file. The boundary is made of what it divides, so that it does not occur in it.
    pub(crate) fn with_file(self, said: &impl Serialize, file: &File<'_>) -> Result<Self, Fault> {
        let said = serde_json::to_vec(said).map_err(|error| Fault::not_made(&error))?;
        let digest = Sha256::new().chain_update(&said).chain_update(file.data).finalize();
        let boundary: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let mut bytes = Vec::with_capacity(said.len() + file.data.len() + 512);
        let head = |name: &str, kind: &str| {
            format!(
                "--{boundary}\r\nContent-Disposition: form-data; {name}\r\nContent-Type: {kind}\r\n\r\n"
            )
        };
        bytes.extend(head("name=\"payload_json\"", "application/json").into_bytes());
        bytes.extend(&said);
        let name = format!("name=\"files[0]\"; filename=\"{}\"", in_quotes(file.name));
        bytes.extend(b"\r\n");
        bytes.extend(head(&name, "application/octet-stream").into_bytes());
        bytes.extend(file.data);
        bytes.extend(format!("\r\n--{boundary}--\r\n").into_bytes());
        let body = Body { kind: format!("multipart/form-data; boundary={boundary}"), bytes };
        Ok(Self { body: Some(body), ..self })
    }

    pub(super) const fn method(&self) -> &Method {
        &self.method
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) const fn is_ours(&self) -> bool {
        self.ours
    }

    /// What is said, and of which type it is.
    pub(super) fn into_body(self) -> Option<(String, Vec<u8>)> {
        self.body.map(|body| (body.kind, body.bytes))
    }
}

/// A name that ends where its quotes end.
fn in_quotes(name: &str) -> String {
    name.chars().map(|c| if c.is_control() || matches!(c, '"' | '\\') { '_' } else { c }).collect()
}

/// The addresses that are asked, below the API's.
pub(crate) mod at {
    pub(crate) fn gateway() -> String {
        "gateway/bot".to_owned()
    }

    pub(crate) fn me() -> String {
        "users/@me".to_owned()
    }

    pub(crate) fn own_application() -> String {
        "applications/@me".to_owned()
    }

    pub(crate) fn commands(application: u64) -> String {
        format!("applications/{application}/commands")
    }

    pub(crate) fn roles(guild: u64) -> String {
        format!("guilds/{guild}/roles")
    }

    pub(crate) fn channel(channel: u64) -> String {
        format!("channels/{channel}")
    }

    pub(crate) fn typing(channel: u64) -> String {
        format!("channels/{channel}/typing")
    }

    pub(crate) fn messages(channel: u64) -> String {
        format!("channels/{channel}/messages")
    }

    /// So many of those that came after one.
    pub(crate) fn messages_after(channel: u64, after: u64, most: u16) -> String {
        format!("channels/{channel}/messages?after={after}&limit={most}")
    }

    pub(crate) fn message(channel: u64, message: u64) -> String {
        format!("channels/{channel}/messages/{message}")
    }

    /// Where an interaction is acknowledged.
    pub(crate) fn callback(interaction: u64, token: &str) -> String {
        format!("interactions/{interaction}/{}/callback", segment(token))
    }

    /// Where something is said after an interaction was acknowledged.
    pub(crate) fn after(application: u64, token: &str) -> String {
        format!("webhooks/{application}/{}?wait=true&with_components=true", segment(token))
    }

    /// One of the messages that were said there; `@original` is the first.
    pub(crate) fn answered(application: u64, token: &str, message: &str) -> String {
        format!("webhooks/{application}/{}/messages/{}", segment(token), segment(message))
    }

    /// What comes from outside is one segment of an address and nothing else.
    fn segment(text: &str) -> String {
        let mut segment = String::with_capacity(text.len());
        for byte in text.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' | b'@' | b'=' => {
                    segment.push(char::from(byte));
                }
                // Two of these alone would lead a level up.
                b'.' if text.bytes().any(|other| other != b'.') => segment.push('.'),
                other => segment.push_str(&format!("%{other:02X}")),
            }
        }
        segment
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
