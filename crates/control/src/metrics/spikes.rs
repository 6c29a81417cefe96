//! Who uses far more tokens than they usually do. Kept in memory: what is usual is learnt anew after a start.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use cloister_protocol::UserId;

use super::series::lock;

/// What is looked at together.
const SPAN: Duration = Duration::from_secs(10 * 60);
/// Spans that say what is usual: a day's.
const KEPT: usize = 144;
/// So many of them are needed to know.
const ENOUGH: usize = 3;
/// So many times the usual is a spike.
const TIMES: u64 = 8;
/// Less is none, however little is usual.
const LEAST: u64 = 100_000;
/// This is one, where nothing is known of what is usual.
const PLAINLY: u64 = 3_000_000;
/// Spans in which the same person's is not told again.
const QUIET: u64 = 6;
const MOST_USERS: usize = 10_000;

/// Somebody's agent uses far more than it does usually.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TokenSpike {
    pub(crate) user: UserId,
    /// Of the last ten minutes.
    pub(crate) tokens: u64,
    /// Of ten minutes in which something was used; none: that is not known yet.
    pub(crate) usual: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Spikes {
    users: Mutex<HashMap<UserId, Used>>,
    found: Mutex<Vec<TokenSpike>>,
}

#[derive(Debug, Default)]
struct Used {
    span: u64,
    now: u64,
    earlier: VecDeque<u64>,
    told: Option<u64>,
}

impl Spikes {
    /// Counts, and whether that made a spike of it.
    pub(super) fn take(&self, user: UserId, tokens: u64, uptime: Duration) -> bool {
        let span = uptime.as_secs() / SPAN.as_secs();
        let mut users = lock(&self.users);
        if users.len() >= MOST_USERS && !users.contains_key(&user) {
            users.clear();
        }
        let Some((tokens, usual)) = users.entry(user).or_default().take(span, tokens) else {
            return false;
        };
        drop(users);
        let mut found = lock(&self.found);
        if found.len() < MOST_USERS {
            found.push(TokenSpike { user, tokens, usual });
        }
        true
    }

    /// Those that nobody was told of.
    pub(super) fn found(&self) -> Vec<TokenSpike> {
        std::mem::take(&mut *lock(&self.found))
    }
}

impl Used {
    fn take(&mut self, span: u64, tokens: u64) -> Option<(u64, Option<u64>)> {
        if span != self.span {
            if self.now > 0 {
                self.earlier.push_back(self.now);
            }
            while self.earlier.len() > KEPT {
                self.earlier.pop_front();
            }
            self.span = span;
            self.now = 0;
        }
        self.now = self.now.saturating_add(tokens);
        let count = u64::try_from(self.earlier.len()).unwrap_or(u64::MAX);
        let sum: u64 = self.earlier.iter().sum();
        let usual = (self.earlier.len() >= ENOUGH).then(|| sum.checked_div(count)).flatten();
        let most = usual.map_or(PLAINLY, |usual| usual.saturating_mul(TIMES).max(LEAST));
        let quiet = self.told.is_some_and(|told| span.saturating_sub(told) < QUIET);
        if self.now < most || quiet {
            return None;
        }
        self.told = Some(span);
        Some((self.now, usual))
    }
}

#[cfg(test)]
#[path = "spikes_tests.rs"]
mod tests;
