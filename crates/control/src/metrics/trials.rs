//! How what is tried again and again went lately: answers, and the calls of each model.

use std::collections::BTreeMap;
use std::sync::Mutex;

use tokio::time::Instant;

use super::series::{SLOTS, lock, minute_between};

/// Names that are kept apart; what would be one more is not kept.
const MOST: usize = 100;

#[derive(Debug)]
pub(super) struct Trials {
    began: Instant,
    by_name: Mutex<BTreeMap<String, Course>>,
}

impl Default for Trials {
    fn default() -> Self {
        Self { began: Instant::now(), by_name: Mutex::default() }
    }
}

/// How the last ten minutes were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lately {
    pub(crate) good: u64,
    pub(crate) bad: u64,
    /// How many went wrong since the last that went well, however long ago that is.
    pub(crate) bad_in_a_row: u64,
    /// Of the last that went wrong.
    pub(crate) kind: Option<String>,
}

impl Lately {
    pub(crate) fn all(&self) -> u64 {
        self.good.saturating_add(self.bad)
    }
}

#[derive(Debug, Default)]
struct Course {
    minutes: [Minute; SLOTS],
    bad_in_a_row: u64,
    kind: Option<String>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Minute {
    /// Which one since the start.
    number: u64,
    good: u64,
    bad: u64,
}

impl Trials {
    /// One more has ended, well or with this kind of failure.
    pub(super) fn note(&self, name: &str, failure: Option<&str>, now: Instant) {
        let number = minute_between(self.began, now);
        let mut by_name = lock(&self.by_name);
        if by_name.len() >= MOST && !by_name.contains_key(name) {
            return;
        }
        let kept = by_name.entry(name.to_owned()).or_default();
        let place = usize::try_from(number % SLOTS as u64).unwrap_or(0);
        let Some(minute) = kept.minutes.get_mut(place) else { return };
        if minute.number != number {
            *minute = Minute { number, ..Minute::default() };
        }
        match failure {
            None => {
                minute.good += 1;
                kept.bad_in_a_row = 0;
            }
            Some(kind) => {
                minute.bad += 1;
                kept.bad_in_a_row = kept.bad_in_a_row.saturating_add(1);
                kept.kind = Some(kind.to_owned());
            }
        }
    }

    pub(super) fn lately(&self, name: &str, now: Instant) -> Lately {
        let now = minute_between(self.began, now);
        let by_name = lock(&self.by_name);
        let Some(kept) = by_name.get(name) else { return Lately::default() };
        let mut lately = Lately {
            bad_in_a_row: kept.bad_in_a_row,
            kind: kept.kind.clone(),
            ..Lately::default()
        };
        let fresh = |minute: &&Minute| now.saturating_sub(minute.number) < SLOTS as u64;
        for minute in kept.minutes.iter().filter(fresh) {
            lately.good += minute.good;
            lately.bad += minute.bad;
        }
        lately
    }
}

#[cfg(test)]
#[path = "trials_tests.rs"]
mod tests;
