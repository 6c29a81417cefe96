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

/// Control's side of a link. A new attachment replaces the one before it, whose channels close.
pub trait LinkSide: Send + Sync + 'static {
    fn attach(&self) -> Attached;
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
        link: Arc<dyn LinkSide>,
    ) -> std::io::Result<Box<dyn OpenDoor>>;
}

/// A door that is open; dropping it closes it.
pub trait OpenDoor: Send + Sync {}
