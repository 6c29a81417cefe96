//! Which servers a session is still to tell of: until they came, channels of theirs that were missed are to be
//! asked, also after a restart. Pure.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;

/// How long after a session began its servers may still come, to be waited for over a restart.
const COME_WITHIN: Duration = Duration::from_secs(10 * 60);

/// The servers that are still to tell of themselves.
#[derive(Default)]
pub(super) struct Servers {
    /// None: the session began in an earlier life.
    awaited: Option<HashSet<String>>,
    began: Option<Instant>,
}

impl Servers {
    pub(super) fn of(awaited: HashSet<String>) -> Self {
        Self { awaited: Some(awaited), began: Some(Instant::now()) }
    }

    pub(super) fn came(&mut self, server: &str) {
        if let Some(awaited) = &mut self.awaited {
            awaited.remove(server);
        }
    }

    /// A session of an earlier life goes on.
    pub(super) fn resumed(&mut self) {
        self.began.get_or_insert_with(Instant::now);
    }

    /// Whether all have come that come in time.
    pub(super) fn are_there(&self, now: Instant) -> bool {
        self.awaited.as_ref().is_some_and(HashSet::is_empty)
            || self.began.is_some_and(|began| now.duration_since(began) > COME_WITHIN)
    }
}

#[cfg(test)]
#[path = "servers_tests.rs"]
mod tests;
