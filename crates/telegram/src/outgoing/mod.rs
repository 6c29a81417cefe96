//! From what is to be told to messages on Telegram.
//!
//! Promises: a text is shown as it was meant or as plain text, never half; nothing in it can run, load or ring by
//! itself; a bot is never faster than Telegram allows; every request ends within a bounded time. Telegram does
//! not know a key again: of a text in several messages, those that are there are not sent again while this
//! process lives.

mod commands;
mod files;
mod keyboard;
mod markdown;
mod pace;
mod pieces;
mod questions;
mod send;
mod silence;
mod tables;
mod text;
mod writer;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cloister_kit::{Surface, part};
use cloister_protocol::surface::{
    Button, ConnectorId, ConversationKind, Manners, Measure, Posting, Recipient, SendError,
    Streaming, StreamingBy,
};
use cloister_protocol::with_causes;
use futures_util::future::BoxFuture;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;

pub(crate) use commands::set_commands;
pub(crate) use send::{TOPIC_CLOSED, TOPIC_LOST};

use super::bot::Bot;
use super::session::Fault;
use super::session::methods::{Action, SendChatAction, SendMessageDraft};
use pace::{Pace, What};
use pieces::Sent;
use send::{MessagePlace, Said};
use text::Text;

/// How long Telegram shows that something is being written.
const TYPING_LASTS: Duration = Duration::from_secs(5);
/// As long as an indicator that helps nobody may hold something up.
const TYPING_WAITS: Duration = Duration::from_secs(4);
/// How many files are sent at once.
const FILES_AT_ONCE: usize = 2;
/// What Telegram's own server takes; one that runs here takes more.
const PUBLIC_FILE: u64 = 50 << 20;
const LOCAL_FILE: u64 = 2_000 << 20;
/// Shown where there is nothing to see.
const NOTHING: &str = "…";

/// What is kept with a message of a person, to be known again when it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    /// The message's number in its chat.
    pub(crate) message: i32,
}

impl Origin {
    pub(crate) fn to_json(self) -> String {
        serde_json::json!({ "message": self.message }).to_string()
    }
}

part! {
    /// What is sent: texts, files, questions, drafts.
    pub(crate) struct Sending of Bot;
}

/// What is remembered of what was sent while it runs.
pub(crate) struct SendingState {
    pace: Mutex<Pace>,
    sent: Mutex<Sent>,
    files: Semaphore,
    /// This server knows no drafts, or not for this bot.
    no_drafts: AtomicBool,
    /// Of the commands that Telegram was told.
    commands: Mutex<Option<[u8; 32]>>,
}

