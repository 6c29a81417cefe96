//! How fast what a cell does may fill the audit trail.
//!
//! Promises: each request that leaves has its entry, so requests beyond a burst leave as fast as the trail may grow,
//! and wait for that. What is denied leaves nothing: beyond a burst it is counted, and the count is an entry at the
//! next denial that has one, or when the task's attempt is over. Each person of a workspace is counted by themselves.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use cloister_kit::{Buckets, Rate};
use cloister_protocol::{TaskId, UserId, WorkspaceId};
use tokio::time::Instant;

use super::lock;
use crate::options::GateOptions;
use crate::ports::Principal;

/// The longest that a request waits for its turn.
pub(super) const LONGEST: Duration = Duration::from_secs(60);

type TrailOwner = (WorkspaceId, UserId);

/// The cell of a task.
type TrailCell = (WorkspaceId, Option<TaskId>);

/// Where everybody stands.
pub(super) struct TrailPace {
    requests: Buckets<TrailOwner>,
    denials: Buckets<TrailOwner>,
    /// What was denied and has no entry yet.
    uncounted: Mutex<HashMap<TrailCell, u64>>,
}

impl TrailPace {
    pub(super) fn new(options: &GateOptions) -> Self {
        Self {
            requests: Buckets::new(Rate::new(options.request_burst, options.requests_per_second)),
            denials: Buckets::new(Rate::new(options.denial_burst, options.denials_per_second)),
            uncounted: Mutex::default(),
        }
    }

    /// Waits until a request may leave; whether it came to that.
    pub(super) async fn turn(&self, who: Principal) -> bool {
        let deadline = Instant::now() + LONGEST;
        loop {
            let now = Instant::now();
            let Err(until) = self.requests.take(owner(who), now) else { return true };
            if now + until > deadline {
                return false;
            }
            tokio::time::sleep(until).await;
        }
    }

    /// A request that had its turn did not leave.
    pub(super) fn stayed(&self, who: Principal) {
        self.requests.give_back(&owner(who));
    }

    /// Counts a denial. Answered with how many came before it without an entry, if it is to have one itself.
    pub(super) fn denied(&self, user: UserId, of: TrailCell) -> Option<u64> {
        let mut uncounted = lock(&self.uncounted);
        if self.denials.take((of.0, user), Instant::now()).is_ok() {
            return Some(uncounted.remove(&of).unwrap_or_default());
        }
        *uncounted.entry(of).or_default() += 1;
        None
    }

    /// All that has no entry yet, to be given one.
    pub(super) fn take_uncounted(&self) -> Vec<(TrailCell, u64)> {
        lock(&self.uncounted).drain().collect()
    }
}

const fn owner(who: Principal) -> TrailOwner {
    (who.workspace, who.user)
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
