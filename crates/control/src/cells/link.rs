//! Control's end of a link: a door, and a slot that it fills each time an agent connects.

use cloister_store::OverBudget;
use std::path::PathBuf;
use std::sync::Arc;

use cloister_policy::egress::Host;
use cloister_policy::engine::Names;
use cloister_protocol::link::{Downlink, Uplink};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use crate::cells::Cells;
use crate::control::Control;
use crate::error::Fault;
use crate::ports::{
    Attached, CameIn, Egress, Gated, LinkSide, More, NotRecorded, OpenDoor, Outward, Principal,
    RefusedEgress,
};

/// Frames that wait in either direction before the sender is held back.
const LINK_QUEUE: usize = 256;

/// The other halves of an attached link.
pub(crate) struct LinkEnd {
    pub(crate) down: mpsc::Sender<Downlink>,
    pub(crate) up: mpsc::Receiver<Uplink>,
}

/// Hands each new connection to its owner.
struct LinkSlot {
    connected: mpsc::Sender<LinkEnd>,
    control: Control,
    who: Principal,
}

impl LinkSide for LinkSlot {
    fn attach(&self) -> Attached {
        let (down, down_receiver) = mpsc::channel(LINK_QUEUE);
        let (up_sender, up) = mpsc::channel(LINK_QUEUE);
        // If the owner is gone or swamped, the halves drop here and the link closes at once.
        drop(self.connected.try_send(LinkEnd { down, up }));
        Attached { down: down_receiver, up: up_sender }
    }

    fn refused(&self, refused: RefusedEgress) {
        self.control.egress().hear_of_refusal(self.who, refused);
    }

    fn gate(&self, outward: Outward) -> BoxFuture<'_, Gated> {
        Box::pin(self.control.gates().gate_outward(self.who, outward))
    }

    fn models(&self) -> BoxFuture<'_, Names> {
        Box::pin(self.control.contexts().models_of(self.who))
    }

    fn lost(&self, host: Host) -> BoxFuture<'_, ()> {
        Box::pin(self.control.provenance().lose_host(self.who, host))
    }

    fn out_of_budget(&self, over: OverBudget) -> BoxFuture<'_, More> {
        Box::pin(self.control.tasks().out_of_budget(self.who, over))
    }

    fn came_in(&self, content: CameIn) -> BoxFuture<'_, Result<(), NotRecorded>> {
        Box::pin(self.control.provenance().content_came_in(self.who, content))
    }
}

/// A door that waits for its sandbox.
pub(crate) struct Doorway {
    pub(crate) socket: PathBuf,
    pub(crate) connections: mpsc::Receiver<LinkEnd>,
    pub(crate) door: Box<dyn OpenDoor>,
}

impl Cells {
    /// Opens the door of a sandbox, in a run directory made anew.
    pub(crate) fn open_door(
        &self,
        name: &str,
        who: Principal,
        egress: Egress,
    ) -> Result<Doorway, Fault> {
        let run_dir = self
            .control
            .layout()
            .sandbox_run(name)
            .map_err(Fault::io("the run directory of a sandbox could not be made"))?;
        let socket = run_dir.join("door.sock");
        let (connected, connections) = mpsc::channel(4);
        let slot = LinkSlot { connected, control: self.control.clone(), who };
        let doors = &self.control.inner.parts.doors;
        let door = doors
            .open(socket.clone(), who, egress, Arc::new(slot))
            .map_err(Fault::io("the door of a sandbox could not be opened"))?;
        Ok(Doorway { socket, connections, door })
    }

    /// Removes the run directory of a sandbox that has ended.
    pub(crate) fn clear_door(&self, name: &str) {
        // What can't be removed now is cleared at the next start.
        drop(std::fs::remove_dir_all(self.control.layout().run().join(name)));
    }
}
