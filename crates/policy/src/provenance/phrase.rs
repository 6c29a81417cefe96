//! Phrases as they stand in an address or a search: words in a row, in a spelling that says nothing itself.
//!
//! Promises: for the same words there are only as many texts as there are separators. Which one it is says
//! little; one here and another there, or a letter encoded here and not there, could spell a message out.

use super::asked::MAX_PHRASE_WORDS;
use crate::egress::one_query;

/// What may stand between two words of an address. An encoded separator and a plain one are two of them, also
/// where they mean the same to who reads the address.
const IN_ADDRESS: &[&str] = &["+", "%20", "-", "_", "/", "%2F"];
/// The same of words that are looked for.
const IN_SEARCH: &[&str] = &[" ", "-", "_", "/"];

/// The words of a text whose separators are all the same bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Phrase {
    pub(super) words: Vec<String>,
}

impl Phrase {
    /// From a part of an address, as it is sent.
    pub(super) fn in_address(text: &str) -> Option<Self> {
        Self::read(text, IN_ADDRESS, decoded)
    }

    /// From words that are looked for.
    pub(super) fn in_search(text: &str) -> Option<Self> {
        Self::read(text, IN_SEARCH, |word| Some(word.to_owned()))
    }

    fn read(
        text: &str,
        separators: &[&str],
        word: impl Fn(&str) -> Option<String>,
    ) -> Option<Self> {
        // What is nobody's words is not taken apart.
        let ends = |c: char| matches!(c, '/' | '-' | '_' | '+');
        if text.matches(ends).nth(MAX_PHRASE_WORDS).is_some() {
            return None;
        }
        let found =
            separators.iter().filter_map(|separator| Some((text.find(separator)?, separator)));
        let parts: Vec<&str> = match found.min() {
            Some((_, separator)) => text.split(separator).collect(),
            None => vec![text],
        };
        // Any other separator is left in a part, and is no letter.
        let is_word = |word: &String| !word.is_empty() && word.chars().all(char::is_alphanumeric);
        let words = parts.into_iter().map(|part| word(part).filter(is_word));
        Some(Self { words: words.collect::<Option<_>>()? })
    }
}

/// A word without its percents: none where that is no text, or where it has another spelling than its one.
fn decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    let hex = |digit: Option<u8>| digit.and_then(|digit| char::from(digit).to_digit(16));
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let code = hex(rest.next())? * 16 + hex(rest.next())?;
                bytes.push(u8::try_from(code).ok()?);
            }
            _ => bytes.push(byte),
        }
    }
    let word = String::from_utf8(bytes).ok()?;
    (one_query(&word).as_deref() == Some(part)).then_some(word)
}

#[cfg(test)]
#[path = "phrase_tests.rs"]
mod tests;
