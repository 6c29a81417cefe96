//! An answer as it is told, perhaps more than once: after a break it comes again from its beginning. What was
//! shown of it is not shown again.

use cloister_protocol::TextChunk;

#[derive(Debug, Default)]
pub(super) struct Telling {
    /// What was shown.
    shown: String,
    /// How much of it was told this time.
    told: usize,
    next_seq: u32,
    /// Something is missing this time; the end has all of it.
    torn: bool,
}

/// What is to be shown now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Show {
    /// More of it; may be empty.
    More(String),
    /// It is another answer than the one that was begun: all that there is of it.
    Anew(String),
}

impl Telling {
    /// It is told from its beginning.
    pub(super) fn restart(&mut self) {
        (self.told, self.next_seq, self.torn) = (0, 0, false);
    }

    pub(super) fn chunk(&mut self, chunk: &TextChunk) -> Show {
        if chunk.seq == 0 {
            self.restart();
        }
        self.torn |= chunk.seq != self.next_seq;
        if self.torn {
            return Show::More(String::new());
        }
        self.next_seq += 1;
        let known = self.shown.get(self.told..).unwrap_or_default();
        if known.starts_with(&chunk.text) {
            self.told += chunk.text.len();
            return Show::More(String::new());
        }
        match chunk.text.strip_prefix(known) {
            Some(new) => {
                self.shown.push_str(new);
                self.told = self.shown.len();
                Show::More(new.to_owned())
            }
            None => {
                let mut anew = self.shown.get(..self.told).unwrap_or_default().to_owned();
                anew.push_str(&chunk.text);
                self.told = anew.len();
                self.shown.clone_from(&anew);
                Show::Anew(anew)
            }
        }
    }

    /// The whole of it.
    pub(super) fn end(self, whole: &str) -> Show {
        match whole.strip_prefix(self.shown.as_str()) {
            Some(rest) => Show::More(rest.to_owned()),
            None => Show::Anew(whole.to_owned()),
        }
    }
}

#[cfg(test)]
#[path = "telling_tests.rs"]
mod tests;
