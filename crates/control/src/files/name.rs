//! Names for files that came from outside.

/// The longest name that is made, in bytes; leaves room for a number.
const MAX_NAME_BYTES: usize = 180;

/// Characters that look like a slash, a backslash or a dot and are not: in a listing they fool people.
const LOOK_ALIKES: &[char] = &[
    '\u{2044}', '\u{2215}', '\u{29F8}', '\u{FF0F}', '\u{2571}', '\u{27CB}', '\u{FF3C}', '\u{FE68}',
    '\u{29F5}', '\u{2216}', '\u{2024}', '\u{2025}', '\u{2026}', '\u{FF0E}', '\u{FE52}', '\u{FF61}',
];

/// A name that is safe in any directory and tells people what it is: no separators or what looks
/// like them, no control or direction marks, not hidden, not a device of any system.
pub fn safe_name(wanted: &str) -> String {
    let last = wanted.rsplit(['/', '\\']).next().unwrap_or(wanted);
    let cleaned: String = last.chars().filter_map(clean_char).collect();
    let trimmed = cleaned.trim_matches(|c: char| c == '.' || c == ' ' || c == '-');
    let (stem, extension) = split(trimmed);
    let extension: String = extension.chars().take(16).collect();
    let room = MAX_NAME_BYTES.saturating_sub(extension.len() + 1);
    let stem = cut(stem, room);
    match (stem.is_empty(), extension.is_empty()) {
        (true, true) => "file".to_owned(),
        (true, false) => format!("file.{extension}"),
        (false, true) => stem.to_owned(),
        (false, false) => format!("{stem}.{extension}"),
    }
}

/// The name itself for the first, `stem-2.ext` for the second.
pub(crate) fn numbered(name: &str, number: u32) -> String {
    if number == 1 {
        return name.to_owned();
    }
    let (stem, extension) = split(name);
    if extension.is_empty() {
        format!("{stem}-{number}")
    } else {
        format!("{stem}-{number}.{extension}")
    }
}

/// Whether people don't see the character, or see others in another order for it.
pub(crate) fn is_invisible(c: char) -> bool {
    // Joiners and selectors have no use in a name that they would be missed for.
    cloister_policy::is_hidden(c) || matches!(c, '\u{200C}' | '\u{200D}' | '\u{FE00}'..='\u{FE0F}')
}

fn clean_char(c: char) -> Option<char> {
    if c.is_control() || is_invisible(c) {
        return None;
    }
    let awkward = matches!(
        c,
        '"' | '\'' | '`' | '$' | '*' | '?' | '<' | '>' | '|' | '&' | ';' | ':' | '~' | '\\' | '%'
    );
    if awkward || LOOK_ALIKES.contains(&c) || (c.is_whitespace() && c != ' ') {
        Some('_')
    } else {
        Some(c)
    }
}

fn split(name: &str) -> (&str, &str) {
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() && !extension.contains(' ') => {
            (stem, extension)
        }
        Some(_) | None => (name, ""),
    }
}

fn cut(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or(text)
}
