//! Words of people, made fit to be handed over, and what is said of them. Pure, and the same on every surface.

use cloister_protocol::Language;
use cloister_words::say;

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
    let whose = one_line(whose);
    let text = short(text.trim(), LONGEST_QUOTE);
    if text.is_empty() {
        return format!("> {whose}:");
    }
    format!("> {whose}:\n{}", behind_marks(&text))
}

/// Each line of a text marked as somebody else's.
pub fn behind_marks(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let lines: Vec<String> = text.split(ends_line).map(|line| format!("> {line}")).collect();
    lines.join("\n")
}

/// Code, as a block that nothing inside of it ends.
pub fn fenced(language: &str, code: &str) -> String {
    let longest = code.split(|c: char| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.saturating_add(1).max(3));
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '#' | '.' | '_');
    let language = if language.chars().all(plain) { language } else { "" };
    format!("{fence}{language}\n{}\n{fence}", code.trim_end_matches('\n'))
}

/// What somebody else is called, where it stands among a person's own words: it names no address, no room and
/// no mark-up, whatever they call themselves.
pub fn called(name: &str) -> String {
    let mut kept = String::with_capacity(name.len());
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        let ends_word = c == '.' && chars.peek().is_none_or(|next| next.is_whitespace());
        let plain = c.is_alphabetic()
            || c.is_ascii_digit()
            || matches!(c, ' ' | '-' | '_' | '\'' | '(' | ')');
        let is_picture = matches!(u32::from(c), 0x2600..=0x27BF | 0x1F000..=0x1FAFF);
        kept.push(if plain || ends_word || is_picture { c } else { '_' });
    }
    kept
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

/// What is said where an edit makes a command of a message.
pub fn no_command_by_edit(to: Language) -> String {
    say!(to, "I do not take commands from an edit: send it as a message of its own.")
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
