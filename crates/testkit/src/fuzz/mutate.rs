//! Mutation: new inputs out of old ones.

use crate::random::Random;

/// The most changes that are made to one input.
const MAX_CHANGES: u64 = 6;
/// How often a piece is repeated at most.
const MAX_REPEATS: u64 = 64;

/// Pieces that upset parsers of any kind.
const AWKWARD: &[&[u8]] = &[
    b"\0",
    b"\r",
    b"\n",
    b"\r\n",
    b"\t",
    b" ",
    b"\"",
    b"'",
    b"\\",
    b"/",
    b"//",
    b"../",
    b"%00",
    b"%2e%2f",
    b"%",
    b"{",
    b"}",
    b"[",
    b"]",
    b"(",
    b")",
    b"<",
    b">",
    b"&",
    b"&#x0;",
    b";",
    b":",
    b",",
    b"=",
    b"@",
    b"#",
    b"?",
    b"*",
    b"$",
    b"`",
    b"|",
    b"~",
    b"-",
    b"--",
    b"_",
    b"0",
    b"-1",
    b"1e999",
    b"18446744073709551616",
    b"0x7f",
    b"null",
    b"true",
    b"NaN",
    b"\xff",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    "\u{200b}".as_bytes(),
    "\u{202e}".as_bytes(),
    "\u{feff}".as_bytes(),
    "\u{e0041}".as_bytes(),
    "\u{2028}".as_bytes(),
    "\u{85}".as_bytes(),
    "\u{301}".as_bytes(),
    "\u{200d}".as_bytes(),
    "\u{fe0f}".as_bytes(),
    "а".as_bytes(),
    "ſ".as_bytes(),
    "K".as_bytes(),
    "İ".as_bytes(),
    "⟨".as_bytes(),
    "👩‍💻".as_bytes(),
    "．".as_bytes(),
    "﷐".as_bytes(),
];

pub(super) struct Mutator {
    random: Random,
    words: Vec<Vec<u8>>,
}

impl Mutator {
    pub(super) fn new(seed: u64, name: &str, words: Vec<Vec<u8>>) -> Self {
        Self { random: Random::new(seed, name), words }
    }

    /// One of the pool, changed in a few places.
    pub(super) fn mutated(&mut self, pool: &[Vec<u8>]) -> Vec<u8> {
        let mut input = self.one_of(pool);
        for _ in 0..=self.random.below(MAX_CHANGES) {
            self.change(&mut input, pool);
        }
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, pool: &[Vec<u8>]) {
        match self.random.below(11) {
            0 => self.flip(input),
            1 => {
                let range = self.range(input);
                input.drain(range);
            }
            2 => {
                let at = self.place(input);
                input.truncate(at);
            }
            3 => self.repeat(input),
            4 => self.splice(input, pool),
            5 => self.move_piece(input),
            6 => {
                let piece = self.one_of_slices(AWKWARD);
                self.insert(input, &piece);
            }
            7 => {
                let piece = self.one_of_slices(AWKWARD);
                self.replace(input, &piece);
            }
            8 => {
                let word = self.word();
                self.replace(input, &word);
            }
            _ => {
                let word = self.word();
                self.insert(input, &word);
            }
        }
    }

    fn flip(&mut self, input: &mut [u8]) {
        let at = self.place(input);
        let bit = 1_u8 << self.random.below(8);
        if let Some(byte) = input.get_mut(at) {
            *byte ^= bit;
        }
    }

    fn repeat(&mut self, input: &mut Vec<u8>) {
        let range = self.range(input);
        let piece = input.get(range.clone()).unwrap_or_default().to_vec();
        let times = if self.random.one_in(4) { self.random.below(MAX_REPEATS) } else { 1 };
        for _ in 0..=times {
            self.insert_at(input, range.start, &piece);
        }
    }

    fn splice(&mut self, input: &mut Vec<u8>, pool: &[Vec<u8>]) {
        let other = self.one_of(pool);
        let (cut, from) = (self.place(input), self.place(&other));
        input.truncate(cut);
        input.extend_from_slice(other.get(from..).unwrap_or_default());
    }

    fn move_piece(&mut self, input: &mut Vec<u8>) {
        let range = self.range(input);
        let piece: Vec<u8> = input.drain(range).collect();
        self.insert(input, &piece);
    }

    fn insert(&mut self, input: &mut Vec<u8>, piece: &[u8]) {
        let at = self.place(input);
        self.insert_at(input, at, piece);
    }

    fn insert_at(&mut self, input: &mut Vec<u8>, at: usize, piece: &[u8]) {
        if input.len() + piece.len() <= super::MAX_BYTES {
            input.splice(at..at, piece.iter().copied());
        }
    }

    fn replace(&mut self, input: &mut Vec<u8>, piece: &[u8]) {
        let range = self.range(input);
        input.splice(range, piece.iter().copied());
    }

    fn word(&mut self) -> Vec<u8> {
        if self.words.is_empty() {
            return self.one_of_slices(AWKWARD);
        }
        let at = self.index(self.words.len());
        self.words.get(at).cloned().unwrap_or_default()
    }

    fn one_of(&mut self, pool: &[Vec<u8>]) -> Vec<u8> {
        let at = self.index(pool.len());
        pool.get(at).cloned().unwrap_or_default()
    }

    fn one_of_slices(&mut self, pieces: &[&[u8]]) -> Vec<u8> {
        let at = self.index(pieces.len());
        pieces.get(at).map(|piece| piece.to_vec()).unwrap_or_default()
    }

    fn index(&mut self, count: usize) -> usize {
        usize::try_from(self.random.below(u64::try_from(count).unwrap_or(u64::MAX))).unwrap_or(0)
    }

    /// A place in the input, its end included.
    fn place(&mut self, input: &[u8]) -> usize {
        self.index(input.len() + 1)
    }

    /// A piece of the input, short as a rule.
    fn range(&mut self, input: &[u8]) -> std::ops::Range<usize> {
        let start = self.place(input);
        let most = if self.random.one_in(4) { input.len() } else { 8 };
        let length = self.index(most.min(input.len() - start) + 1);
        start..start + length
    }
}
