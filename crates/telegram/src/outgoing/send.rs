//! Sending one thing: in the right place, not too fast, within a bounded time, with what went wrong in the words
//! that control acts on.

use std::future::Future;
use std::time::Duration;

use cloister_kit::PlaneError;
use cloister_protocol::surface::{ConversationKind, Recipient, SendError};
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::time::Instant;

use super::pace::What;
use super::silence::silent;
use super::text::Text;
use super::{Sending, locked};
use crate::bot::{chat_and_thread, conversation_id};
use crate::session::Fault;
use crate::session::methods::{EditMessageText, Keyboard, LinkPreview, Reply, SendMessage};

/// Why a conversation is broken whose topic was deleted: it can be made anew.
pub(crate) const TOPIC_LOST: &str = "the topic was deleted";

/// Why a conversation is broken whose topic was closed: it may be opened again.
pub(crate) const TOPIC_CLOSED: &str = "the topic is closed";

/// A shorter wait is waited for here.
const PATIENCE: Duration = Duration::from_millis(1500);
/// How long a server that takes no connection is left alone.
const NO_CONNECTION: Duration = Duration::from_secs(2);
/// How soon something is tried again in the chat that a group has become.
const MOVED: Duration = Duration::from_millis(200);

/// A chat, and the topic in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct MessagePlace {
    pub(super) chat: i64,
    pub(super) thread: Option<i32>,
}

impl MessagePlace {
    pub(super) fn parse(conversation: &str) -> Result<Self, SendError> {
        match chat_and_thread(conversation) {
            Some((chat, thread)) => Ok(Self { chat, thread }),
            None => Err(SendError::Gone(format!("{conversation} is no chat of Telegram"))),
        }
    }

    /// Where something is to be said, if what is for its person alone may be said there.
    pub(super) fn of(to: &Recipient) -> Result<Self, SendError> {
        let Some(id) = &to.conversation.external_id else {
            return Err(SendError::Unreachable("the topic is not made yet".to_owned()));
        };
        let place = Self::parse(id)?;
        match to.conversation.kind {
            ConversationKind::Shared => Ok(place),
            // Groups have ids below zero, and others read along there.
            ConversationKind::Room | ConversationKind::Lobby if place.chat > 0 => Ok(place),
            ConversationKind::Room | ConversationKind::Lobby => {
                Err(SendError::Gone("it is a group, and not its person's own chat".to_owned()))
            }
        }
    }
}

impl MessagePlace {
    /// The text as it is said there. In a group no name in it rings, whether its marks are taken or not.
    fn says(self, text: &Text, marks: Marks) -> String {
        match marks {
            _ if self.chat > 0 => text.text.clone(),
            Marks::With => silent(&text.text, &text.code(), &text.edges()),
            Marks::Without => silent(&text.text, &[], &[]),
        }
    }
}

#[derive(Clone, Copy)]
enum Marks {
    With,
    Without,
}

/// What a message has besides its text.
#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    pub(super) reply_to: Option<i32>,
    pub(super) keyboard: Option<Keyboard>,
}

impl Said {
    /// A question that was deleted in the meantime is answered all the same.
    pub(super) fn reply(&self) -> Option<Reply> {
        let message_id = self.reply_to?;
        Some(Reply { message_id, allow_sending_without_reply: true })
    }
}

/// Of a message that was sent, only the number is read: nothing else in the answer can make one that is there look
/// as if it were not.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Posted {
    pub(super) message_id: i32,
}

/// Nothing in a text is fetched by itself: an address can hold whatever its writer knew.
const NO_PREVIEW: LinkPreview = LinkPreview { is_disabled: true };

/// Whether it is the marks that are not taken: the same text goes without them.
pub(super) fn refuses_marks(fault: &Fault) -> bool {
    match fault {
        Fault::CantParse(_) => true,
        Fault::Refused { code: 400, description } => {
            let said = description.to_lowercase();
            ["entit", "url", "link"].iter().any(|word| said.contains(word))
        }
        Fault::Refused { .. }
        | Fault::Wait(_)
        | Fault::Unreachable(_)
        | Fault::Migrated(_)
        | Fault::NotModified
        | Fault::ThreadGone
        | Fault::Gone(_)
        | Fault::Unauthorized
        | Fault::Conflict => false,
    }
}

