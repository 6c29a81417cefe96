//! Forms in several parts: what separates their parts is the broker's, as it says nothing.
//!
//! A form that is not exactly one is left as it is, and is then content: shown and digested whole,
//! with the boundary that it names.

use std::collections::BTreeSet;

use bytes::Bytes;

const BOUNDARY: &str = "cloister-boundary";
/// A form that says ours more often is made to be looked through again and again: it is left as it is.
const MOST_TAKEN: usize = 64;

pub(super) struct Form {
    pub(super) content_type: String,
    pub(super) body: Bytes,
}

/// The same parts, with what separates them chosen here.
pub(super) fn rebuild(content_type: &str, body: &[u8]) -> Option<Form> {
    let (kind, boundary) = boundary_of(content_type)?;
    let parts = parts(body, boundary)?;
    let boundary = free_boundary(&parts)?;
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

/// One that stands in no part; the same for the same parts. Each part is gone through once.
fn free_boundary(parts: &[&[u8]]) -> Option<String> {
    let ours = format!("--{BOUNDARY}");
    let (mut taken, mut said) = (BTreeSet::new(), 0);
    for part in parts {
        let mut rest = *part;
        while let Some(at) = find(rest, ours.as_bytes()) {
            said += 1;
            rest = rest.get(at + ours.len()..)?;
            taken.extend(numbers_at(rest));
        }
        if said > MOST_TAKEN {
            return None;
        }
    }
    if said == 0 {
        return Some(BOUNDARY.to_owned());
    }
    let number = (1_u32..).find(|number| !taken.contains(number))?;
    Some(format!("{BOUNDARY}-{number}"))
}

/// The numbers that a text begins with behind a dash: `-12` is 1 and 12.
fn numbers_at(text: &[u8]) -> Vec<u32> {
    let digits = text.strip_prefix(b"-").unwrap_or_default();
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit()).take(9);
    let mut numbers = Vec::new();
    for digit in digits {
        let before = numbers.last().copied().unwrap_or(0);
        if before == 0 && *digit == b'0' {
            break;
        }
        numbers.push(before * 10 + u32::from(digit - b'0'));
    }
    numbers
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
#[path = "form_tests.rs"]
mod tests;
