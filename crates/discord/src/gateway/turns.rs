//! When a session may begin: so many at once as Discord says, and each five seconds after the one before it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::{Instant, sleep_until};

const APART: Duration = Duration::from_secs(5);
/// The most that Discord lets begin at once.
const MOST: u32 = 256;

/// Of one bot; cheap to clone.
#[derive(Clone)]
pub(super) struct Turns {
    /// When the last session of each row began.
    rows: Arc<[Arc<Mutex<Option<Instant>>>]>,
}

/// It is somebody's turn, for as long as this lives.
pub(super) struct Turn {
    last: OwnedMutexGuard<Option<Instant>>,
}

impl Turns {
    /// `at_once`: Discord's `max_concurrency`.
    pub(super) fn new(at_once: u32) -> Self {
        Self { rows: (0..at_once.clamp(1, MOST)).map(|_| Arc::default()).collect() }
    }

    /// Waits for the turn of a shard.
    pub(super) async fn of(&self, shard: u32) -> Turn {
        let rows = self.rows.len().max(1);
        let row = usize::try_from(shard).unwrap_or(0) % rows;
        let row = self.rows.get(row).map(Arc::clone).unwrap_or_default();
        let last = row.lock_owned().await;
        if let Some(last) = *last {
            sleep_until(last + APART).await;
        }
        Turn { last }
    }
}

impl Turn {
    /// The session begins now; the next waits.
    pub(super) fn taken(mut self) {
        *self.last = Some(Instant::now());
    }
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
