//! Threads show the chats that they are: their names follow the titles, and a chat that was put away is a thread
//! that is archived.
//!
//! Only threads are ever changed, never a channel. Whatever could not be shown is tried again the next time
//! something changes, except what the bot may not do: that is tried once.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use cloister_kit::{PlaneError, part};
use cloister_protocol::surface::{
    Chat, Chats, Conversation, ConversationId, ConversationKind, Conversations, HasToTell,
    SetBroken, SetShown,
};
use cloister_protocol::{ChatId, WorkspaceId};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::bot::{self, Bot};
use super::rest::{Fault, Request, at, codes};

/// The longest name of a thread.
const MAX_NAME: usize = 100;
/// Announcement, public and private threads.
const THREADS: [u8; 3] = [10, 11, 12];
/// How long what is still to be said in a thread may take before it is archived: a message would open it again.
const SAID_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How many threads are remembered that could not be changed.
const MOST_REMEMBERED: usize = 10_000;

/// What the bot was not allowed to show.
#[derive(Debug, Default)]
pub(crate) struct ThreadsState {
    refused: Mutex<HashMap<ConversationId, Wanted>>,
}

/// What a thread is to show.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    title: String,
    archived: bool,
}

/// As much of a channel as is wanted.
#[derive(Deserialize)]
struct Channel {
    #[serde(rename = "type")]
    kind: u8,
}

impl ThreadsState {
    fn was_refused(&self, id: ConversationId, wanted: &Wanted) -> bool {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.get(&id) == Some(wanted)
    }

    fn refuse(&self, id: ConversationId, wanted: Wanted) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() >= MOST_REMEMBERED {
            refused.clear();
        }
        refused.insert(id, wanted);
    }
}

part! {
    /// The threads, which show the chats that they are.
    pub(crate) struct Threads of Bot;
}

impl Threads {
    /// Has threads show their chats as they are. One failure does not keep the rest from being mended.
    pub(crate) async fn mend(&self) -> Result<(), PlaneError> {
        let plane = &self.bot.plane;
        let mut chats: HashMap<WorkspaceId, HashMap<ChatId, Chat>> = HashMap::new();
        let all = plane.call(Conversations { connector: self.bot.id() }).await?;
        for thread in all.into_iter().filter(may_be_thread) {
            if plane.stopping() {
                break;
            }
            let known = match chats.entry(thread.workspace) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => {
                    let all = plane.call(Chats { workspace: thread.workspace }).await?;
                    unknown.insert(all.into_iter().map(|chat| (chat.id, chat)).collect())
                }
            };
            let Some(chat) = known.get(&thread.chat) else { continue };
            let wanted = Wanted { title: chat.title.clone(), archived: chat.archived };
            let shown = thread.shown_title.as_ref() == Some(&wanted.title)
                && thread.shown_archived == wanted.archived;
            if !shown && !self.bot.threads.was_refused(thread.id, &wanted) {
                self.show(&thread, wanted).await?;
            }
        }
        Ok(())
    }

    async fn show(&self, thread: &Conversation, wanted: Wanted) -> Result<(), PlaneError> {
        let conversation = thread.id;
        if wanted.archived {
            self.until_said(conversation).await?;
        }
        match self.change(thread, &wanted).await {
            Ok(()) => {
                let Wanted { title, archived } = wanted;
                self.bot.plane.call(SetShown { conversation, title, archived }).await?;
            }
            Err(Fault::Gone { code: codes::UNKNOWN_CHANNEL, .. }) => {
                let why = Some("the thread is not there any more".to_owned());
                self.bot.plane.call(SetBroken { conversation, why }).await?;
            }
            Err(fault @ (Fault::Wait(_) | Fault::Unreachable(_) | Fault::Unauthorized)) => {
                tracing::debug!(%fault, chat = %thread.chat, "a thread does not show its chat yet");
            }
            Err(fault) => {
                tracing::info!(%fault, chat = %thread.chat, "a thread can't show its chat");
                self.bot.threads.refuse(conversation, wanted);
            }
        }
        Ok(())
    }

    async fn change(&self, thread: &Conversation, wanted: &Wanted) -> Result<(), Fault> {
        let id = thread.external_id.as_deref().and_then(bot::channel);
        let Some(id) = id else {
            return Err(Fault::Refused { code: 0, message: "it is no thread".to_owned() });
        };
        let channel: Channel = self.bot.get(at::channel(id)).await?;
        if !THREADS.contains(&channel.kind) {
            return Err(Fault::Refused { code: 0, message: "it is no thread".to_owned() });
        }
        let Some(changes) = changes(thread, wanted) else { return Ok(()) };
        self.bot.done(Request::patch(at::channel(id)).saying(&changes)?).await
    }

    /// Waits, for a while, until everything is said that is to be said in a thread.
    async fn until_said(&self, thread: ConversationId) -> Result<(), PlaneError> {
        let until = tokio::time::Instant::now() + SAID_WITHIN;
        while tokio::time::Instant::now() < until && !self.bot.plane.stopping() {
            tokio::time::sleep(LOOK_EVERY).await;
            if !self.bot.plane.call(HasToTell { conversation: thread }).await? {
                break;
            }
        }
        Ok(())
    }
}

/// A channel has no name of ours: only what was opened as a thread has.
fn may_be_thread(conversation: &Conversation) -> bool {
    conversation.kind == ConversationKind::Shared
        && conversation.shown_title.is_some()
        && conversation.broken.is_none()
        && conversation.external_id.is_some()
}

/// What is to be changed of a thread; nothing where there is nothing to see.
fn changes(thread: &Conversation, wanted: &Wanted) -> Option<Value> {
    let mut changes = Map::new();
    if thread.shown_title.as_ref() != Some(&wanted.title)
        && let Some(name) = name(&wanted.title)
    {
        changes.insert("name".to_owned(), json!(name));
        // One that fell asleep by itself can't be named without being woken.
        changes.insert("archived".to_owned(), json!(wanted.archived));
    }
    if thread.shown_archived != wanted.archived {
        changes.insert("archived".to_owned(), json!(wanted.archived));
    }
    (!changes.is_empty()).then_some(Value::Object(changes))
}

/// What a thread is called; one that has no title keeps its name.
fn name(title: &str) -> Option<String> {
    let name: String = super::outgoing::one_line(title).chars().take(MAX_NAME).collect();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
#[path = "threads_tests.rs"]
mod tests;
