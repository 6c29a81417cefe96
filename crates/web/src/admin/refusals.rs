//! How many refusals of each caller go into the audit trail: all of a person's mistakes, and of a flood
//! its beginning and its size.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cloister_protocol::UserId;

const WINDOW: Duration = Duration::from_secs(60);
const MOST_PER_WINDOW: u32 = 30;

struct Window {
    since: Instant,
    recorded: u32,
    left_out: u64,
}

/// Callers are users, so there are never more windows than users.
#[derive(Clone, Default)]
pub(crate) struct Refusals(Arc<Mutex<HashMap<Option<UserId>, Window>>>);

impl Refusals {
    /// Whether this refusal is to be recorded; if so, how many before it were not.
    pub(super) fn note(&self, caller: Option<UserId>) -> Option<u64> {
        self.note_at(caller, Instant::now())
    }

    fn note_at(&self, caller: Option<UserId>, now: Instant) -> Option<u64> {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || Window { since: now, recorded: 0, left_out: 0 };
        let window = windows.entry(caller).or_insert_with(fresh);
        if now.duration_since(window.since) > WINDOW {
            window.since = now;
            window.recorded = 0;
        }
        if window.recorded >= MOST_PER_WINDOW {
            window.left_out = window.left_out.saturating_add(1);
            return None;
        }
        window.recorded += 1;
        Some(std::mem::take(&mut window.left_out))
    }
}

#[cfg(test)]
#[path = "refusals_tests.rs"]
mod tests;
