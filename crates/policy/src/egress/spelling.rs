//! The one spelling of a path and of a query: what is compared, shown and sent.
//!
//! Two addresses that every server reads alike are the same bytes here, so that nothing can be told by
//! how one is written (RFC 3986, 6.2.2): no dot segments, nothing encoded that need not be, the rest in
//! capitals.

/// The path as it is sent; starts with a slash.
pub fn one_path(path: &str) -> String {
    let spelled = spelled(path, |byte| byte == b'/' || is_path_byte(byte));
    let mut kept: Vec<&str> = Vec::new();
    let segments: Vec<&str> = spelled.strip_prefix('/').unwrap_or(&spelled).split('/').collect();
    let last = segments.len().saturating_sub(1);
    for (at, segment) in segments.iter().enumerate() {
        match *segment {
            "." | ".." => {
                if *segment == ".." {
                    kept.pop();
                }
                // `/a/..` is the folder itself.
                if at == last {
                    kept.push("");
                }
            }
            other => kept.push(other),
        }
    }
    format!("/{}", kept.join("/"))
}

/// The query as it is sent, without its question mark; none where it says nothing.
pub fn one_query(query: &str) -> Option<String> {
    let spelled = spelled(query, |byte| byte == b'/' || byte == b'?' || is_path_byte(byte));
    (!spelled.is_empty()).then_some(spelled)
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

fn is_path_byte(byte: u8) -> bool {
    is_unreserved(byte) || b"!$&'()*+,;=:@".contains(&byte)
}

fn spelled(text: &str, stays: impl Fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let code = (*byte == b'%').then(|| encoded(bytes.get(at + 1), bytes.get(at + 2))).flatten();
        match code {
            Some(code) if is_unreserved(code) => out.push(char::from(code)),
            Some(code) => out.push_str(&format!("%{code:02X}")),
            None if stays(*byte) => out.push(char::from(*byte)),
            None => out.push_str(&format!("%{byte:02X}")),
        }
        at += if code.is_some() { 3 } else { 1 };
    }
    out
}

fn encoded(high: Option<&u8>, low: Option<&u8>) -> Option<u8> {
    let digit = |digit: Option<&u8>| char::from(*digit?).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

#[cfg(test)]
#[path = "spelling_tests.rs"]
mod tests;
