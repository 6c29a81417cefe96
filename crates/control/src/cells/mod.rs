//! Cells: one actor per chat that has something to do keeps its coordinator running.
//!
//! The actor is a reconciler: told that something changed, it reads from the inbox what is owed and
//! makes sure that a live coordinator has it. It holds nothing that the database does not.
//!
//! A coordinator serves one chat and sees no other: what was said and read in one reaches another only by way
//! of the control plane, which marks it.

mod actor;
mod admission;
mod cell;
mod ending;
mod error;
mod link;
mod phrases;
mod quota;
mod requests;
mod scene;
mod slots;

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cloister_protocol::{ChatId, TurnId, UserId, WorkspaceId};
use cloister_store::Actor;
use cloister_store::audit::Entry;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::control::part;
use crate::error::Fault;
use crate::ports::{Inhabitant, LaunchError, Sandbox, SandboxSpec};

pub(crate) use admission::Admitted;
pub(crate) use ending::Owed;
pub use error::{CellError, CellRefusal};
pub(crate) use link::{Doorway, LinkEnd};
use slots::{Seat, Slots};

/// Pokes that may wait for one actor.
const POKE_QUEUE: usize = 64;
/// So many of them that no more about the inbox are taken, and the actor looks at all of it: the rest
/// of the queue is for what is not said twice.
const SWAMPED: usize = POKE_QUEUE - 16;

/// A chat of a workspace: what an actor is for.
pub(crate) type ChatKey = (WorkspaceId, ChatId);

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
    /// Stop the coordinator if it is idle: another chat needs its place.
    MakeRoom,
    /// Stop the coordinator now, as if it had been idle for long.
    Stop,
}

/// An actor, as others know it.
#[derive(Clone, Debug)]
struct KnownActor {
    pokes: mpsc::Sender<Poke>,
    idle: Idle,
}

/// Since when a coordinator runs and has nothing to do, and whose share of a community its place is of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Idle {
    /// In milliseconds of the clock; 0: it is busy, or none runs.
    since: Arc<AtomicI64>,
    /// 0: of nobody's.
    share_of: Arc<AtomicU32>,
}

impl Idle {
    fn set(&self, since: Option<i64>) {
        self.since.store(since.unwrap_or(0), Ordering::SeqCst);
    }

    fn since(&self) -> Option<i64> {
        Some(self.since.load(Ordering::SeqCst)).filter(|since| *since != 0)
    }

    fn hold_for(&self, person: Option<UserId>) {
        self.share_of.store(person.map_or(0, UserId::number), Ordering::SeqCst);
    }

    fn is_held_for(&self, person: UserId) -> bool {
        self.share_of.load(Ordering::SeqCst) == person.number()
    }
}

/// What is known of cells in memory.
#[derive(Default)]
pub(crate) struct CellState {
    /// Room for coordinators.
    slots: Slots,
    actors: Mutex<HashMap<ChatKey, KnownActor>>,
}

impl CellState {
    fn actors(&self) -> MutexGuard<'_, HashMap<ChatKey, KnownActor>> {
        self.actors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

part! {
    /// The cells: their coordinators, their doors and what their chats are owed.
    pub struct Cells;
}

impl Cells {
    /// Launches a sandbox, and counts it.
    pub(crate) async fn launch_sandbox(
        &self,
        spec: SandboxSpec,
    ) -> Result<Box<dyn Sandbox>, LaunchError> {
        let (role, began) = match spec.inhabitant {
            Inhabitant::Agent(role) => (Some(role), Instant::now()),
            Inhabitant::Connector(_) => (None, Instant::now()),
        };
        let launched = self.control.inner.parts.backend.launch(spec).await;
        match (&launched, role) {
            (Ok(_), Some(role)) => self.control.metrics().launched(role, began.elapsed()),
            (Err(_), Some(role)) => self.control.metrics().launch_failed(role),
            (_, None) => {}
        }
        launched
    }

