//! Output within bounds: the start and the end are kept, the middle is counted.

use std::collections::VecDeque;

pub(super) struct HeadTail {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: u64,
}

impl HeadTail {
    pub(super) fn new(limit: usize) -> Self {
        Self { half: limit / 2, head: Vec::new(), tail: VecDeque::new(), left_out: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = self.half - self.head.len().min(self.half);
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..excess);
        self.left_out += excess as u64;
    }

    pub(super) fn finish(self) -> String {
        let tail: Vec<u8> = self.tail.into();
        if self.left_out == 0 {
            let whole = [self.head, tail].concat();
            return String::from_utf8_lossy(&whole).into_owned();
        }
        format!(
            "{}\n[… {} bytes left out …]\n{}",
            String::from_utf8_lossy(&self.head),
            self.left_out,
            String::from_utf8_lossy(&tail)
        )
    }
}

/// The end of what a program has printed so far, for who looks on.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    bytes: VecDeque<u8>,
}

impl Tail {
    /// How much of the end is kept.
    pub(crate) const MOST_BYTES: usize = 8 << 10;

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let excess = self.bytes.len().saturating_sub(Self::MOST_BYTES);
        self.bytes.drain(..excess);
    }

    /// As text, without the characters that are cut through at either end.
    pub(crate) fn text(&self) -> String {
        let is_inside = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
        let cut = self.bytes.iter().take(3).take_while(is_inside).count();
        let bytes: Vec<u8> = self.bytes.iter().skip(cut).copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        text.trim_end_matches(char::REPLACEMENT_CHARACTER).to_owned()
    }
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
