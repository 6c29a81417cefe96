//! Verdicts that were given before, by what policies can see of a request.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use super::Verdict;
use super::sketch::Key;

/// As many as are kept. With policies that spell nothing out there are a few hundred kinds of requests;
/// where more are asked for than this, it costs time and nothing else.
const MOST: usize = 4096;

#[derive(Default)]
pub(super) struct Remembered(RwLock<HashMap<Key, Verdict>>);

impl Remembered {
    pub(super) fn get(&self, key: &Key) -> Option<Verdict> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    pub(super) fn keep(&self, key: Key, verdict: &Verdict) {
        let mut verdicts = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if verdicts.len() >= MOST {
            verdicts.clear();
        }
        verdicts.insert(key, verdict.clone());
    }
}
