//! Content as an entry tells of it: enough to prove it, while the content itself is kept elsewhere.

use std::fmt;

use sha2::{Digest, Sha256};

/// The length and the SHA-256 of content, taken piece by piece.
#[derive(Clone, Default)]
pub struct Fingerprint {
    bytes: u64,
    hash: Sha256,
}

impl Fingerprint {
    pub fn of(content: &[u8]) -> Self {
        let mut print = Self::default();
        print.take(content);
        print
    }

    pub fn take(&mut self, piece: &[u8]) {
        self.bytes = self.bytes.saturating_add(piece.len() as u64);
        self.hash.update(piece);
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hash = hex::encode(self.hash.clone().finalize());
        write!(f, "{} bytes, sha256 {hash}", self.bytes)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl PartialEq for Fingerprint {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes && self.hash.clone().finalize() == other.hash.clone().finalize()
    }
}

impl Eq for Fingerprint {}
