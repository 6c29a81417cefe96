//! What one person, and everybody together, may ask in a time.
//!
//! Whoever asks too much is told when to try again; nothing is queued for them. All of it is memory
//! of this process: a restart forgets it, and that harms nobody.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cloister_protocol::WorkspaceId;
use tokio::time::Instant;

use crate::options::LimitOptions;
pub(crate) use cloister_kit::{Buckets, Rate};

/// When somebody who has too many of something open may look again.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// How much more urgent commands may wait than messages.
pub(crate) const URGENT_HEADROOM: i64 = 50;

/// The limits and where everybody stands.
#[derive(Debug)]
pub(crate) struct Limiter {
    options: LimitOptions,
    messages: Buckets<WorkspaceId>,
    commands: Buckets<WorkspaceId>,
    surfaces: Buckets<&'static str>,
    uploads: Buckets<WorkspaceId>,
    connects: Buckets<WorkspaceId>,
    open_uploads: OpenCounts,
    open_sockets: OpenCounts,
}

/// A message that wants in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Knock {
    pub(crate) surface: &'static str,
    pub(crate) workspace: WorkspaceId,
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
            messages: Buckets::new(Rate::new(o.person_burst, o.person_per_s)),
            commands: Buckets::new(Rate::new(o.command_burst, o.command_per_s)),
            surfaces: Buckets::new(Rate::new(o.surface_burst, o.surface_per_s)),
            uploads: Buckets::new(Rate::new(o.upload_burst, o.upload_per_s)),
            connects: Buckets::new(Rate::new(o.connect_burst, o.connect_per_s)),
            open_uploads: OpenCounts::default(),
            open_sockets: OpenCounts::default(),
            options,
        }
    }

    pub(crate) fn options(&self) -> &LimitOptions {
        &self.options
    }

    /// Whether a message may be taken now. A person's own limit comes first: who floods takes
    /// nothing from the others on their surface.
    pub(crate) fn message(&self, knock: Knock) -> Result<(), TooMuch> {
        let now = Instant::now();
        if knock.urgent {
            return self.commands.take(knock.workspace, now).map_err(|retry_after| TooMuch {
                reason: "command_rate",
                message: "you send commands faster than they are taken",
                retry_after,
            });
        }
        self.messages.take(knock.workspace, now).map_err(|retry_after| TooMuch {
            reason: "person_rate",
            message: "you send messages faster than they are taken",
            retry_after,
        })?;
        self.surfaces.take(knock.surface, now).map_err(|retry_after| {
            self.messages.give_back(&knock.workspace);
            TooMuch {
                reason: "surface_rate",
                message: "more messages come in than are taken",
                retry_after,
            }
        })
    }

    /// Whether a file may be sent now; the permit is held while it is on its way.
    pub(crate) fn upload(&self, workspace: WorkspaceId) -> Result<Permit, TooMuch> {
        let many = TooMuch {
            reason: "uploads",
            message: "too many of your files are on their way already",
            retry_after: LOOK_AGAIN,
        };
        let permit = self.open_uploads.enter(workspace, self.options.uploads, usize::MAX);
        let permit = permit.ok_or(many)?;
        self.uploads.take(workspace, Instant::now()).map_err(|retry_after| TooMuch {
            reason: "upload_rate",
            message: "you send files faster than they are taken",
            retry_after,
        })?;
        Ok(permit)
    }

    pub(crate) fn socket(&self, workspace: WorkspaceId) -> Result<Permit, TooMuch> {
        self.connects.take(workspace, Instant::now()).map_err(|retry_after| TooMuch {
            reason: "connect_rate",
            message: "you open connections faster than they are taken",
            retry_after,
        })?;
        let LimitOptions { person_sockets, sockets, .. } = self.options;
        let permit = self.open_sockets.enter(workspace, person_sockets, sockets);
        permit.ok_or(TooMuch {
            reason: "sockets",
            message: "too many connections are open already",
            retry_after: LOOK_AGAIN,
        })
    }
}

/// How many of something each person has open.
#[derive(Clone, Debug, Default)]
struct OpenCounts {
    counts: Arc<Mutex<HashMap<WorkspaceId, usize>>>,
}

impl OpenCounts {
    fn enter(&self, workspace: WorkspaceId, most: usize, most_of_all: usize) -> Option<Permit> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.values().sum::<usize>() >= most_of_all {
            return None;
        }
        let own = counts.entry(workspace).or_default();
        if *own >= most.max(1) {
            return None;
        }
        *own += 1;
        Some(Permit { open: self.clone(), workspace })
    }
}

/// The right to have one of something open; given back when it is dropped.
#[derive(Debug)]
#[must_use = "it is given back when it is dropped"]
pub struct Permit {
    open: OpenCounts,
    workspace: WorkspaceId,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut counts = self.open.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = counts.get_mut(&self.workspace) {
            *own -= 1;
            if *own == 0 {
                counts.remove(&self.workspace);
            }
        }
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
