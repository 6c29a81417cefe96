//! Token buckets, one per key, in bounded memory.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
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
pub(crate) struct Rate {
    pub(crate) burst: f64,
    pub(crate) per_s: f64,
}

impl Rate {
    pub(crate) fn new(burst: u32, per_s: f64) -> Self {
        let per_s = if per_s.is_finite() { per_s.max(SLOWEST) } else { SLOWEST };
        Self { burst: f64::from(burst.max(1)), per_s }
    }
}

#[derive(Clone, Copy, Debug)]
struct Level {
    tokens: f64,
    at: Instant,
}

impl Level {
    fn now(self, rate: Rate, now: Instant) -> f64 {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        (self.tokens + since * rate.per_s).min(rate.burst)
    }
}

/// Buckets of one rate. A key that is not remembered has a full one.
#[derive(Debug)]
pub(crate) struct Buckets<K> {
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
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, levels: Mutex::new(Levels { of: HashMap::new(), swept_at: None }) }
    }

    /// Takes one, or says how long until there is one.
    pub(crate) fn take(&self, key: K, now: Instant) -> Result<(), Duration> {
        let rate = self.rate;
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        if !levels.of.contains_key(&key) && !levels.has_room(rate, now) {
            return Err(SWEEP_EVERY);
        }
        let level = levels.of.entry(key).or_insert(Level { tokens: rate.burst, at: now });
        let tokens = level.now(rate, now);
        if tokens >= 1.0 {
            *level = Level { tokens: tokens - 1.0, at: now };
            return Ok(());
        }
        *level = Level { tokens, at: now };
        Err(Duration::from_secs_f64((1.0 - tokens) / rate.per_s))
    }

    /// Gives one back that turned out not to be needed.
    pub(crate) fn give_back(&self, key: &K) {
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(level) = levels.of.get_mut(key) {
            level.tokens = (level.tokens + 1.0).min(self.rate.burst);
        }
    }
}
