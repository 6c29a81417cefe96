//! How often a channel may be written to. What is shown while it is being written gives way: an end or a question
//! must never wait for it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use cloister_kit::{Rule, Window};
use tokio::time::Instant;

/// Discord takes about five messages or edits in five seconds per channel.
const WINDOW: Duration = Duration::from_secs(5);
const ALL: Rule = Rule { most: 5, within: WINDOW };
/// As many of them as what is unfinished may take up to.
const UNFINISHED: Rule = Rule { most: 4, within: WINDOW };
/// How many channels are remembered.
const MOST_CHANNELS: usize = 10_000;

/// When something was sent to each channel.
#[derive(Debug, Default)]
pub(super) struct Pace {
    sent: Mutex<HashMap<u64, Window>>,
}

impl Pace {
    /// Something is sent now, whatever was sent before.
    pub(super) fn note(&self, channel: u64, now: Instant) {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        if sent.len() >= MOST_CHANNELS {
            sent.retain(|_, window| window.last().is_some_and(|last| now < last + WINDOW));
        }
        sent.entry(channel).or_default().add(now, ALL);
    }

    /// How long something that can wait has to wait.
    pub(super) fn rest(&self, channel: u64, now: Instant) -> Option<Duration> {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = sent.get(&channel)?.wait(now, UNFINISHED);
        (!wait.is_zero()).then_some(wait)
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