impl Default for SendingState {
    fn default() -> Self {
        Self {
            pace: Mutex::default(),
            sent: Mutex::default(),
            files: Semaphore::new(FILES_AT_ONCE),
            no_drafts: AtomicBool::new(false),
            commands: Mutex::default(),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Surface for Bot {
    fn connector(&self) -> ConnectorId {
        self.id()
    }

    fn manners(&self) -> Manners {
        let server = if self.is_public_server() { PUBLIC_FILE } else { LOCAL_FILE };
        Manners {
            longest: markdown::LONGEST,
            measure: Measure::Asked,
            typing_lasts: TYPING_LASTS,
            largest_file: self.options.largest_file().min(server),
            remembers_keys: false,
        }
    }

    fn streaming(&self) -> StreamingBy {
        let ms = Duration::from_millis;
        let own = if self.sending.no_drafts.load(Ordering::Relaxed) {
            Streaming::Edits { every: ms(self.options.edit_every_ms) }
        } else {
            Streaming::Drafts { every: ms(self.options.draft_every_ms) }
        };
        let shared = Streaming::Edits { every: ms(self.options.group_edit_every_ms) };
        StreamingBy { own, shared }
    }

    fn measure(&self, markdown: &str) -> usize {
        markdown::measure(markdown)
    }

    fn post<'a>(
        &'a self,
        to: &'a Recipient,
        key: &'a str,
        post: &'a Posting,
    ) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let place = MessagePlace::of(to)?;
            let message = match post {
                Posting::Answer { markdown, unfinished, buttons } => {
                    let what = if *unfinished { What::Unfinished } else { What::Message };
                    self.sending()
                        .post_markdown(to, (place, key), (markdown, buttons), what)
                        .await?
                }
                Posting::Notice { markdown, buttons } => {
                    self.sending()
                        .post_markdown(to, (place, key), (markdown, buttons), What::Message)
                        .await?
                }
                Posting::Question { ask, settled } => {
                    self.sending().post_question(to, (place, key), (ask, settled.as_ref())).await?
                }
                Posting::File(file) => self.sending().post_file(to, (place, key), file).await?,
            };
            Ok(message.to_string())
        })
    }

    fn edit<'a>(
        &'a self,
        to: &'a Recipient,
        key: &'a str,
        message: &'a str,
        post: &'a Posting,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let place = MessagePlace::of(to)?;
            let message: i32 = message
                .parse()
                .map_err(|error| SendError::Refused(format!("{message} is no message: {error}")))?;
            match post {
                Posting::Answer { markdown, unfinished, buttons } => {
                    let what = if *unfinished { What::Unfinished } else { What::Message };
                    let edit = (message, key);
                    self.sending().edit_markdown(to, (place, edit), (markdown, buttons), what).await
                }
                Posting::Notice { markdown, buttons } => {
                    let edit = (message, key);
                    self.sending()
                        .edit_markdown(to, (place, edit), (markdown, buttons), What::Message)
                        .await
                }
                Posting::Question { ask, settled } => {
                    self.sending()
                        .edit_question(to, (place, message), (ask, settled.as_ref()))
                        .await
                }
                Posting::File(_) => {
                    Err(SendError::Refused("a file can't take a message's place".to_owned()))
                }
            }
        })
    }

    fn draft<'a>(
        &'a self,
        to: &'a Recipient,
        key: &'a str,
        post: &'a Posting,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let place = MessagePlace::of(to)?;
            let (Posting::Answer { markdown, .. } | Posting::Notice { markdown, .. }) = post else {
                return Err(SendError::Refused("only a text can be shown as a draft".to_owned()));
            };
            let pieces = pieces_of(&markdown::render(markdown));
            let Some(text) = pieces.first() else { return Ok(()) };
            match self.sending().show_draft(place, draft_id(to, key), text).await {
                Ok(()) => Ok(()),
                // An unknown method is answered like an unknown token.
                Err(fault @ (Fault::Refused { .. } | Fault::Unauthorized)) => {
                    if !self.sending.no_drafts.swap(true, Ordering::Relaxed) {
                        self.plane.renew(self.id());
                        tracing::warn!(bot = self.connector.account, %fault, "drafts are refused; messages are edited instead");
                    }
                    Err(SendError::Refused("drafts are not taken here".to_owned()))
                }
                Err(fault) => Err(self.sending().not_sent(place, fault).await),
            }
        })
    }

    fn typing<'a>(&'a self, to: &'a Recipient, typing: bool) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            // It ends by itself.
            let (true, Ok(place)) = (typing, MessagePlace::of(to)) else { return };
            if let Err(error) = self.sending().show_action(place, Action::Typing).await {
                tracing::debug!(error = with_causes(&error), "typing could not be shown");
            }
        })
    }
}

impl Sending {
    /// Says a sentence, once per key while this process lives.
    pub(crate) async fn say(
        &self,
        conversation: &str,
        key: &str,
        markdown: &str,
    ) -> Result<(), SendError> {
        let place = MessagePlace::parse(conversation)?;
        let key = format!("say {key}");
        if locked(&self.bot.sending.sent).has(&place, &key, 0) {
            return Ok(());
        }
        let pieces = pieces_of(&markdown::render(markdown));
        let first = self.post_pieces(place, &key, &pieces, Said::default(), What::Message).await?;
        locked(&self.bot.sending.sent).keep(&place, &key, 0, first.first);
        Ok(())
    }

