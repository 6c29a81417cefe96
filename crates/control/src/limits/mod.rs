//! What one person, a workspace, and everybody together, may ask in a time.
//!
//! Promises: a person is counted by themselves in each workspace, so in a community nobody uses up what is the
//! others'. A workspace as a whole has a multiple of what one person has, and a person a share of what it has once.
//!
//! Whoever asks too much is told when to try again; nothing is queued for them. All of it is memory
//! of this process: a restart forgets it, and that harms nobody.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cloister_policy::engine::Ownership;
use cloister_protocol::{UserId, UserName, WorkspaceId};
use tokio::time::Instant;

use crate::options::LimitOptions;
pub(crate) use cloister_kit::{Buckets, Rate};

/// When somebody who has too many of something open may look again.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// How much more urgent commands may wait than messages.
pub(crate) const URGENT_HEADROOM: i64 = 50;

/// How many times what one person may ask is what a workspace may ask with all of its people.
const TOGETHER: u32 = 4;
/// The part of what a community has that one person may hold at once: one in so many.
const SHARES: usize = 4;

/// How many one person may have, of what a workspace has `all` of: all of it in their own; in a community a share,
/// which is never nothing.
pub(crate) fn share(ownership: Ownership, all: usize) -> usize {
    match ownership {
        Ownership::Private { .. } => all,
        Ownership::Community => (all / SHARES).max(1).min(all),
    }
}

/// The limits and where everybody stands.
#[derive(Debug)]
pub(crate) struct Limiter {
    options: LimitOptions,
    messages: Rates<UserName>,
    commands: Rates<UserName>,
    surfaces: Buckets<&'static str>,
    uploads: Rates<UserId>,
    connects: Rates<UserId>,
    open_uploads: OpenCounts,
    open_sockets: OpenCounts,
}

/// What each person of a workspace may ask, and all of them together.
#[derive(Debug)]
struct Rates<P> {
    of_person: Buckets<(WorkspaceId, P)>,
    of_workspace: Buckets<WorkspaceId>,
}

impl<P: Clone + Eq + Hash> Rates<P> {
    fn new(burst: u32, per_s: f64) -> Self {
        let together = Rate::new(burst.saturating_mul(TOGETHER), per_s * f64::from(TOGETHER));
        Self {
            of_person: Buckets::new(Rate::new(burst, per_s)),
            of_workspace: Buckets::new(together),
        }
    }

    /// Takes one of both, or of neither.
    fn take(&self, workspace: WorkspaceId, person: &P, now: Instant) -> Result<(), Duration> {
        self.take_own(workspace, person, now)?;
        self.take_together(workspace, person, now)
    }

    fn take_own(&self, workspace: WorkspaceId, person: &P, now: Instant) -> Result<(), Duration> {
        self.of_person.take((workspace, person.clone()), now)
    }

    /// Takes one of what all have together, or gives the person's own back.
    fn take_together(
        &self,
        workspace: WorkspaceId,
        person: &P,
        now: Instant,
    ) -> Result<(), Duration> {
        let taken = self.of_workspace.take(workspace, now);
        taken.inspect_err(|_| self.of_person.give_back(&(workspace, person.clone())))
    }

    fn give_back(&self, workspace: WorkspaceId, person: &P) {
        self.of_person.give_back(&(workspace, person.clone()));
        self.of_workspace.give_back(&workspace);
    }
}

/// A message that wants in.
#[derive(Clone, Debug)]
pub(crate) struct Knock {
    pub(crate) surface: &'static str,
    pub(crate) workspace: WorkspaceId,
    pub(crate) from: UserName,
    /// A command that helps against a flood.
    pub(crate) urgent: bool,
}

/// Why something is not taken: the word for it that is counted, and when to try again.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{message}")]
pub struct TooMuch {
    pub(crate) reason: &'static str,
    message: &'static str,
    pub(crate) retry_after: Duration,
}

impl Limiter {
    pub(crate) fn new(options: LimitOptions) -> Self {
        let o = &options;
        Self {
            messages: Rates::new(o.person_burst, o.person_per_s),
            commands: Rates::new(o.command_burst, o.command_per_s),
            surfaces: Buckets::new(Rate::new(o.surface_burst, o.surface_per_s)),
            uploads: Rates::new(o.upload_burst, o.upload_per_s),
            connects: Rates::new(o.connect_burst, o.connect_per_s),
            open_uploads: OpenCounts::default(),
            open_sockets: OpenCounts::default(),
            options,
        }
    }

