//! The hub: hands what is said in a chat to whoever is looking, live.
//!
//! It keeps nothing. What must not be lost is in the outbox first; a listener that falls behind reads
//! it from there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cloister_protocol::{AgentFrame, ChatId, WorkspaceId};
use tokio::sync::broadcast;

/// Frames that wait for one slow listener.
const LISTENER_QUEUE: usize = 256;

/// Something said in a chat.
#[derive(Clone, Debug)]
pub struct Said {
    /// Its row in the outbox, if it is kept.
    pub outbox: Option<i64>,
    pub frame: Arc<AgentFrame>,
}

type Channels = HashMap<(WorkspaceId, ChatId), broadcast::Sender<Said>>;

#[derive(Clone, Debug, Default)]
pub struct Hub {
    channels: Arc<Mutex<Channels>>,
}

impl Hub {
    pub fn listen(&self, workspace: WorkspaceId, chat: ChatId) -> broadcast::Receiver<Said> {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        channels.retain(|_, sender| sender.receiver_count() > 0);
        channels
            .entry((workspace, chat))
            .or_insert_with(|| broadcast::channel(LISTENER_QUEUE).0)
            .subscribe()
    }

    pub fn say(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        frame: AgentFrame,
        outbox: Option<i64>,
    ) {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = channels.get(&(workspace, chat)) {
            // No listener is no error: what matters is in the outbox.
            drop(sender.send(Said { outbox, frame: Arc::new(frame) }));
        }
    }

    /// Says what has just been stored.
    pub fn say_stored(&self, item: cloister_store::outbox::OutboxItem) {
        self.say(item.workspace, item.chat, item.frame, Some(item.id));
    }
}
