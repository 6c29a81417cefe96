//! Control's end of a link: a slot that the door fills each time an agent connects.

use cloister_protocol::link::{Downlink, Uplink};
use tokio::sync::mpsc;

use crate::ports::{Attached, LinkSide};

/// Frames that wait in either direction before the sender is held back.
const LINK_QUEUE: usize = 256;

/// The other halves of an attached link.
pub(crate) struct LinkEnd {
    pub(crate) down: mpsc::Sender<Downlink>,
    pub(crate) up: mpsc::Receiver<Uplink>,
}

/// Hands each new connection to its owner.
pub(crate) struct LinkSlot {
    connected: mpsc::Sender<LinkEnd>,
}

impl LinkSlot {
    pub(crate) fn new() -> (Self, mpsc::Receiver<LinkEnd>) {
        let (connected, connections) = mpsc::channel(4);
        (Self { connected }, connections)
    }
}

impl LinkSide for LinkSlot {
    fn attach(&self) -> Attached {
        let (down, down_receiver) = mpsc::channel(LINK_QUEUE);
        let (up_sender, up) = mpsc::channel(LINK_QUEUE);
        // If the owner is gone or swamped, the halves drop here and the link closes at once.
        drop(self.connected.try_send(LinkEnd { down, up }));
        Attached { down: down_receiver, up: up_sender }
    }
}