    async fn post_markdown(
        &self,
        to: &Recipient,
        (place, key): (MessagePlace, &str),
        (markdown, buttons): (&str, &[Button]),
        what: What,
    ) -> Result<i32, SendError> {
        let pieces = pieces_of(&markdown::render(markdown));
        let keyboard = self.keyboard(&to.conversation, buttons).await;
        let said = Said { reply_to: reply_to(to, key), keyboard };
        Ok(self.post_pieces(place, key, &pieces, said, what).await?.first)
    }

    /// Puts a text in the place of a message; what does not fit there comes after it.
    async fn edit_markdown(
        &self,
        to: &Recipient,
        (place, (message, key)): (MessagePlace, (i32, &str)),
        (markdown, buttons): (&str, &[Button]),
        what: What,
    ) -> Result<(), SendError> {
        let pieces = pieces_of(&markdown::render(markdown));
        let Some((first, rest)) = pieces.split_first() else { return Ok(()) };
        let mut keyboard = self.keyboard(&to.conversation, buttons).await;
        let here = if rest.is_empty() { keyboard.take() } else { None };
        self.edit_text(place, message, (first, here), what).await?;
        if what == What::Message && !rest.is_empty() {
            let said = Said { reply_to: None, keyboard };
            self.post_pieces(place, key, rest, said, what).await?;
        }
        Ok(())
    }

    async fn show_draft(&self, place: MessagePlace, id: i32, text: &Text) -> Result<(), Fault> {
        let api = &self.bot.api;
        let mut draft = SendMessageDraft {
            chat_id: place.chat,
            message_thread_id: place.thread,
            draft_id: id,
            text: text.text.clone(),
            entities: text.entities(),
            can_stop: true,
        };
        let mut shown: Result<IgnoredAny, Fault> =
            self.paced(place, What::Draft, api.call(&draft)).await;
        if let Err(fault) = &shown
            && !draft.entities.is_empty()
            && send::refuses_marks(fault)
        {
            draft.entities.clear();
            shown = self.paced(place, What::Draft, api.call(&draft)).await;
        }
        shown.map(drop)
    }

    /// Shows that something is being done. Nothing waits for it.
    async fn show_action(&self, place: MessagePlace, action: Action) -> Result<(), Fault> {
        let sign = SendChatAction { chat_id: place.chat, message_thread_id: place.thread, action };
        let showing = self.paced::<IgnoredAny>(place, What::Sign, self.bot.api.call(&sign));
        match tokio::time::timeout(TYPING_WAITS, showing).await {
            Ok(shown) => shown.map(drop),
            Err(_late) => Err(Fault::late()),
        }
    }
}

/// A text as messages that Telegram takes; something can be seen in each.
fn pieces_of(text: &Text) -> Vec<Text> {
    let pieces = text.split(markdown::LONGEST).into_iter().map(|piece| piece.trimmed());
    let mut pieces: Vec<Text> = pieces.filter(|piece| !piece.is_blank()).collect();
    if pieces.is_empty() {
        pieces.push(Text::plain(NOTHING));
    }
    pieces
}

/// The message that is answered: where several people write, an answer says to whom, once.
fn reply_to(to: &Recipient, key: &str) -> Option<i32> {
    let goes_on = key.rsplit('/').next().and_then(|last| last.parse::<u32>().ok());
    match to.conversation.kind {
        ConversationKind::Shared if goes_on.unwrap_or(0) == 0 => {
            let origin: Origin = serde_json::from_str(to.origin.as_deref()?).ok()?;
            Some(origin.message)
        }
        ConversationKind::Shared | ConversationKind::Room | ConversationKind::Lobby => None,
    }
}

/// The same draft for the same key, always; never zero.
fn draft_id(to: &Recipient, key: &str) -> i32 {
    let mut hash = Sha256::new();
    hash.update(to.conversation.id.number().to_be_bytes());
    hash.update(key.as_bytes());
    let digest = hash.finalize();
    let bytes = digest.first_chunk::<4>().copied().unwrap_or([1; 4]);
    (i32::from_be_bytes(bytes) & i32::MAX).max(1)
}

#[cfg(test)]
#[path = "outgoing_tests.rs"]
mod tests;
