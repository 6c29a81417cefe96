//! How long to wait before the next try: longer each time, up to a limit, never quite the same.

use std::time::Duration;

const FIRST: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Backoff {
    next: Duration,
    most: Duration,
}

impl Backoff {
    pub fn new(most: Duration) -> Self {
        Self { next: FIRST.min(most), most }
    }

    /// The next wait: between half and all of a time that doubles, so that many who lost the same server do not
    /// come back at once.
    pub fn pause(&mut self) -> Duration {
        let whole = self.next;
        self.next = whole.saturating_mul(2).min(self.most);
        let mut random = [0; 2];
        // Without random numbers they come back at once; that is no reason to fail.
        let share = match getrandom::fill(&mut random) {
            Ok(()) => u32::from(u16::from_le_bytes(random)),
            Err(_) => 0,
        };
        let half = whole / 2;
        half + half * share / u32::from(u16::MAX)
    }

    pub fn reset(&mut self) {
        self.next = FIRST.min(self.most);
    }
}

#[cfg(test)]
#[path = "backoff_tests.rs"]
mod tests;
