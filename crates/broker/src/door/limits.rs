//! An end to asking the same thing again and again at one door.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

/// Counts how often the very same request came in a row.
pub(crate) struct Repeats {
    hasher: RandomState,
    limit: u32,
    last: Mutex<(u64, u32)>,
}

impl Repeats {
    pub(crate) fn new(limit: u32) -> Self {
        Self { hasher: RandomState::new(), limit, last: Mutex::new((0, 0)) }
    }

    /// Whether this request has now come more often than it may.
    pub(crate) fn is_loop(&self, request: &[u8]) -> bool {
        let hash = self.hasher.hash_one(request);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let count = if last.0 == hash { last.1.saturating_add(1) } else { 1 };
        *last = (hash, count);
        count > self.limit
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
