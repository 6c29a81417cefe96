//! From what is to be told to Matrix events.
//!
//! Promises: a key is one event, also after a kill (its transaction id is made of nothing else); a text can
//! neither run nor load anything in a client, nor have the homeserver load it; every request ends within a bounded time.

mod files;
mod html;
mod inert;
mod messages;
mod questions;
mod send;
mod thumbnails;

use std::time::Duration;

use cloister_kit::{Surface, part};
use cloister_protocol::surface::{
    ConnectorId, ConversationKind, Manners, Measure, Posting, Recipient, SendError, Streaming,
    StreamingBy,
};
use cloister_protocol::with_causes;
use futures_util::future::BoxFuture;
use matrix_sdk::Room;
use matrix_sdk::ruma::EventId;
use matrix_sdk::ruma::api::client::typing::create_typing_event::v3::{
    Request as TypingRequest, Typing, TypingInfo,
};
use matrix_sdk::ruma::events::room::message::MessageType;
use tokio::sync::Semaphore;

pub(crate) use messages::Origin;
pub(crate) use questions::{Touch, answer_of};

use crate::bot::Bot;
use messages::{Previews, Written};
use send::Act;

const TYPING_LASTS: Duration = Duration::from_secs(25);
/// As long as an indicator that helps nobody may hold something up.
const TYPING_WAITS: Duration = Duration::from_secs(5);
/// How many files are in memory at once.
const FILES_AT_ONCE: usize = 2;

/// What is remembered of what is sent while the account runs.
pub(crate) struct SendingState {
    files: Semaphore,
}

impl Default for SendingState {
    fn default() -> Self {
        Self { files: Semaphore::new(FILES_AT_ONCE) }
    }
}

impl Surface for Bot {
    fn connector(&self) -> ConnectorId {
        self.id()
    }

    fn manners(&self) -> Manners {
        Manners {
            longest: messages::LONGEST,
            measure: Measure::Asked,
            typing_lasts: TYPING_LASTS,
            largest_file: self.largest_file(),
            remembers_keys: true,
        }
    }

    fn streaming(&self) -> StreamingBy {
        let every = Duration::from_millis(self.options.edit_every_ms);
        StreamingBy { own: Streaming::Edits { every }, shared: Streaming::Edits { every } }
    }

    fn measure(&self, markdown: &str) -> usize {
        messages::measure(markdown)
    }

    fn post<'a>(
        &'a self,
        to: &'a Recipient,
        key: &'a str,
        post: &'a Posting,
    ) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let room = self.sending().room_of(to).await?;
            let previews = self.sending().previews_in(&room).await?;
            let event = match post {
                // There are no buttons on Matrix: what they do can be typed.
                Posting::Answer { markdown, unfinished: _, buttons: _ } => {
                    // What it says changes while it is being written.
                    let kind = Written::from_markdown(markdown).text(previews);
                    self.sending().post_message(&room, to, (key, ""), kind).await?
                }
                Posting::Notice { markdown, buttons: _ } => {
                    let kind = Written::from_markdown(markdown).notice(previews);
                    self.sending().post_message(&room, to, (key, markdown), kind).await?
                }
                Posting::Question { ask, settled } => {
                    self.sending().post_question(&room, to, key, (ask, settled.as_ref())).await?
                }
                Posting::File(file) => self.sending().post_file(&room, to, key, file).await?,
            };
            Ok(event.to_string())
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
            let of = EventId::parse(message)
                .map_err(|error| SendError::Refused(format!("{message} is no event: {error}")))?;
            let room = self.sending().room_of(to).await?;
            let previews = self.sending().previews_in(&room).await?;
            let kind = match post {
                Posting::Answer { markdown, unfinished: _, buttons: _ } => {
                    Written::from_markdown(markdown).text(previews)
                }
                Posting::Notice { markdown, buttons: _ } => {
                    Written::from_markdown(markdown).notice(previews)
                }
                Posting::Question { ask, settled } => {
                    let touch = self.sending().touch_in(&room).await?;
                    questions::write(to.language, ask, settled.as_ref(), touch).text(previews)
                }
                Posting::File(_) => {
                    return Err(SendError::Refused(
                        "a file can't take a message's place".to_owned(),
                    ));
                }
            };
            let transaction = self.sending().transaction(to, Act::Edit, key, message);
            self.sending().send(&room, transaction, messages::replacement(of, kind)).await?;
            Ok(())
        })
    }

    fn typing<'a>(&'a self, to: &'a Recipient, typing: bool) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let room = to.conversation.external_id.as_deref().and_then(|id| id.try_into().ok());
            let (Some(room), Some(me)) = (room, self.client.user_id()) else { return };
            let typing =
                if typing { Typing::Yes(TypingInfo::new(TYPING_LASTS)) } else { Typing::No };
            let request = TypingRequest::new(me.to_owned(), room, typing);
            let sending = self.client.send(request).with_request_config(self.sending().once());
            match tokio::time::timeout(TYPING_WAITS, sending.into_future()).await {
                Ok(Ok(_)) | Err(_) => {}
                Ok(Err(error)) => {
                    tracing::debug!(error = with_causes(&error), "typing could not be shown")
                }
            }
        })
    }
}

part! {
    /// What is sent: texts, files, questions.
    pub(crate) struct Sending of Bot;
}

impl Sending {
    /// Says a sentence in a room, once per key. It is a notice, so that two programs never talk each other
    /// into a loop.
    pub(crate) async fn say(
        &self,
        room: &Room,
        key: &str,
        markdown: &str,
    ) -> Result<(), SendError> {
        let kind = Written::from_markdown(markdown).notice(self.previews_in(room).await?);
        let content = messages::plain(kind);
        let transaction = self.transaction_in(room.room_id(), key);
        self.send(room, transaction, content).await?;
        Ok(())
    }

    /// Whether what stands in a message there is fetched before anybody asked for it.
    async fn previews_in(&self, room: &Room) -> Result<Previews, SendError> {
        let sealed = self.bot.encryption().seals(room).await?;
        Ok(if sealed { Previews::Never } else { Previews::Unasked })
    }

    /// The room of a conversation, if what is for its person may be said there.
    async fn room_of(&self, to: &Recipient) -> Result<Room, SendError> {
        let Some(id) = &to.conversation.external_id else {
            return Err(SendError::Unreachable("the room is not made yet".to_owned()));
        };
        let room = self.room_to_write(id).await?;
        match to.conversation.kind {
            ConversationKind::Shared => {}
            ConversationKind::Room | ConversationKind::Lobby => {
                let not_private = self.bot.privacy().not_private(&room, &to.conversation).await;
                let not_private =
                    not_private.map_err(|error| SendError::Unreachable(error.to_string()))?;
                if let Some(why) = not_private {
                    return Err(SendError::Gone(why.mark().to_owned()));
                }
            }
        }
        Ok(room)
    }

    async fn post_message(
        &self,
        room: &Room,
        to: &Recipient,
        (key, what): (&str, &str),
        kind: MessageType,
    ) -> Result<matrix_sdk::ruma::OwnedEventId, SendError> {
        let transaction = self.transaction(to, Act::Post, key, what);
        self.send(room, transaction, messages::message(to, kind)).await
    }
}
