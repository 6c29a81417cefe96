//! The port of the doors: how control opens the one way out of a sandbox.
//!
//! A door is a Unix socket. Who is behind it follows from the socket alone, never from what is said
//! through it.

use std::path::PathBuf;
use std::sync::Arc;

use cloister_protocol::link::{Downlink, Uplink};
use cloister_protocol::{TaskId, UserId, WorkspaceId};
use tokio::sync::mpsc;

/// Who is behind a door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Principal {
    pub user: UserId,
    pub workspace: WorkspaceId,
    /// The task of an executor; none for a coordinator.
    pub task: Option<TaskId>,
}

/// What a door lets out besides model calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Egress {
    /// Nothing: a coordinator has no business outside.
    Closed,
    /// What the user's rules allow.
    Open {
        /// The task's own list, which narrows the user's.
        only: Option<Vec<String>>,
        /// A plan waits for approval: nothing may be sent that could change something.
        reads_only: bool,
    },
}

/// A destination that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedEgress {
    /// As it was asked for, made safe to show.
    pub host: String,
    /// Why, in words.
    pub reason: String,
    /// The rule with which the owner would allow it; none when nothing could.
    pub rule: Option<String>,
}

/// Control's side of a link. A new attachment replaces the one before it, whose channels close.
pub trait LinkSide: Send + Sync + 'static {
    fn attach(&self) -> Attached;
    /// The person is to hear of a refusal. Called once per destination and reason, and returns at once.
    fn refused(&self, refused: RefusedEgress);
}

/// The channels of one link connection.
pub struct Attached {
    /// What the agent is to be told; closed when the link must be closed.
    pub down: mpsc::Receiver<Downlink>,
    /// What the agent says. A full channel holds the agent back.
    pub up: mpsc::Sender<Uplink>,
}

pub trait Doors: Send + Sync + 'static {
    /// Listens at `socket` until the returned door is dropped, which also ends what is under way
    /// through it and removes the socket.
    fn open(
        &self,
        socket: PathBuf,
        principal: Principal,
        egress: Egress,
        link: Arc<dyn LinkSide>,
    ) -> std::io::Result<Box<dyn OpenDoor>>;
}

/// A door that is open; dropping it closes it.
pub trait OpenDoor: Send + Sync {}
