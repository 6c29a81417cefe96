//! Which of what can be taken back goes, and of which that is said first: pure, by the times that it is told.
//!
//! Promises: nothing goes by its age before it was said long enough before; nothing goes for room before it was said a
//! round before, unless there is twice as much as there may be; the oldest goes first.

use cloister_protocol::{ChatId, TaskId};

use crate::options::FileOptions;

const HOUR_MS: i64 = 60 * 60 * 1000;
const DAY_MS: i64 = 24 * HOUR_MS;
/// What goes for room goes in the next round, not in one that a landing begins meanwhile.
const ROUND_MS: i64 = HOUR_MS / 2;

/// What a task did, as far as it can be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Undoable {
    pub(super) task: TaskId,
    pub(super) chat: ChatId,
    /// When it last changed.
    pub(super) at: i64,
    pub(super) bytes: u64,
    /// When people were told that it goes.
    pub(super) told_at: Option<i64>,
}

/// How long it is kept, and how much of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keeping {
    age_ms: Option<i64>,
    room: Option<u64>,
}

impl Keeping {
    pub(super) fn of(options: &FileOptions) -> Self {
        Self {
            age_ms: options.undo_days.number().map(|days| i64::from(days).saturating_mul(DAY_MS)),
            room: options.undo_mb.number().map(|mb| u64::from(mb) << 20),
        }
    }

    /// How long before it goes that is said: a day, and a quarter of a shorter time.
    fn lead_ms(age_ms: i64) -> i64 {
        DAY_MS.min(age_ms / 4)
    }

    pub(super) fn days(&self) -> i64 {
        self.age_ms.unwrap_or_default() / DAY_MS
    }

    pub(super) fn mb(&self) -> u64 {
        self.room.unwrap_or_default() >> 20
    }
}

/// What becomes of all that can be taken back in a workspace.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fates {
    /// It goes now, and that was said.
    pub(super) goes: Vec<Undoable>,
    /// It goes now because there is far too much, and that is said with it.
    pub(super) goes_at_once: Vec<Undoable>,
    /// It will go by its age: that is to be said.
    pub(super) ages: Vec<Undoable>,
    /// It will go for room: that is to be said.
    pub(super) is_pushed: Vec<Undoable>,
}

pub(super) fn fates(mut all: Vec<Undoable>, keeping: Keeping, now: i64) -> Fates {
    all.sort_by_key(|one| (std::cmp::Reverse(one.at), std::cmp::Reverse(one.task)));
    let (mut fates, mut bytes) = (Fates::default(), 0_u64);
    let mut soon = Vec::new();
    for (number, one) in all.into_iter().enumerate() {
        bytes = bytes.saturating_add(one.bytes);
        let told = one.told_at.filter(|told| *told >= one.at);
        let said_for = |least: i64| told.is_some_and(|told| now.saturating_sub(told) >= least);
        let age = now.saturating_sub(one.at);
        let (over, lead) = match keeping.age_ms {
            Some(most) => (age.saturating_sub(most), Keeping::lead_ms(most)),
            None => (i64::MIN, 0),
        };
        let pushed = keeping.room.is_some_and(|room| bytes > room && one.bytes > 0);
        // The newest alone may be more than there is room for: it is said before it goes.
        let far = keeping.room.is_some_and(|room| number > 0 && bytes / 2 > room) && pushed;
        if (over >= 0 && said_for(lead)) || (pushed && said_for(ROUND_MS)) {
            fates.goes.push(one);
        } else if far {
            fates.goes_at_once.push(one);
        } else if told.is_none() && pushed {
            fates.is_pushed.push(one);
        } else if told.is_none() && over >= -lead {
            fates.ages.push(one);
        } else if told.is_none() && over >= -lead.saturating_mul(2) {
            soon.push(one);
        }
    }
    if !fates.ages.is_empty() {
        // Said at once with those that follow within the day: nobody is told every hour.
        fates.ages.append(&mut soon);
    }
    fates
}

#[cfg(test)]
#[path = "going_tests.rs"]
mod tests;
