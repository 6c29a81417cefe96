//! Forms in several parts: what separates their parts is the broker's, as it says nothing.
//!
//! A form that is not exactly one is left as it is, and is then content: shown and digested whole,
//! with the boundary that it names.

use bytes::Bytes;

const BOUNDARY: &str = "cloister-boundary";

pub(super) struct Form {
    pub(super) content_type: String,
    pub(super) body: Bytes,
}

/// The same parts, with what separates them chosen here.
pub(super) fn rebuild(content_type: &str, body: &[u8]) -> Option<Form> {
    let (kind, boundary) = boundary_of(content_type)?;
    let parts = parts(body, boundary)?;
    let boundary = free_boundary(&parts);
    let mut rebuilt = Vec::with_capacity(body.len() + 64);
    for part in parts {
        rebuilt.extend_from_slice(format!("--{boundary}\r\n").as_bytes());
        rebuilt.extend_from_slice(part);
        rebuilt.extend_from_slice(b"\r\n");
    }
    rebuilt.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Some(Form { content_type: format!("{kind}; boundary={boundary}"), body: rebuilt.into() })
}

/// The kind in its one spelling, and the boundary. With anything else beside them it is no form of ours.
fn boundary_of(content_type: &str) -> Option<(&'static str, &str)> {
    const KINDS: &[&str] = &["multipart/form-data", "multipart/mixed"];
    let (kind, rest) = content_type.split_once(';')?;
    let kind = KINDS.iter().find(|known| known.eq_ignore_ascii_case(kind.trim()))?;
    let (name, value) = rest.split_once('=')?;
    if !name.trim().eq_ignore_ascii_case("boundary") {
        return None;
    }
    let value = value.trim();
    let value = value.strip_prefix('"').and_then(|v| v.strip_suffix('"')).unwrap_or(value);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=?".contains(&byte);
    let fits = (1..=70).contains(&value.len()) && value.bytes().all(plain);
    fits.then_some((*kind, value))
}

/// The parts, each with its head. Nothing may stand before, between or behind them.
fn parts<'a>(body: &'a [u8], boundary: &str) -> Option<Vec<&'a [u8]>> {
    let between = format!("\r\n--{boundary}");
    let mut rest = body.strip_prefix(between.get(2..)?.as_bytes())?;
    let mut parts = Vec::new();
    loop {
        if let Some(end) = rest.strip_prefix(b"--") {
            return (matches!(end, b"" | b"\r\n") && !parts.is_empty()).then_some(parts);
        }
        rest = rest.strip_prefix(b"\r\n")?;
        let at = find(rest, between.as_bytes())?;
        let (part, more) = rest.split_at(at);
        if !has_plain_head(part) {
            return None;
        }
        parts.push(part);
        rest = more.get(between.len()..)?;
    }
}

/// A head of known fields, and an empty line behind it.
fn has_plain_head(part: &[u8]) -> bool {
    const FIELDS: &[&str] = &["content-disposition", "content-type", "content-transfer-encoding"];
    let Some(end) = find(part, b"\r\n\r\n") else { return false };
    let Some(Ok(head)) = part.get(..end).map(std::str::from_utf8) else { return false };
    head.split("\r\n").all(|line| {
        let name = line.split_once(':').map(|(name, _)| name.to_ascii_lowercase());
        name.is_some_and(|name| FIELDS.contains(&name.as_str()))
    })
}

/// One that stands in no part; the same for the same parts.
fn free_boundary(parts: &[&[u8]]) -> String {
    let taken = |boundary: &String| {
        parts.iter().any(|part| find(part, format!("--{boundary}").as_bytes()).is_some())
    };
    let numbered = (1_u32..).map(|number| format!("{BOUNDARY}-{number}"));
    let mut candidates = std::iter::once(BOUNDARY.to_owned()).chain(numbered);
    candidates.find(|boundary| !taken(boundary)).unwrap_or_default()
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
#[path = "form_tests.rs"]
mod tests;
