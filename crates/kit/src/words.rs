//! Words of people, made fit to be handed over. Pure, and the same on every surface.

/// How much of a quoted message the agent is shown.
const LONGEST_QUOTE: usize = 4_000;

/// Without what no keyboard writes: control characters, other ends of line.
pub fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// At most so many characters.
pub fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Somebody else's words, each line marked as such. Whose they are is one line, whatever they call themselves.
pub fn quoted(whose: &str, text: &str) -> String {
    let mut quote = format!("> {}:", one_line(whose));
    let text = short(text.trim(), LONGEST_QUOTE).replace("\r\n", "\n");
    for line in text.split(ends_line).filter(|_| !text.is_empty()) {
        quote.push_str("\n> ");
        quote.push_str(line);
    }
    quote
}

fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || ends_line(c));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// What is shown as the end of a line somewhere.
const fn ends_line(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// Whether a stranger asks for a code.
pub fn asks_to_pair(text: &str) -> bool {
    let text = text.trim();
    text.strip_prefix(['/', '!']).unwrap_or(text).eq_ignore_ascii_case("pair")
}

/// The size of a file as people say it.
pub fn megabytes(bytes: u64) -> String {
    let tenths = bytes.saturating_mul(10).div_ceil(1 << 20);
    if tenths.is_multiple_of(10) || tenths > 100 {
        format!("{} MB", tenths.div_ceil(10))
    } else {
        format!("{}.{} MB", tenths / 10, tenths % 10)
    }
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
