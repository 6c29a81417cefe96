//! Paths, read as every server on the way would read them, or not at all.

/// The segments of a path, each in its one spelling. `None` when servers differ in how they read it:
/// dot segments, empty segments, encoded slashes, double encoding and the like.
pub(super) fn segments(path: &str) -> Option<Vec<String>> {
    let Some(rest) = path.strip_prefix('/') else {
        return path.is_empty().then(Vec::new);
    };
    // One slash at the end changes nothing.
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.is_empty() {
        return (path.len() <= 1).then(Vec::new);
    }
    rest.split('/').map(segment).collect()
}

fn segment(raw: &str) -> Option<String> {
    let mut plain = String::with_capacity(raw.len());
    let mut bytes = raw.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            if !byte.is_ascii_graphic() || byte == b'\\' {
                return None;
            }
            plain.push(char::from(byte));
            continue;
        }
        let code = hex(bytes.next()?)? * 16 + hex(bytes.next()?)?;
        match code {
            b'/' | b'\\' | b'%' | b';' => return None,
            _ if code.is_ascii_control() => return None,
            _ if is_unreserved(code) => plain.push(char::from(code)),
            _ => plain.push_str(&format!("%{code:02X}")),
        }
    }
    // Some servers cut `;…` off before they look for dot segments.
    let name = plain.split(';').next().unwrap_or_default();
    let clear = !plain.is_empty() && !matches!(name, "" | "." | "..");
    clear.then_some(plain)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}
