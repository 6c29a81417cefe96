//! Finding a sentence in the catalogue and putting into it what it names.

use std::fmt::{Display, Write as _};

use cloister_protocol::Language;

use crate::catalogue::catalogue;

/// What a sentence names, and what is put there.
type Given<'a> = &'a [(&'a str, &'a dyn Display)];

/// A text in a language; in English where the catalogue lacks it.
pub fn text_of(to: Language, text: &'static str) -> &'static str {
    catalogue(to).and_then(|catalogue| catalogue.text(text)).unwrap_or(text)
}

/// A sentence in a language, filled in.
pub fn sentence(to: Language, text: &'static str, given: Given<'_>) -> String {
    filled(text_of(to, text), given)
}

/// The form of a sentence that fits a number, filled in.
pub fn count_of(
    to: Language,
    n: u64,
    (one, many): (&'static str, &'static str),
    given: Given<'_>,
) -> String {
    let translated = catalogue(to).and_then(|catalogue| catalogue.form(one, form_of(to, n)));
    let text = translated.unwrap_or(if n == 1 { one } else { many });
    let mut given = given.to_vec();
    given.push(("n", &n));
    filled(text, &given)
}

/// How many things there are, whatever counted them; less than none are none.
pub fn number(n: impl TryInto<u64>) -> u64 {
    n.try_into().unwrap_or(0)
}

/// Which of its plural forms a language uses for a number.
pub(crate) const fn form_of(to: Language, n: u64) -> usize {
    match to {
        Language::En | Language::De => (n != 1) as usize,
        Language::Ru => match (n % 10, n % 100) {
            (_, 11..=14) => 2,
            (1, _) => 0,
            (2..=4, _) => 1,
            _ => 2,
        },
    }
}

/// The text with what it names in its place. `{{` and `}}` are brackets; what was put in is not read again.
fn filled(text: &str, given: Given<'_>) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        if let Some(after) = from.strip_prefix("{{").or_else(|| from.strip_prefix("}}")) {
            out.push(if from.starts_with('{') { '{' } else { '}' });
            rest = after;
            continue;
        }
        let named = from.strip_prefix('{').and_then(|inside| inside.split_once('}'));
        let value = named.and_then(|(name, _)| given.iter().find(|(known, _)| *known == name));
        match (named, value) {
            (Some((_, after)), Some((_, value))) => {
                // Writing to a String does not fail.
                if write!(out, "{value}").is_err() {
                    return out;
                }
                rest = after;
            }
            // Not ours: it stays as it is.
            _ => {
                let (bracket, after) = from.split_at(1);
                out.push_str(bracket);
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Whether a text names exactly these. For the compiler: see [`say!`](crate::say).
pub const fn names_all(text: &str, given: &[&str]) -> bool {
    let bytes = text.as_bytes();
    let mut met = 0_u64;
    let mut at = 0;
    while at < bytes.len() {
        let doubled = at + 1 < bytes.len() && bytes[at + 1] == bytes[at];
        if (bytes[at] == b'{' || bytes[at] == b'}') && doubled {
            at += 2;
            continue;
        }
        if bytes[at] == b'{' {
            let mut end = at + 1;
            while end < bytes.len() && bytes[end] != b'}' {
                end += 1;
            }
            let Some(index) = index_of(bytes, at + 1, end, given) else { return false };
            met |= 1 << index;
            at = end;
        }
        at += 1;
    }
    met.count_ones() as usize == given.len()
}

const fn index_of(bytes: &[u8], from: usize, end: usize, given: &[&str]) -> Option<usize> {
    let mut index = 0;
    while index < given.len() {
        let name = given[index].as_bytes();
        let mut same = name.len() == end - from;
        let mut at = 0;
        while same && at < name.len() {
            same = bytes[from + at] == name[at];
            at += 1;
        }
        if same {
            return Some(index);
        }
        index += 1;
    }
    None
}

#[cfg(test)]
#[path = "fill_tests.rs"]
mod tests;
