//! Text of agents, for people to read: what can't be seen in it is shown by its number.
//!
//! Less strict than [`crate::gate::visible`], by which a person decides: letters, accents and emoji
//! of every language stay as they are. What goes is what carries words past the eye (tag characters,
//! zero width, selectors in a row) or turns the order of others around.

use std::borrow::Cow;
use std::fmt::Write;

/// A longer run of hidden characters is counted, not spelled out.
const MAX_SPELLED: usize = 4;

const JOINER: char = '\u{200D}';
const NON_JOINER: char = '\u{200C}';
const EMOJI_SELECTOR: char = '\u{FE0F}';
const KEYCAP: char = '\u{20E3}';

/// The text with everything hidden in it shown.
pub fn legible(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| !may_hide(c)) {
        return Cow::Borrowed(text);
    }
    let text = text.replace("\r\n", "\n");
    let mut shown = String::with_capacity(text.len() + 16);
    let mut hidden: Vec<char> = Vec::new();
    let mut before = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let next = rest.as_str().chars().next();
        if is_hidden(c) || (may_hide(c) && !joins(before, c, next)) {
            hidden.push(c);
        } else {
            spell(&mut hidden, &mut shown);
            shown.push(c);
        }
        before = Some(c);
    }
    spell(&mut hidden, &mut shown);
    Cow::Owned(shown)
}

/// Whether people don't see the character wherever it stands, or see others in another order for it.
pub fn is_hidden(c: char) -> bool {
    if c.is_control() {
        return c != '\n' && c != '\t';
    }
    matches!(u32::from(c),
        // Soft hyphen, grapheme joiner, direction mark, fillers, Mongolian selectors.
        0x00AD | 0x034F | 0x061C | 0x115F | 0x1160 | 0x17B4 | 0x17B5 | 0x180B..=0x180F
        // Zero width space, direction marks, line separators, invisible operators, isolates.
        | 0x200B | 0x200E | 0x200F | 0x2028..=0x202E | 0x2060..=0x206F
        // Filler, byte order mark, half-width filler, annotations.
        | 0x3164 | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFFB
        // Musical controls; tags and the many selectors.
        | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF)
}

/// Hidden, or of use only in its place.
fn may_hide(c: char) -> bool {
    is_hidden(c) || matches!(c, NON_JOINER | JOINER | '\u{FE00}'..='\u{FE0F}')
}

/// Whether a joiner or selector stands where writing has a use for it: after a letter or a picture
/// that is not ASCII, once.
fn joins(before: Option<char>, c: char, next: Option<char>) -> bool {
    let Some(before) = before else { return false };
    match c {
        JOINER if before == EMOJI_SELECTOR => true,
        EMOJI_SELECTOR if before.is_ascii() => next == Some(KEYCAP),
        _ => !before.is_ascii() && !may_hide(before),
    }
}

fn spell(hidden: &mut Vec<char>, shown: &mut String) {
    // Writing to a string can't fail.
    if hidden.len() > MAX_SPELLED {
        write!(shown, "⟨{} hidden characters⟩", hidden.len()).unwrap_or_default();
    } else {
        for c in hidden.iter() {
            write!(shown, "⟨U+{:04X}⟩", u32::from(*c)).unwrap_or_default();
        }
    }
    hidden.clear();
}

#[cfg(test)]
#[path = "legible_tests.rs"]
mod tests;