    pub(crate) fn options(&self) -> &LimitOptions {
        &self.options
    }

    /// Whether this person may say one more thing now. Their own limit comes first, and is asked also of who may not
    /// speak there at all: who floods takes nothing from the others.
    pub(crate) fn person(&self, knock: &Knock) -> Result<(), TooMuch> {
        let taken = self.rates(knock).take_own(knock.workspace, &knock.from, Instant::now());
        taken.map_err(|retry_after| too_fast(knock, retry_after))
    }

    /// Whether one more thing may be taken now from the workspace, and over the surface: after `person`, and of who
    /// may speak there.
    pub(crate) fn together(&self, knock: &Knock) -> Result<(), TooMuch> {
        let (rates, now) = (self.rates(knock), Instant::now());
        let taken = rates.take_together(knock.workspace, &knock.from, now);
        taken.map_err(|retry_after| too_fast(knock, retry_after))?;
        if knock.urgent {
            return Ok(());
        }
        self.surfaces.take(knock.surface, now).map_err(|retry_after| {
            rates.give_back(knock.workspace, &knock.from);
            TooMuch {
                reason: "surface_rate",
                message: "more messages come in than are taken",
                retry_after,
            }
        })
    }

    fn rates(&self, knock: &Knock) -> &Rates<UserName> {
        if knock.urgent { &self.commands } else { &self.messages }
    }

    /// Whether a file may be sent now; the permit is held while it is on its way.
    pub(crate) fn upload(&self, workspace: WorkspaceId, by: UserId) -> Result<Permit, TooMuch> {
        let many = TooMuch {
            reason: "uploads",
            message: "too many of your files are on their way already",
            retry_after: LOOK_AGAIN,
        };
        let permit = self.open_uploads.enter((workspace, by), self.options.uploads, usize::MAX);
        let permit = permit.ok_or(many)?;
        self.uploads.take(workspace, &by, Instant::now()).map_err(|retry_after| TooMuch {
            reason: "upload_rate",
            message: "you send files faster than they are taken",
            retry_after,
        })?;
        Ok(permit)
    }

    pub(crate) fn socket(&self, workspace: WorkspaceId, by: UserId) -> Result<Permit, TooMuch> {
        self.connects.take(workspace, &by, Instant::now()).map_err(|retry_after| TooMuch {
            reason: "connect_rate",
            message: "you open connections faster than they are taken",
            retry_after,
        })?;
        let LimitOptions { person_sockets, sockets, .. } = self.options;
        let permit = self.open_sockets.enter((workspace, by), person_sockets, sockets);
        permit.ok_or(TooMuch {
            reason: "sockets",
            message: "too many connections are open already",
            retry_after: LOOK_AGAIN,
        })
    }
}

fn too_fast(knock: &Knock, retry_after: Duration) -> TooMuch {
    let (reason, message) = if knock.urgent {
        ("command_rate", "you send commands faster than they are taken")
    } else {
        ("person_rate", "you send messages faster than they are taken")
    };
    TooMuch { reason, message, retry_after }
}

/// How many of something each person has open.
#[derive(Clone, Debug, Default)]
struct OpenCounts {
    counts: Arc<Mutex<HashMap<(WorkspaceId, UserId), usize>>>,
}

impl OpenCounts {
    fn enter(&self, who: (WorkspaceId, UserId), most: usize, most_of_all: usize) -> Option<Permit> {
        let most = most.max(1);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let together = |of: Option<WorkspaceId>| -> usize {
            let meant =
                counts.iter().filter(|((workspace, _), _)| of.is_none_or(|of| of == *workspace));
            meant.map(|(_, open)| open).sum()
        };
        let most_together = most.saturating_mul(usize::try_from(TOGETHER).unwrap_or(usize::MAX));
        if together(None) >= most_of_all || together(Some(who.0)) >= most_together {
            return None;
        }
        let own = counts.entry(who).or_default();
        if *own >= most {
            return None;
        }
        *own += 1;
        Some(Permit { open: self.clone(), who })
    }
}

/// The right to have one of something open; given back when it is dropped.
#[derive(Debug)]
#[must_use = "it is given back when it is dropped"]
pub struct Permit {
    open: OpenCounts,
    who: (WorkspaceId, UserId),
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut counts = self.open.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = counts.get_mut(&self.who) {
            *own -= 1;
            if *own == 0 {
                counts.remove(&self.who);
            }
        }
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
