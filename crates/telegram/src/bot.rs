//! One connected bot: what every part of this surface works with.

use cloister_kit::Plane;
use cloister_protocol::surface::{Connector, ConnectorId};
use serde::{Deserialize, Serialize};

use super::session::{Api, Me};
use super::{incoming, outgoing, topics, updates};
use cloister_protocol::surface::options::TelegramOptions;

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
    pub(crate) incoming: incoming::Memory,
    pub(crate) outgoing: outgoing::Memory,
    pub(crate) topics: topics::Memory,
    /// What proves that a delivery is Telegram's, where it delivers.
    pub(crate) hook: updates::Hook,
}

impl Bot {
    pub(crate) const fn id(&self) -> ConnectorId {
        self.connector.id
    }

    /// Whether it talks to Telegram's own server, whose limits for files are small.
    pub(crate) fn is_public_server(&self) -> bool {
        self.connector.address.trim_end_matches('/') == super::session::api::TELEGRAM
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
