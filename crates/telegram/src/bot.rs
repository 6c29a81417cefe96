//! One connected bot: what every part of this surface works with.

use cloister_kit::Plane;
use cloister_protocol::surface::options::TelegramOptions;
use cloister_protocol::surface::{Connector, ConnectorId};
use ref_cast::RefCast;
use serde::{Deserialize, Serialize};

use crate::incoming::{Buttons, Intake, IntakeState, Members, Sayings, SayingsState, Speakers};
use crate::outgoing::{Sending, SendingState};
use crate::session::{Api, Me};
use crate::topics::{Topics, TopicsState};
use crate::updates::{Hook, Webhook};

/// What is kept about a bot besides its address; none of it is secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct BotSettings {
    /// Telegram's number of the bot.
    pub(crate) bot_id: u64,
    /// The user whom it serves alone; none: everybody who is known.
    pub(crate) owner: Option<String>,
    /// The public address that Telegram sends updates to; none: they are asked for.
    pub(crate) webhook: Option<String>,
}

/// A bot whose token works.
pub struct Bot {
    pub(crate) plane: Plane,
    /// As it was when the bot was connected; its position is in the database.
    pub(crate) connector: Connector,
    pub(crate) settings: BotSettings,
    pub(crate) options: TelegramOptions,
    pub(crate) api: Api,
    /// Who the bot is, as `getMe` said when it was connected.
    pub(crate) me: Me,
    pub(crate) intake: IntakeState,
    pub(crate) sayings: SayingsState,
    pub(crate) sending: SendingState,
    pub(crate) topics: TopicsState,
    /// What proves that a delivery is Telegram's, where it delivers.
    pub(crate) hook: Hook,
}

impl Bot {
    pub(crate) const fn id(&self) -> ConnectorId {
        self.connector.id
    }

    /// Whether it talks to Telegram's own server, whose limits for files are small.
    pub(crate) fn is_public_server(&self) -> bool {
        self.connector.address.trim_end_matches('/') == crate::session::api::TELEGRAM
    }
}

/// The parts, each by its handle.
impl Bot {
    pub(crate) fn intake(&self) -> &Intake {
        Intake::ref_cast(self)
    }

    pub(crate) fn speakers(&self) -> &Speakers {
        Speakers::ref_cast(self)
    }

    pub(crate) fn buttons(&self) -> &Buttons {
        Buttons::ref_cast(self)
    }

    pub(crate) fn members(&self) -> &Members {
        Members::ref_cast(self)
    }

    pub(crate) fn sayings(&self) -> &Sayings {
        Sayings::ref_cast(self)
    }

    pub(crate) fn sending(&self) -> &Sending {
        Sending::ref_cast(self)
    }

    pub(crate) fn topics(&self) -> &Topics {
        Topics::ref_cast(self)
    }

    pub(crate) fn webhook(&self) -> &Webhook {
        Webhook::ref_cast(self)
    }
}

/// The chat and the topic of a conversation's external id, `CHAT` or `CHAT/THREAD`.
pub(crate) fn chat_and_thread(conversation: &str) -> Option<(i64, Option<i32>)> {
    match conversation.split_once('/') {
        Some((chat, thread)) => Some((chat.parse().ok()?, Some(thread.parse().ok()?))),
        None => Some((conversation.parse().ok()?, None)),
    }
}

/// The external id of a conversation.
pub(crate) fn conversation_id(chat: i64, thread: Option<i32>) -> String {
    match thread {
        Some(thread) => format!("{chat}/{thread}"),
        None => chat.to_string(),
    }
}

#[cfg(test)]
#[path = "bot_tests.rs"]
mod tests;
