//! How long to wait before the next try: longer each time, up to a limit, never quite the same.

use std::time::Duration;

const FIRST: Duration = Duration::from_secs(1);

/// A time that doubles with every failure, up to a limit.
pub fn doubled(first: Duration, failures: u32, most: Duration) -> Duration {
    first.saturating_mul(1 << failures.min(16)).min(most)
}

#[derive(Debug)]
pub struct Backoff {
    first: Duration,
    most: Duration,
    failures: u32,
}

impl Backoff {
    /// From a second on.
    pub const fn new(most: Duration) -> Self {
        Self::between(FIRST, most)
    }

    pub const fn between(first: Duration, most: Duration) -> Self {
        Self { first, most, failures: 0 }
    }

    /// The next wait: between half and all of a time that doubles, so that many who lost the same server do not
    /// come back at once.
    pub fn pause(&mut self) -> Duration {
        let whole = doubled(self.first, self.failures, self.most);
        self.failures = self.failures.saturating_add(1);
        let mut random = [0; 2];
        // Without random numbers they come back at once; that is no reason to fail.
        let share = match getrandom::fill(&mut random) {
            Ok(()) => u32::from(u16::from_le_bytes(random)),
            Err(_) => 0,
        };
        let half = whole / 2;
        half + half * share / u32::from(u16::MAX)
    }

    pub const fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
#[path = "backoff_tests.rs"]
mod tests;
