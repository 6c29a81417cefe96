//! Cutting text to size without breaking a character.

/// The longest start of `text` of at most `max` bytes.
pub(crate) fn head(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or(text)
}

/// The longest end of `text` of at most `max` bytes.
pub(crate) fn tail(text: &str, max: usize) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(max));
    text.get(start..).unwrap_or(text)
}

/// `text` with its middle left out, and said so, when it is longer than `max` bytes.
pub(crate) fn shorten(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let (head, tail) = (head(text, max / 2), tail(text, max / 2));
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n[… {left_out} bytes left out …]\n{tail}")
}

/// The first line that says something, cut to `max` bytes.
pub(crate) fn first_line(text: &str, max: usize) -> &str {
    head(text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default(), max)
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
