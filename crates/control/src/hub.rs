//! The hub: hands what is said in a chat to whoever is looking, live.
//!
//! What must not be lost is in the outbox first; a listener that falls behind reads it from there. All that is kept
//! here is what has been said so far of answers that are being written, for who comes in the middle of one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cloister_protocol::{AgentFrame, ChatId, MessageId, TextChunk, TurnId, Update, WorkspaceId};
use cloister_store::conversations::ConversationId;
use cloister_store::inbox::InboxItem;
use serde_json::Value;
use tokio::sync::{broadcast, watch};

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

/// How much of unfinished answers is kept, over all chats; more is told with the end of its turn.
const HALVES_BYTES: usize = 16 << 20;

/// How much of one thing is passed on while it happens: as many as fit into a queue wait for the slowest listener, and
/// how large each is says the cell. What is longer is read where it is kept.
const LIVE_BYTES: usize = 64 << 10;

type Place = (WorkspaceId, ChatId);

/// What has been said so far of an answer that is being written.
#[derive(Clone, Debug)]
pub struct Half {
    pub turn: TurnId,
    pub text: String,
    /// The number of the chunk that comes next.
    pub next: u32,
}

#[derive(Debug, Default)]
struct Rooms {
    channels: HashMap<Place, broadcast::Sender<Said>>,
    halves: HashMap<Place, Vec<Half>>,
    kept_bytes: usize,
}

impl Rooms {
    /// Keeps what a frame says of an answer that is being written.
    fn note(&mut self, place: Place, frame: &AgentFrame) {
        match frame {
            AgentFrame::TextChunk(chunk) => self.more(place, chunk),
            AgentFrame::Update(Update::Restart { turn }) => self.drop_half(place, turn),
            AgentFrame::End(end) => self.drop_half(place, &end.turn),
            AgentFrame::Accepted { .. }
            | AgentFrame::ToolCall(_)
            | AgentFrame::ToolResult(_)
            | AgentFrame::Update(_)
            | AgentFrame::Ask(_)
            | AgentFrame::SendFile(_)
            | AgentFrame::Error(_) => {}
        }
    }

    fn more(&mut self, place: Place, chunk: &TextChunk) {
        if chunk.seq == 0 {
            self.drop_half(place, &chunk.turn);
            let half = Half { turn: chunk.turn.clone(), text: String::new(), next: 0 };
            self.halves.entry(place).or_default().push(half);
        }
        let fits = self.kept_bytes + chunk.text.len() <= HALVES_BYTES;
        let halves = self.halves.get_mut(&place);
        let half = halves.and_then(|halves| halves.iter_mut().find(|h| h.turn == chunk.turn));
        match half {
            Some(half) if half.next == chunk.seq && fits => {
                half.text.push_str(&chunk.text);
                half.next += 1;
                self.kept_bytes += chunk.text.len();
            }
            // With a gap in it, it is no beginning of anything.
            Some(_) => self.drop_half(place, &chunk.turn),
            None => {}
        }
    }

    fn drop_half(&mut self, place: Place, turn: &TurnId) {
        let Some(halves) = self.halves.get_mut(&place) else { return };
        halves.retain(|half| {
            let goes = half.turn == *turn;
            if goes {
                self.kept_bytes -= half.text.len();
            }
            !goes
        });
        if halves.is_empty() {
            self.halves.remove(&place);
        }
    }
}

#[derive(Clone, Debug)]
pub struct Hub {
    rooms: Arc<Mutex<Rooms>>,
    everything: broadcast::Sender<Overheard>,
    /// Counts what may have changed how many questions wait, in whatever chat.
    questions: watch::Sender<u64>,
}

impl Default for Hub {
    fn default() -> Self {
        let everything = broadcast::channel(OVERHEARD_QUEUE).0;
        Self { rooms: Arc::default(), everything, questions: watch::channel(0).0 }
    }
}

impl Hub {
    pub fn listen(&self, workspace: WorkspaceId, chat: ChatId) -> broadcast::Receiver<Said> {
        self.join(workspace, chat).1
    }

    /// Listens from now on, and says what was said before of answers that are being written: nothing falls
    /// between the two.
    pub fn join(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> (Vec<Half>, broadcast::Receiver<Said>) {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        rooms.channels.retain(|_, sender| sender.receiver_count() > 0);
        let sender = rooms
            .channels
            .entry((workspace, chat))
            .or_insert_with(|| broadcast::channel(LISTENER_QUEUE).0);
        let said = sender.subscribe();
        (rooms.halves.get(&(workspace, chat)).cloned().unwrap_or_default(), said)
    }

    /// Everything that is said from now on, in every chat.
    /// Changes whenever questions may have come or gone, wherever that was; several at once are one.
    pub fn questions(&self) -> watch::Receiver<u64> {
        self.questions.subscribe()
    }

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
        if let AgentFrame::TextChunk(chunk) = &frame
            && chunk.text.len() > LIVE_BYTES
        {
            // A gap for who listens: they get all of it with the end.
            let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
            return rooms.drop_half((workspace, chat), &chunk.turn);
        }
        let frame = within_bounds(frame);
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
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (overheard.workspace, overheard.chat);
        rooms.note(place, &overheard.said.frame);
        if let Some(sender) = rooms.channels.get(&place) {
            // No listener is no error: what matters is in the outbox.
            drop(sender.send(overheard.said.clone()));
        }
        drop(rooms);
        if moves_questions(&overheard.said.frame) {
            self.questions.send_modify(|count| *count = count.wrapping_add(1));
        }
        drop(self.everything.send(overheard));
    }
}

/// What is passed on of a frame while it happens.
fn within_bounds(mut frame: AgentFrame) -> AgentFrame {
    match &mut frame {
        AgentFrame::ToolCall(call) => {
            cut(&mut call.name);
            if call.arguments.to_string().len() > LIVE_BYTES {
                call.arguments = Value::from("(too long to be shown here)");
            }
        }
        AgentFrame::ToolResult(result) => cut(&mut result.output),
        AgentFrame::Update(Update::Model { thought, .. }) => cut(thought),
        AgentFrame::Update(Update::Output { text, .. }) => cut(text),
        AgentFrame::Update(Update::Todos { todos, .. }) => {
            let mut left = LIVE_BYTES;
            todos.retain(|todo| {
                let fits = todo.text.len() <= left;
                left = left.saturating_sub(todo.text.len());
                fits
            });
        }
        AgentFrame::Accepted { .. }
        | AgentFrame::TextChunk(_)
        | AgentFrame::Update(_)
        | AgentFrame::Ask(_)
        | AgentFrame::SendFile(_)
        | AgentFrame::End(_)
        | AgentFrame::Error(_) => {}
    }
    frame
}

fn cut(text: &mut String) {
    let mut end = LIVE_BYTES.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
}

/// A task that ends takes its questions along.
fn moves_questions(frame: &AgentFrame) -> bool {
    match frame {
        AgentFrame::Ask(_) | AgentFrame::Update(Update::Answered { .. }) => true,
        AgentFrame::Update(Update::Task { state, .. }) => state.is_final(),
        AgentFrame::Accepted { .. }
        | AgentFrame::TextChunk(_)
        | AgentFrame::ToolCall(_)
        | AgentFrame::ToolResult(_)
        | AgentFrame::Update(_)
        | AgentFrame::SendFile(_)
        | AgentFrame::End(_)
        | AgentFrame::Error(_) => false,
    }
}

#[cfg(test)]
#[path = "hub_tests.rs"]
mod tests;
