//! Text that a person decides by, with nothing in it that the eye would miss.
//!
//! Reversible: two different texts never render the same, because the one bracket that marks what
//! was made visible is itself made visible where the text has it.

use std::fmt::Write;

/// How many blanks or empty lines in a row are shown as they are.
const MAX_RUN: usize = 8;

/// How a value is read by what acts on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// By a program: every character that is not plain ASCII is shown by its number too.
    Machine,
    /// By people: letters of any language are, as long as one word does not mix alphabets.
    Prose,
    /// It is visible already.
    Shown,
}

/// So many bytes in a row that are no text are marked one by one; more are written in a block, with their number.
const MOST_MARKED: usize = 16;

/// The same for bytes that are not all text: every part that is one is shown as such, whole.
pub fn visible_bytes(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len() + 16);
    let mut strange: Vec<u8> = Vec::new();
    for chunk in bytes.utf8_chunks() {
        if !chunk.valid().is_empty() {
            no_text(&mut strange, &mut shown);
            shown.push_str(&visible(chunk.valid(), Reading::Prose));
        }
        strange.extend_from_slice(chunk.invalid());
    }
    no_text(&mut strange, &mut shown);
    shown
}

fn no_text(bytes: &mut Vec<u8>, shown: &mut String) {
    if bytes.is_empty() {
        return;
    }
    let mark = if bytes.len() > MOST_MARKED {
        push(shown, format_args!("⟨{} bytes: ", bytes.len()));
        ""
    } else {
        shown.push('⟨');
        "\\x"
    };
    bytes.drain(..).for_each(|byte| push(shown, format_args!("{mark}{byte:02X}")));
    shown.push('⟩');
}

/// Makes everything visible that would not be, or that would look like something else.
pub fn visible(text: &str, reading: Reading) -> String {
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            ' ' | '\n' => run(rest, first, &mut shown),
            _ if first.is_alphanumeric() => word(rest, reading, &mut shown),
            _ => {
                character(first, reading, &mut shown);
                first.len_utf8()
            }
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    shown
}

fn run(text: &str, blank: char, shown: &mut String) -> usize {
    let length = text.chars().take_while(|c| *c == blank).count();
    if length <= MAX_RUN {
        shown.extend(std::iter::repeat_n(blank, length));
    } else {
        let what = if blank == ' ' { "spaces" } else { "line ends" };
        push(shown, format_args!("⟨{length} {what}⟩"));
    }
    length
}

fn word(text: &str, reading: Reading, shown: &mut String) -> usize {
    let end = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
    let word = text.get(..end).unwrap_or(text);
    let mixed = word.chars().any(|c| c.is_ascii_alphabetic()) && word.chars().any(is_look_alike);
    let reading = if mixed { Reading::Machine } else { reading };
    word.chars().for_each(|c| character(c, reading, shown));
    end
}

fn character(c: char, reading: Reading, shown: &mut String) {
    let plain = c == '\n' || c == ' ' || c.is_ascii_graphic();
    if plain {
        shown.push(c);
    } else if c == '⟨' || c == '⟩' || !has_own_shape(c) {
        push(shown, format_args!("⟨U+{:04X}⟩", u32::from(c)));
    } else if reading == Reading::Machine {
        push(shown, format_args!("⟨U+{:04X} {c}⟩", u32::from(c)));
    } else {
        shown.push(c);
    }
}

fn push(shown: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string can't fail.
    shown.write_fmt(text).unwrap_or_default();
}

/// Letters of other alphabets, many of which look like Latin ones.
fn is_look_alike(c: char) -> bool {
    matches!(u32::from(c), 0x0370..=0x058F | 0x10A0..=0x10FF | 0x13A0..=0x13FF | 0x1C80..=0x1CBF
        | 0x1D00..=0x1DBF | 0x2C60..=0x2DFF | 0xA640..=0xA69F | 0xA720..=0xA7FF | 0xAB30..=0xABBF)
}

/// Whether a character is seen, stays where it is, and is not another one in disguise.
fn has_own_shape(c: char) -> bool {
    if c.is_control() || (c.is_whitespace() && c != ' ' && c != '\n') {
        return false;
    }
    !matches!(u32::from(c),
        // Soft hyphen, combining joiner, Hangul fillers, Mongolian separators.
        0x00AD | 0x034F | 0x061C | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180B..=0x180F
        // Zero width, marks of direction, line and paragraph separators, isolates, invisible operators.
        | 0x200B..=0x200F | 0x2028..=0x202F | 0x205F..=0x206F
        // Combining marks, which change what stands before them.
        | 0x0300..=0x034E | 0x0350..=0x036F | 0x0483..=0x0489 | 0x0591..=0x05C7 | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF | 0x20D0..=0x20FF
        // Letter-like symbols, enclosed and full-width letters, fillers, variation selectors.
        | 0x2100..=0x214F | 0x2460..=0x24FF | 0x2800 | 0x3000 | 0x3164 | 0xFE00..=0xFE0F | 0xFE20..=0xFE2F | 0xFEFF
        | 0xFF00..=0xFFEF | 0xFFF0..=0xFFFF
        // Private use; mathematical and musical letters; tags and more variation selectors.
        | 0xE000..=0xF8FF | 0x1D100..=0x1D1FF | 0x1D400..=0x1D7FF | 0x1F100..=0x1F1FF | 0xE0000..=0x10FFFF)
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
