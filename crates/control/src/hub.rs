//! The hub: hands what is said in a chat to whoever is looking, live.
//!
//! It keeps nothing. What must not be lost is in the outbox first; a listener that falls behind reads
//! it from there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cloister_protocol::{AgentFrame, ChatId, MessageId, TurnId, WorkspaceId};
use cloister_store::conversations::ConversationId;
use cloister_store::inbox::InboxItem;
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

/// Something said in whatever chat, for who carries it to surfaces.
#[derive(Clone, Debug)]
pub(crate) struct Overheard {
    pub(crate) workspace: WorkspaceId,
    pub(crate) chat: ChatId,
    /// Where it is to be told, if it is kept and belongs to a surface; for `Accepted`, where the message was
    /// written.
    pub(crate) conversation: Option<ConversationId>,
    pub(crate) said: Said,
}

/// Frames that wait for the one who carries them to surfaces; beyond it, the outbox is read instead.
const OVERHEARD_QUEUE: usize = 8192;

type Channels = HashMap<(WorkspaceId, ChatId), broadcast::Sender<Said>>;

#[derive(Clone, Debug)]
pub struct Hub {
    channels: Arc<Mutex<Channels>>,
    everything: broadcast::Sender<Overheard>,
}

impl Default for Hub {
    fn default() -> Self {
        Self { channels: Arc::default(), everything: broadcast::channel(OVERHEARD_QUEUE).0 }
    }
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

    /// Everything that is said from now on, in every chat.
    pub(crate) fn overhear(&self) -> broadcast::Receiver<Overheard> {
        self.everything.subscribe()
    }

    pub fn say(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        frame: AgentFrame,
        outbox: Option<i64>,
    ) {
        let said = Said { outbox, frame: Arc::new(frame) };
        self.pass_on(Overheard { workspace, chat, conversation: None, said });
    }

    /// Says what has just been stored.
    pub fn say_stored(&self, item: cloister_store::outbox::OutboxItem) {
        let said = Said { outbox: Some(item.id), frame: Arc::new(item.frame) };
        let (workspace, chat, conversation) = (item.workspace, item.chat, item.conversation);
        self.pass_on(Overheard { workspace, chat, conversation, said });
    }

    /// A message was stored and will be answered; for who shows that where it was written.
    pub(crate) fn taken(&self, item: &InboxItem, id: MessageId, turn: TurnId) {
        let Some(conversation) = item.conversation else { return };
        let said = Said { outbox: None, frame: Arc::new(AgentFrame::Accepted { id, turn }) };
        let (workspace, chat) = (item.workspace, item.chat);
        let conversation = Some(conversation);
        drop(self.everything.send(Overheard { workspace, chat, conversation, said }));
    }

    fn pass_on(&self, overheard: Overheard) {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = channels.get(&(overheard.workspace, overheard.chat)) {
            // No listener is no error: what matters is in the outbox.
            drop(sender.send(overheard.said.clone()));
        }
        drop(self.everything.send(overheard));
    }
}
