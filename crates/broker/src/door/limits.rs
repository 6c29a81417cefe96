//! What one door may take: a rate, and an end to asking the same thing again and again.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A rate with a burst.
pub(crate) struct Bucket {
    per_second: f64,
    burst: f64,
    level: Mutex<(f64, Instant)>,
}

impl Bucket {
    pub(crate) fn new(per_second: f64, burst: f64) -> Self {
        Self { per_second, burst, level: Mutex::new((burst, Instant::now())) }
    }

    /// Takes one, or says how long until there is one.
    pub(crate) fn take(&self) -> Result<(), Duration> {
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let (tokens, since) = *level;
        let refilled = tokens + now.duration_since(since).as_secs_f64() * self.per_second;
        let tokens = refilled.min(self.burst);
        if tokens >= 1.0 {
            *level = (tokens - 1.0, now);
            Ok(())
        } else {
            *level = (tokens, now);
            Err(Duration::from_secs_f64((1.0 - tokens) / self.per_second.max(0.001)))
        }
    }

    /// Takes one as soon as there is one.
    pub(crate) async fn wait(&self) {
        while let Err(until) = self.take() {
            tokio::time::sleep(until).await;
        }
    }
}

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
