//! How long a conversation rests after something could not be sent.

use std::time::Duration;

use cloister_kit::doubled;

use super::Pace;
use crate::ports::SendError;

/// Grows with every failure in a row, up to a bound.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Something got there.
    pub(super) fn forget(&mut self) {
        self.failures = 0;
    }

    /// The first failure in a row is for people to see.
    pub(super) fn is_first(&self) -> bool {
        self.failures == 0
    }

    /// How long to rest now. A surface that says how long is obeyed; one that says so again and again is
    /// asked less and less often.
    pub(super) fn rest(&mut self, why: Option<&SendError>, pace: &Pace) -> Duration {
        self.rest_with(why, pace, random_byte())
    }

    fn rest_with(&mut self, why: Option<&SendError>, pace: &Pace, random: u8) -> Duration {
        let grown_from = |first| doubled(first, self.failures, pace.longest_retry);
        let (grown, floor) = (grown_from(pace.first_retry), grown_from(pace.first_retry / 10));
        self.failures = self.failures.saturating_add(1);
        // Between three and five quarters, so that conversations do not come back all at once.
        let quarter = grown / 4;
        let jitter = (quarter * 2).mul_f64(f64::from(random) / 255.0);
        let jittered = grown.saturating_sub(quarter) + jitter;
        match why {
            Some(SendError::Wait(asked)) => (*asked).max(floor) + jitter.min(*asked / 10),
            _ => jittered.min(pace.longest_retry),
        }
    }
}

fn random_byte() -> u8 {
    let mut byte = [128u8];
    // Without it everything still works, in step.
    getrandom::fill(&mut byte).ok();
    byte[0]
}

#[cfg(test)]
#[path = "backoff_tests.rs"]
mod tests;
