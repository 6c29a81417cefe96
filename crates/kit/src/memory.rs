//! What a connector remembers while it runs, so that it does not say the same again and again or try for ever.
//! Bounded: what is forgotten is said once more, or tried a few times more.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many things of a kind are remembered.
const MOST_REMEMBERED: usize = 10_000;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What was done last when, in Unix milliseconds.
#[derive(Debug, Default)]
pub struct Lately(Mutex<HashMap<String, i64>>);

impl Lately {
    /// Whether this was not done for so long; from now on it was. A clock that went back hides nothing.
    pub fn first_in(&self, key: String, every: Duration, now: i64) -> bool {
        let every = i64::try_from(every.as_millis()).unwrap_or(i64::MAX);
        let mut last = lock(&self.0);
        if last.get(&key).is_some_and(|at| at.saturating_add(every) > now && *at <= now) {
            return false;
        }
        if last.len() >= MOST_REMEMBERED {
            last.clear();
        }
        last.insert(key, now);
        true
    }

    /// The key of a sentence about this topic in a place; none: that was said there so lately.
    pub fn key_of(&self, place: &str, topic: &str, every: Duration, now: i64) -> Option<String> {
        if !self.first_in(format!("{topic} {place}"), every, now) {
            return None;
        }
        let every = i64::try_from(every.as_millis()).unwrap_or(i64::MAX).max(1);
        Some(format!("{topic}-{}", now / every))
    }

    /// It was not done after all.
    pub fn not_yet(&self, key: &str) {
        lock(&self.0).remove(key);
    }
}

/// How much patience was had with what can't be taken.
#[derive(Debug, Default)]
pub struct Patience(Mutex<HashMap<String, u32>>);

impl Patience {
    /// What it costs when the platform can't be reached: it is not about the message.
    pub const NONE: u32 = 0;
    /// What it costs when the platform does not give a file, or breaks off.
    pub const SOME: u32 = 1;
    /// What it costs when a file was waited for.
    pub const MUCH: u32 = 4;
    /// How much there is.
    const MOST: u32 = 12;

    /// Takes from the patience with a message; whether there is any left.
    pub fn left(&self, message: &str, costs: u32) -> bool {
        let mut patience = lock(&self.0);
        if patience.len() >= MOST_REMEMBERED {
            patience.clear();
        }
        let had = patience.entry(message.to_owned()).or_default();
        *had = had.saturating_add(costs);
        let left = *had < Self::MOST;
        if !left {
            patience.remove(message);
        }
        left
    }
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
