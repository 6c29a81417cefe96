//! How often a channel may be written to. What is shown while it is being written gives way: an end or a question
//! must never wait for it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Discord takes about five messages or edits in five seconds per channel.
const WINDOW: Duration = Duration::from_secs(5);
/// As many of them as what is unfinished may take up to.
const MOST_UNFINISHED: usize = 4;
/// How many channels are remembered.
const MOST_CHANNELS: usize = 10_000;

/// When something was sent to each channel.
#[derive(Debug, Default)]
pub(super) struct Pace {
    sent: Mutex<HashMap<u64, VecDeque<Instant>>>,
}

impl Pace {
    /// Something is sent now, whatever was sent before.
    pub(super) fn note(&self, channel: u64, now: Instant) {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        if sent.len() >= MOST_CHANNELS {
            sent.retain(|_, times| times.back().is_some_and(|last| now < *last + WINDOW));
        }
        let times = sent.entry(channel).or_default();
        if times.len() > MOST_UNFINISHED {
            times.pop_front();
        }
        times.push_back(now);
    }

    /// How long something that can wait has to wait.
    pub(super) fn rest(&self, channel: u64, now: Instant) -> Option<Duration> {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let times = sent.get_mut(&channel)?;
        while times.front().is_some_and(|first| *first + WINDOW <= now) {
            times.pop_front();
        }
        let free = times.len().checked_sub(MOST_UNFINISHED)?;
        times.get(free).map(|first| (*first + WINDOW).saturating_duration_since(now))
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
