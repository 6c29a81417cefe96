//! What stands between quotation marks as people type them, `"…"`, `„…“`, `«…»`.
//!
//! A phrase in quotation marks among a person's words is theirs: they say what to look for. A quotation that runs over
//! several lines, or that is a line of whole sentences, is what somebody else has said. Whoever has said it may have used
//! such marks too: so it runs from the line that leaves one open to the last line that has any, and to the end of the
//! message where none has.

use super::own::Lead;

const MARKS: &[char] =
    &['"', '„', '“', '”', '‟', '«', '»', '＂', '〝', '〞', '「', '」', '『', '』'];
/// They begin a quotation wherever they stand.
const OPENING: &[char] = &['„', '«', '〝', '「', '『'];
/// A sentence of a quotation has so many words.
const SENTENCE: usize = 4;

/// Of each line, whether it belongs to a quotation.
pub(super) fn others(lines: &[&str]) -> Vec<bool> {
    let later = |at: usize| lines.iter().skip(at + 1);
    let ends = |line: &&str| line.trim_end_matches(['.', ',', '!', '?', ')', ' ']).ends_with(MARKS);
    // Closed where it is opened, it may have been closed by whoever is quoted.
    let last_end = lines.iter().rposition(ends).unwrap_or_default();
    let begins = |(at, line): (usize, &&str)| {
        leaves_open(line) || (at < last_end && Lead::of(line).rest.starts_with(MARKS))
    };
    let first = lines.iter().enumerate().position(begins).unwrap_or(lines.len());
    let last = later(first).rposition(|line| line.contains(MARKS));
    let last = last.map_or(lines.len(), |last| first + 1 + last);
    let within = |at: usize| (first..=last).contains(&at);
    lines.iter().enumerate().map(|(at, line)| within(at) || is_said(line)).collect()
}

/// Whether a line begins a quotation that it does not end, or ends one.
fn leaves_open(line: &str) -> bool {
    let (mut count, mut open, mut before) = (0_usize, false, None::<char>);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        if MARKS.contains(&c) {
            let free = before.is_none_or(|c| c.is_whitespace() || "([{:>*_-–—".contains(c));
            let speaks = chars.peek().is_some_and(|c| !c.is_whitespace() && !MARKS.contains(c));
            open = OPENING.contains(&c) || (free && speaks);
            // Inches, and marks within a word, quote nothing.
            let measures = before.is_some_and(|c| c.is_ascii_digit()) && !free;
            let inside = before.is_some_and(char::is_alphabetic)
                && chars.peek().is_some_and(|c| c.is_alphabetic());
            count += usize::from(!measures && !inside);
        }
        before = Some(c);
    }
    open || count % 2 == 1
}

/// Whether a line is a quotation, of a sentence or more.
fn is_said(line: &str) -> bool {
    let text = Lead::of(line).rest;
    let Some(said) = text.strip_prefix(MARKS) else { return false };
    let Some(said) = said.rfind(MARKS).and_then(|end| said.get(..end)) else { return false };
    let ends = |word: &str| word.ends_with(['.', '!', '?', '…', '。', '！', '？']);
    said.split_whitespace().any(ends) && said.split_whitespace().nth(SENTENCE - 1).is_some()
}

#[cfg(test)]
#[path = "speech_tests.rs"]
mod tests;
