//! Bytes to text. Nearly all of the web is UTF-8 or Windows-1252; UTF-16 is there for completeness, and
//! of anything else the name is told, so that a tool that knows it can be used.

use std::borrow::Cow;

/// How far into a page its own word about its character set may stand.
const META_BYTES: usize = 2_048;

/// 0x80 to 0x9F of Windows-1252; the rest is Latin-1.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Decodes; the error is the name of a character set that is not known here.
pub(super) fn decode<'a>(
    body: &'a [u8],
    content_type: &str,
    is_html: bool,
) -> Result<Cow<'a, str>, String> {
    if let Some(rest) = body.strip_prefix(b"\xEF\xBB\xBF") {
        return Ok(String::from_utf8_lossy(rest));
    }
    if let Some(rest) = body.strip_prefix(b"\xFF\xFE") {
        return Ok(utf16(rest, u16::from_le_bytes));
    }
    if let Some(rest) = body.strip_prefix(b"\xFE\xFF") {
        return Ok(utf16(rest, u16::from_be_bytes));
    }
    let named = charset_in(content_type.as_bytes()).or_else(|| {
        let start = body.get(..META_BYTES).unwrap_or(body);
        if is_html { charset_in(start) } else { None }
    });
    let Some(name) = named else {
        return Ok(if is_utf8(body) { String::from_utf8_lossy(body) } else { windows_1252(body) });
    };
    match name.as_str() {
        "utf-8" | "utf8" => Ok(String::from_utf8_lossy(body)),
        "utf-16le" | "utf-16" => Ok(utf16(body, u16::from_le_bytes)),
        "utf-16be" => Ok(utf16(body, u16::from_be_bytes)),
        // Often said by habit, of pages that are UTF-8 by now.
        _ if is_utf8(body) => Ok(String::from_utf8_lossy(body)),
        "windows-1252" | "cp1252" | "iso-8859-1" | "iso8859-1" | "latin1" | "us-ascii"
        | "ascii" => Ok(windows_1252(body)),
        _ => Err(name),
    }
}

/// Whether it is UTF-8, but for a last character that was cut off.
pub(super) fn is_utf8(body: &[u8]) -> bool {
    match std::str::from_utf8(body) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    }
}

/// What follows the first `charset=`, in small letters.
fn charset_in(text: &[u8]) -> Option<String> {
    const WORD: &[u8] = b"charset";
    let at = text.windows(WORD.len()).position(|window| window.eq_ignore_ascii_case(WORD))?;
    let rest = text.get(at + WORD.len()..)?.trim_ascii_start().strip_prefix(b"=")?;
    let rest = rest.trim_ascii_start();
    let rest = rest.strip_prefix(b"\"").or(rest.strip_prefix(b"'")).unwrap_or(rest);
    let of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_:.".contains(byte);
    let name: String = rest
        .iter()
        .take_while(|byte| of_name(byte))
        .take(40)
        .map(|byte| char::from(byte.to_ascii_lowercase()))
        .collect();
    (!name.is_empty()).then_some(name)
}

fn utf16(body: &[u8], unit: fn([u8; 2]) -> u16) -> Cow<'static, str> {
    let units = body.chunks_exact(2).filter_map(|pair| pair.try_into().ok()).map(unit);
    let characters = char::decode_utf16(units);
    Cow::Owned(characters.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

fn windows_1252(body: &[u8]) -> Cow<'static, str> {
    let character = |byte: &u8| {
        let high = byte.checked_sub(0x80).and_then(|at| WINDOWS_1252.get(usize::from(at)));
        high.copied().unwrap_or(char::from(*byte))
    };
    Cow::Owned(body.iter().map(character).collect())
}
