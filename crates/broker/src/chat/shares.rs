//! How many model calls each user may have under way: one who has many must not have all that the
//! providers give.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cloister_protocol::UserId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Users that are remembered before those without calls are forgotten.
const SWEEP_AT: usize = 1024;

pub(crate) struct Shares {
    calls: usize,
    users: Mutex<HashMap<UserId, Weak<Semaphore>>>,
}

impl Shares {
    pub(crate) fn new(calls: usize) -> Self {
        Self { calls: calls.max(1), users: Mutex::default() }
    }

    /// Waits, in order, until this user may have one more call under way. None if that is never.
    pub(crate) async fn enter(&self, user: UserId) -> Option<OwnedSemaphorePermit> {
        self.of(user).acquire_owned().await.ok()
    }

    fn of(&self, user: UserId) -> Arc<Semaphore> {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = users.get(&user).and_then(Weak::upgrade) {
            return share;
        }
        if users.len() >= SWEEP_AT {
            users.retain(|_, share| share.strong_count() > 0);
        }
        let share = Arc::new(Semaphore::new(self.calls));
        users.insert(user, Arc::downgrade(&share));
        share
    }
}

#[cfg(test)]
#[path = "shares_tests.rs"]
mod tests;