impl Sending {
    /// Posts one message, and says which it is.
    pub(super) async fn post_text(
        &self,
        place: MessagePlace,
        (text, said): (&Text, Said),
        what: What,
    ) -> Result<i32, SendError> {
        let api = &self.bot.api;
        let mut message = SendMessage {
            chat_id: place.chat,
            message_thread_id: place.thread,
            text: place.says(text, Marks::With),
            entities: text.entities(),
            link_preview_options: NO_PREVIEW,
            reply_parameters: said.reply(),
            reply_markup: said.keyboard,
        };
        let mut sent: Result<Posted, Fault> = self.paced(place, what, api.call(&message)).await;
        if let Err(fault) = &sent
            && !message.entities.is_empty()
            && refuses_marks(fault)
        {
            tracing::warn!(bot = self.bot.connector.account, %fault, "a text is sent without its marks");
            message.text = place.says(text, Marks::Without);
            message.entities.clear();
            sent = self.paced(place, what, api.call(&message)).await;
        }
        match sent {
            Ok(message) => Ok(message.message_id),
            Err(fault) => Err(self.not_sent(place, fault).await),
        }
    }

    /// Puts a text in the place of what a message said; without a keyboard, the message loses its own.
    pub(super) async fn edit_text(
        &self,
        place: MessagePlace,
        message: i32,
        (text, keyboard): (&Text, Option<Keyboard>),
        what: What,
    ) -> Result<(), SendError> {
        let api = &self.bot.api;
        let mut edit = EditMessageText {
            chat_id: place.chat,
            message_id: message,
            text: place.says(text, Marks::With),
            entities: text.entities(),
            link_preview_options: NO_PREVIEW,
            reply_markup: keyboard,
        };
        let mut done: Result<IgnoredAny, Fault> = self.paced(place, what, api.call(&edit)).await;
        if let Err(fault) = &done
            && !edit.entities.is_empty()
            && refuses_marks(fault)
        {
            edit.text = place.says(text, Marks::Without);
            edit.entities.clear();
            done = self.paced(place, what, api.call(&edit)).await;
        }
        match done {
            Ok(_) | Err(Fault::NotModified) => Ok(()),
            Err(fault) => Err(self.not_sent(place, fault).await),
        }
    }

    /// Makes a request when its turn comes. A long wait is for others to wait.
    pub(super) async fn paced<T>(
        &self,
        place: MessagePlace,
        what: What,
        request: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        let began = self.turn(place.chat, what).await?;
        let answer = request.await;
        let now = Instant::now();
        let mut pace = locked(&self.bot.sending.pace);
        pace.answered(began, now, place.chat, what);
        if let Err(Fault::Wait(wait)) = &answer {
            pace.hold(now, place.chat, *wait);
        }
        drop(pace);
        answer
    }

    /// Waits for a turn, if it comes soon; when it came.
    async fn turn(&self, chat: i64, what: What) -> Result<Instant, Fault> {
        let until = Instant::now() + PATIENCE;
        loop {
            let now = Instant::now();
            let Err(wait) = locked(&self.bot.sending.pace).take(now, chat, what) else {
                return Ok(now);
            };
            // What is shown of an answer, or that one is being written, is out of date by then.
            if what != What::Message || now + wait > until {
                return Err(Fault::Wait(wait));
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// What a fault means to who wants to send.
    pub(super) async fn not_sent(&self, place: MessagePlace, fault: Fault) -> SendError {
        if let Fault::Migrated(to) = fault {
            return match self.followed(place, to).await {
                Ok(true) => SendError::Wait(MOVED),
                Ok(false) => {
                    SendError::Gone(format!("the group is {to} now, which is another one here"))
                }
                Err(error) => SendError::Unreachable(error.to_string()),
            };
        }
        meaning(fault)
    }

    /// Lets what is known of a group follow it to its new number; whether this conversation did.
    async fn followed(&self, place: MessagePlace, to: i64) -> Result<bool, PlaneError> {
        self.bot.members().group_moved(place.chat, to).await?;
        let at = |chat| conversation_id(chat, place.thread);
        self.bot.members().has_moved(&at(place.chat), &at(to)).await
    }
}

pub(super) fn meaning(fault: Fault) -> SendError {
    match fault {
        Fault::Wait(wait) => SendError::Wait(wait),
        // It certainly did not get there.
        Fault::Unreachable(why) if why.starts_with("no connection") => {
            tracing::debug!(why, "Telegram could not be reached");
            SendError::Wait(NO_CONNECTION)
        }
        Fault::Unreachable(why) => SendError::Unreachable(why),
        Fault::ThreadGone => SendError::Gone(TOPIC_LOST.to_owned()),
        Fault::Gone(why) => SendError::Gone(why),
        // What is to be told waits until somebody writes there again.
        Fault::Refused { description, .. }
            if description.to_lowercase().contains("topic_closed") =>
        {
            SendError::Gone(TOPIC_CLOSED.to_owned())
        }
        // Others act on these; what is to be told waits.
        Fault::Unauthorized | Fault::Conflict | Fault::Migrated(_) => {
            SendError::Unreachable(fault.to_string())
        }
        Fault::CantParse(_) | Fault::NotModified | Fault::Refused { .. } => {
            SendError::Refused(fault.to_string())
        }
    }
}

#[cfg(test)]
#[path = "send_tests.rs"]
pub(super) mod tests;