    /// Wakes the actor of a chat, or makes one.
    pub(crate) fn poke(&self, chat: ChatKey, poke: Poke) {
        if self.control.stopping() {
            return;
        }
        let mut actors = self.control.inner.cells.actors();
        let poke = match actors.get(&chat) {
            None => poke,
            Some(known)
                if matches!(poke, Poke::Inbox | Poke::Stored(_))
                    && known.pokes.capacity() <= POKE_QUEUE - SWAMPED =>
            {
                return;
            }
            Some(known) => match known.pokes.try_send(poke) {
                // A full queue means that it will look anyway.
                Ok(()) | Err(mpsc::error::TrySendError::Full(_)) => return,
                Err(mpsc::error::TrySendError::Closed(poke)) => poke,
            },
        };
        let (pokes, receiver) = mpsc::channel(POKE_QUEUE);
        // A fresh channel has room.
        drop(pokes.try_send(poke));
        let idle = Idle::default();
        actors.insert(chat, KnownActor { pokes, idle: idle.clone() });
        let control = self.control.clone();
        self.control.inner.crew.go("chat", actor::run(control, chat, idle, receiver));
    }

    /// Forgets an actor that has nothing to do, unless it was poked meanwhile.
    pub(crate) fn retire(&self, chat: ChatKey, pokes: &mut mpsc::Receiver<Poke>) -> bool {
        let mut actors = self.control.inner.cells.actors();
        if !pokes.is_empty() {
            return false;
        }
        pokes.close();
        actors.remove(&chat);
        true
    }

    /// Asks the coordinator of this workspace that has been idle for longest to make room: one of the person's own,
    /// if it is their share that is used up.
    fn ask_for_room(&self, seat: Seat) {
        let person = self.control.inner.cells.slots.lacks_share(seat);
        let actors = self.control.inner.cells.actors();
        let of_workspace = actors.iter().filter(|((of, _), _)| *of == seat.workspace);
        let idle = of_workspace.filter_map(|(_, known)| Some((known.idle.since()?, known)));
        let of_others =
            |known: &KnownActor| person.is_some_and(|person| !known.idle.is_held_for(person));
        if let Some((_, known)) = idle.min_by_key(|(since, known)| (of_others(known), *since)) {
            // A full queue has something to do for it: it is idle no more.
            drop(known.pokes.try_send(Poke::MakeRoom));
        }
    }

    /// The chats whose coordinator has an actor.
    pub(crate) fn live_chats(&self) -> Vec<ChatKey> {
        self.control.inner.cells.actors().keys().copied().collect()
    }

    /// The workspaces of which a coordinator has an actor.
    pub fn live_cells(&self) -> Vec<WorkspaceId> {
        let mut live: Vec<_> =
            self.live_chats().into_iter().map(|(workspace, _)| workspace).collect();
        live.sort();
        live.dedup();
        live
    }

    fn actors_of(&self, workspace: WorkspaceId) -> Vec<mpsc::Sender<Poke>> {
        let actors = self.control.inner.cells.actors();
        let of_workspace = actors.iter().filter(|((of, _), _)| *of == workspace);
        of_workspace.map(|(_, known)| known.pokes.clone()).collect()
    }

    /// The proportional memory of a workspace's running coordinators; none if none runs.
    pub async fn cell_memory(&self, workspace: WorkspaceId) -> Option<u64> {
        let mut all = None;
        for sender in self.actors_of(workspace) {
            let (reply, answer) = tokio::sync::oneshot::channel();
            if sender.send(Poke::Memory(reply)).await.is_err() {
                continue;
            }
            if let Some(bytes) = answer.await.ok().flatten() {
                all = Some(all.unwrap_or(0_u64).saturating_add(bytes));
            }
        }
        all
    }

    /// Stops a workspace's coordinators; the next message launches one again.
    pub async fn stop_cell(&self, actor: &Actor, workspace: WorkspaceId) -> Result<(), Fault> {
        let entry = Entry::new(actor, "cell.stop", workspace).of_workspace(workspace);
        self.control.store().audit().record(entry).await?;
        let stopping = self.actors_of(workspace).into_iter().map(|sender| async move {
            if sender.send(Poke::Stop).await.is_ok() {
                sender.closed().await;
            }
        });
        futures_util::future::join_all(stopping).await;
        Ok(())
    }
}

#[cfg(test)]
#[path = "cells_tests.rs"]
mod tests;
