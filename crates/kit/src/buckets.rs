//! Token buckets: a burst, and what comes back of it in a time. One alone, or one per key in bounded memory.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Keys that are remembered at once.
const MAX_KEYS: usize = 10_000;
/// How often it is looked which of them can be forgotten.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// A rate of nothing would be a wait without end.
const SLOWEST: f64 = 0.0001;

/// A burst, and what comes back of it per second.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    burst: f64,
    per_s: f64,
}

impl Rate {
    pub fn new(burst: impl Into<f64>, per_s: f64) -> Self {
        let per_s = if per_s.is_finite() { per_s.max(SLOWEST) } else { SLOWEST };
        Self { burst: burst.into().max(1.0), per_s }
    }
}

#[derive(Clone, Copy, Debug)]
struct Level {
    tokens: f64,
    at: Instant,
}

impl Level {
    fn full(rate: Rate, now: Instant) -> Self {
        Self { tokens: rate.burst, at: now }
    }

    fn now(self, rate: Rate, now: Instant) -> f64 {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        (self.tokens + since * rate.per_s).min(rate.burst)
    }

    /// Takes one, or says how long until there is one.
    fn take(&mut self, rate: Rate, now: Instant) -> Result<(), Duration> {
        let tokens = self.now(rate, now);
        if tokens >= 1.0 {
            *self = Self { tokens: tokens - 1.0, at: now };
            return Ok(());
        }
        *self = Self { tokens, at: now };
        Err(Duration::from_secs_f64((1.0 - tokens) / rate.per_s))
    }
}

/// One bucket.
#[derive(Debug)]
pub struct Bucket {
    rate: Rate,
    level: Mutex<Level>,
}

impl Bucket {
    pub fn new(rate: Rate) -> Self {
        Self { rate, level: Mutex::new(Level::full(rate, Instant::now())) }
    }

    /// Takes one, or says how long until there is one.
    pub fn take(&self) -> Result<(), Duration> {
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        level.take(self.rate, Instant::now())
    }

    /// Takes one as soon as there is one.
    pub async fn wait(&self) {
        while let Err(until) = self.take() {
            tokio::time::sleep(until).await;
        }
    }
}

/// Buckets of one rate. A key that is not remembered has a full one.
#[derive(Debug)]
pub struct Buckets<K> {
    rate: Rate,
    levels: Mutex<Levels<K>>,
}

#[derive(Debug)]
struct Levels<K> {
    of: HashMap<K, Level>,
    swept_at: Option<Instant>,
}

impl<K: Eq + Hash> Levels<K> {
    /// Whether there is room for one more key, after forgetting full buckets, which are as good as none.
    fn has_room(&mut self, rate: Rate, now: Instant) -> bool {
        let due = |at: Instant| now.saturating_duration_since(at) >= SWEEP_EVERY;
        if self.of.len() >= MAX_KEYS && self.swept_at.is_none_or(due) {
            self.swept_at = Some(now);
            self.of.retain(|_, level| level.now(rate, now) < rate.burst);
        }
        self.of.len() < MAX_KEYS
    }
}

impl<K: Eq + Hash> Buckets<K> {
    pub fn new(rate: Rate) -> Self {
        Self { rate, levels: Mutex::new(Levels { of: HashMap::new(), swept_at: None }) }
    }

    fn levels(&self) -> MutexGuard<'_, Levels<K>> {
        self.levels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one, or says how long until there is one.
    pub fn take(&self, key: K, now: Instant) -> Result<(), Duration> {
        let rate = self.rate;
        let mut levels = self.levels();
        if !levels.of.contains_key(&key) && !levels.has_room(rate, now) {
            return Err(SWEEP_EVERY);
        }
        levels.of.entry(key).or_insert_with(|| Level::full(rate, now)).take(rate, now)
    }

    /// Gives one back that turned out not to be needed.
    pub fn give_back(&self, key: &K) {
        if let Some(level) = self.levels().of.get_mut(key) {
            level.tokens = (level.tokens + 1.0).min(self.rate.burst);
        }
    }
}

#[cfg(test)]
#[path = "buckets_tests.rs"]
mod tests;
