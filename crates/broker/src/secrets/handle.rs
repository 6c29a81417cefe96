//! Handles: what a sandbox holds in place of a secret's value.

use std::fmt;

/// What every handle begins with, so that a lost one is recognised wherever it turns up.
const MARK: &str = "clsec_";
/// 160 random bits, five to a letter.
const RANDOM_BYTES: usize = 20;
const LETTERS: usize = RANDOM_BYTES * 8 / 5;
const ALPHABET: [u8; 32] = *b"abcdefghijklmnopqrstuvwxyz234567";

/// The name of a secret at one door. It is no secret itself: at no other door is it worth anything.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Handle(String);

impl Handle {
    pub(super) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; RANDOM_BYTES];
        getrandom::fill(&mut bytes)?;
        let mut text = String::with_capacity(MARK.len() + LETTERS);
        text.push_str(MARK);
        for five in bytes.as_chunks::<5>().0 {
            let bits = five.iter().fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
            text.extend((0..8).rev().map(|place| letter(bits >> (5 * place))));
        }
        Ok(Self(text))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

fn letter(bits: u64) -> char {
    let place = usize::try_from(bits & 31).unwrap_or(0);
    ALPHABET.get(place).map_or('a', |letter| char::from(*letter))
}

/// Not for logs either: there it would only be in the way of whoever looks for a leak.
impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handle(…)")
    }
}

/// Everything in some bytes that looks like a handle, whether anybody made it or not.
pub(super) fn handles_in(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    memchr::memmem::find_iter(bytes, MARK).filter_map(|start| {
        let found = bytes.get(start..start + MARK.len() + LETTERS)?;
        let letters = found.get(MARK.len()..)?;
        letters.iter().all(|letter| ALPHABET.contains(letter)).then_some(found)
    })
}

#[cfg(test)]
#[path = "handle_tests.rs"]
mod tests;
