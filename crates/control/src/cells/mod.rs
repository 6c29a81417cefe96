//! Cells: one actor per workspace that has something to do keeps its coordinator running.
//!
//! The actor is a reconciler: told that something changed, it reads from the inbox what is owed and
//! makes sure that a live coordinator has it. It holds nothing that the database does not.

mod actor;
mod cell;
mod ending;
mod link;
mod requests;

use cloister_protocol::{TurnId, WorkspaceId};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::control::Control;
use crate::ports::{LaunchError, Sandbox, SandboxSpec};

pub(crate) use ending::Owed;
pub(crate) use link::{Doorway, LinkEnd};

/// Pokes that may wait for one actor.
const POKE_QUEUE: usize = 64;
/// So many of them that no more about the inbox are taken, and the actor looks at all of it: the rest
/// of the queue is for what is not said twice.
const SWAMPED: usize = POKE_QUEUE - 16;

/// Why an actor should look.
#[derive(Debug)]
pub(crate) enum Poke {
    /// The inbox may hold something new.
    Inbox,
    /// This was just stored in the inbox.
    Stored(Box<cloister_store::inbox::InboxItem>),
    CancelTurn(TurnId),
    /// Report the coordinator's memory, if it runs.
    Memory(tokio::sync::oneshot::Sender<Option<u64>>),
    /// Stop the coordinator now, as if it had been idle for long.
    Stop,
}

impl Control {
    /// Launches a sandbox, and counts it.
    pub(crate) async fn launch_sandbox(
        &self,
        spec: SandboxSpec,
    ) -> Result<Box<dyn Sandbox>, LaunchError> {
        let (role, began) = (spec.role, Instant::now());
        let launched = self.inner.parts.backend.launch(spec).await;
        match &launched {
            Ok(_) => self.metrics().launched(role, began.elapsed()),
            Err(_) => self.metrics().launch_failed(role),
        }
        launched
    }

    /// Wakes the actor of a workspace, or makes one.
    pub(crate) fn poke(&self, workspace: WorkspaceId, poke: Poke) {
        if self.stopping() {
            return;
        }
        let mut actors = self.inner.actors();
        let poke = match actors.get(&workspace) {
            None => poke,
            Some(sender)
                if matches!(poke, Poke::Inbox | Poke::Stored(_))
                    && sender.capacity() <= POKE_QUEUE - SWAMPED =>
            {
                return;
            }
            Some(sender) => match sender.try_send(poke) {
                // A full queue means that it will look anyway.
                Ok(()) | Err(mpsc::error::TrySendError::Full(_)) => return,
                Err(mpsc::error::TrySendError::Closed(poke)) => poke,
            },
        };
        let (sender, receiver) = mpsc::channel(POKE_QUEUE);
        // A fresh channel has room.
        drop(sender.try_send(poke));
        actors.insert(workspace, sender);
        let control = self.clone();
        self.inner.tracker.spawn(async move { actor::run(control, workspace, receiver).await });
    }

    /// Forgets an actor that has nothing to do, unless it was poked meanwhile.
    pub(crate) fn retire(&self, workspace: WorkspaceId, pokes: &mut mpsc::Receiver<Poke>) -> bool {
        let mut actors = self.inner.actors();
        if !pokes.is_empty() {
            return false;
        }
        pokes.close();
        actors.remove(&workspace);
        true
    }

    /// The workspaces whose coordinator has an actor.
    pub fn live_cells(&self) -> Vec<WorkspaceId> {
        let mut live: Vec<_> = self.inner.actors().keys().copied().collect();
        live.sort();
        live
    }

    /// The proportional memory of a workspace's running coordinator.
    pub async fn cell_memory(&self, workspace: WorkspaceId) -> Option<u64> {
        let sender = self.inner.actors().get(&workspace).cloned()?;
        let (reply, answer) = tokio::sync::oneshot::channel();
        sender.send(Poke::Memory(reply)).await.ok()?;
        answer.await.ok().flatten()
    }

    /// Stops a workspace's coordinator; the next message launches it again.
    pub async fn stop_cell(&self, workspace: WorkspaceId) {
        let sender = self.inner.actors().get(&workspace).cloned();
        if let Some(sender) = sender
            && sender.send(Poke::Stop).await.is_ok()
        {
            sender.closed().await;
        }
    }
}
