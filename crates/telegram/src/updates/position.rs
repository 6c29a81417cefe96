//! How far updates were read. Pure.
//!
//! The next offset, and when the last update came: after a week without any, Telegram begins to count anew
//! somewhere else, and an offset from before would pass over what is there.

use std::fmt;

/// After how long an offset is not used any more.
const GOOD_FOR_MS: i64 = 6 * 24 * 60 * 60 * 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    next: i64,
    /// When the last update came, in Unix milliseconds.
    at: i64,
}

impl Position {
    /// As it was kept; none: nothing was read yet, or nobody knows.
    pub(crate) fn read(kept: &str) -> Option<Self> {
        let (next, at) = kept.split_once('@')?;
        Some(Self { next: next.parse().ok()?, at: at.parse().ok()? })
    }

    /// Everything up to this update is stored. What is given out once more does not lead back.
    pub(crate) fn after(before: Option<Self>, update: i64, now: i64) -> Self {
        let next = update.saturating_add(1);
        match before {
            Some(before) if before.offset(now).is_some_and(|offset| next <= offset) => before,
            Some(_) | None => Self { next, at: now },
        }
    }

    /// Where to read on; none: from whatever Telegram has.
    pub(crate) const fn offset(self, now: i64) -> Option<i64> {
        if now.saturating_sub(self.at) > GOOD_FOR_MS { None } else { Some(self.next) }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.next, self.at)
    }
}

#[cfg(test)]
#[path = "position_tests.rs"]
mod tests;
