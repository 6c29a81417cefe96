//! The headers of a request: which of them say nothing, and which could say anything.

use std::collections::BTreeMap;

const MEDIA_TYPES: &[&str] = &[
    "*/*",
    "text/*",
    "text/html",
    "text/plain",
    "text/css",
    "image/*",
    "image/webp",
    "image/avif",
    "application/json",
    "application/xml",
    "application/xhtml+xml",
    "application/signed-exchange",
    "application/vnd.pypi.simple.v1+json",
    "application/vnd.pypi.simple.v1+html",
    "application/vnd.npm.install-v1+json",
    "application/vnd.github+json",
    "application/x-git-upload-pack-result",
];
const ENCODINGS: &[&str] = &["gzip", "deflate", "br", "zstd", "identity", "compress", "*"];
const LANGUAGES: &[&str] = &["*", "en", "en-us", "en-gb"];
/// Programs whose name and version may be said.
const PROGRAMS: &[&str] = &[
    "cloister",
    "curl",
    "wget",
    "git",
    "pip",
    "npm",
    "node",
    "python-urllib",
    "python-requests",
    "go-http-client",
];
/// Headers that are what they are, whole.
const FIXED: &[(&str, &str)] = &[
    ("cache-control", "no-cache"),
    ("cache-control", "max-age=0"),
    ("pragma", "no-cache"),
    ("git-protocol", "version=2"),
    ("upgrade-insecure-requests", "1"),
    ("sec-fetch-mode", "cors"),
    ("content-type", "application/x-git-upload-pack-request"),
];
/// Headers that frame the request, and are the broker's own in the end.
const FRAMING: &[&str] = &["host", "content-length", "connection", "expect", "te"];

/// The headers with which a program could tell something.
pub(super) fn telling(headers: &[(String, String)]) -> impl Iterator<Item = (&str, &str)> {
    headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .filter(|(name, value)| !is_plain(&name.to_ascii_lowercase(), value))
}

/// The same as a person is shown them; an answer is bound to them.
pub(super) fn shown(headers: &[(String, String)]) -> BTreeMap<String, String> {
    let mut shown: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in telling(headers) {
        let all = shown.entry(format!("header {}", name.to_ascii_lowercase())).or_default();
        if !all.is_empty() {
            all.push_str(", ");
        }
        all.push_str(&without_boundary(value));
    }
    shown
}

fn is_plain(name: &str, value: &str) -> bool {
    let value = value.trim().to_ascii_lowercase();
    if FRAMING.contains(&name) || FIXED.contains(&(name, value.as_str())) {
        return true;
    }
    let list = |known: &[&str]| value.split(',').all(|item| is_listed(item, known));
    match name {
        "accept" => list(MEDIA_TYPES),
        "accept-encoding" => list(ENCODINGS),
        "accept-language" => list(LANGUAGES),
        "user-agent" => is_program(&value),
        _ => false,
    }
}

/// `text/html` or `text/html;q=0.9`
fn is_listed(item: &str, known: &[&str]) -> bool {
    let (word, rest) = item.split_once(';').unwrap_or((item, ""));
    let weight = rest.trim();
    let weighs = weight.is_empty()
        || weight
            .strip_prefix("q=0.")
            .is_some_and(|w| w.len() == 1 && w.bytes().all(|b| b.is_ascii_digit()));
    known.contains(&word.trim()) && weighs
}

/// `curl/8.5.0`, or a name alone.
fn is_program(value: &str) -> bool {
    let (name, version) = value.split_once('/').unwrap_or((value, ""));
    let numbers = version.split('.').count() <= 3
        && version.len() <= 8
        && version.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    PROGRAMS.contains(&name) && numbers
}

/// The body as two sendings of the same form are compared: what a program draws by lot to separate
/// its fields is not part of it.
pub(super) fn comparable_body(headers: &[(String, String)], body: &[u8]) -> Vec<u8> {
    let boundary = headers.iter().find_map(|(name, value)| {
        name.eq_ignore_ascii_case("content-type").then(|| boundary_of(value)).flatten()
    });
    let (Some(boundary), Ok(text)) = (boundary, std::str::from_utf8(body)) else {
        return body.to_vec();
    };
    text.replace(&format!("--{boundary}"), "--boundary").into_bytes()
}

fn boundary_of(content_type: &str) -> Option<&str> {
    let rest = content_type.strip_prefix("multipart/form-data;")?.trim();
    let boundary = rest.strip_prefix("boundary=")?.trim_matches('"');
    let drawn = (8..=70).contains(&boundary.len())
        && boundary.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    drawn.then_some(boundary)
}

fn without_boundary(value: &str) -> String {
    match boundary_of(value) {
        Some(_) => "multipart/form-data; boundary=boundary".to_owned(),
        None => value.to_owned(),
    }
}

#[cfg(test)]
#[path = "headers_tests.rs"]
mod tests;
