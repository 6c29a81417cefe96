//! What the control plane keeps for connectors, as they see it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AgentId, ChatId, UserId, WorkspaceId};

/// A number that the control plane gave; it is one of its own rows.
macro_rules! row_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(i64);

        impl $name {
            pub const fn from_number(number: i64) -> Self {
                Self(number)
            }

            pub const fn number(self) -> i64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

row_id!(
    /// A bot account of ours on a surface.
    ConnectorId
);
row_id!(
    /// A room, channel, thread or direct conversation that shows a chat.
    ConversationId
);

/// A bot account of ours on a surface, and how far it has read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Connector {
    pub id: ConnectorId,
    pub surface: String,
    /// Its id on the surface.
    pub account: String,
    /// Where the surface's server is.
    pub address: String,
    /// The surface's own settings.
    pub settings: serde_json::Value,
    /// How far it has read.
    pub position: Option<String>,
    pub added_by: String,
    pub created_at: i64,
}

/// What a conversation is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConversationKind {
    /// Made for its chat.
    Room,
    /// Where a person found the agent; shows one of their chats at a time, the first to begin with.
    Lobby,
    /// A community's: others read along.
    Shared,
}

impl ConversationKind {
    pub const ALL: [Self; 3] = [Self::Room, Self::Lobby, Self::Shared];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Room => "room",
            Self::Lobby => "lobby",
            Self::Shared => "shared",
        }
    }
}

/// Which room, channel, thread or direct conversation shows which chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conversation {
    pub id: ConversationId,
    pub connector: ConnectorId,
    /// None: wanted, and not made yet.
    pub external_id: Option<String>,
    pub workspace: WorkspaceId,
    pub chat: ChatId,
    pub kind: ConversationKind,
    /// Whom it was made for.
    pub user: Option<UserId>,
    /// The title that the surface shows now.
    pub shown_title: Option<String>,
    pub shown_archived: bool,
    /// Why nothing can be sent there any more.
    pub broken: Option<String>,
}

/// A conversation that is to be put in place.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NewConversation {
    pub connector: ConnectorId,
    /// None: it is to be made.
    pub external_id: Option<String>,
    pub chat: (WorkspaceId, ChatId),
    pub kind: ConversationKind,
    pub user: Option<UserId>,
}

/// A conversation whose chat is not shown as it is: to be made, renamed or put away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToMend {
    pub conversation: Conversation,
    pub title: String,
    pub archived: bool,
}

/// A chat, as its conversations show it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Chat {
    pub id: ChatId,
    pub title: String,
    pub archived: bool,
    pub created_at: i64,
    /// Which agent of its workspace answers in it.
    #[serde(default, skip_serializing_if = "AgentId::is_first")]
    pub agent: AgentId,
}

/// Why an event could not be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhyWaiting {
    /// The key that it is encrypted with has not come.
    NoKey,
    /// Too much waits for an answer already, or for its turn.
    Busy,
    /// Its file is to be fetched.
    NoFile,
}

impl WhyWaiting {
    pub const ALL: [Self; 3] = [Self::NoKey, Self::Busy, Self::NoFile];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoKey => "key",
            Self::Busy => "busy",
            Self::NoFile => "file",
        }
    }
}

/// An event that could not be taken yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingEvent {
    pub id: i64,
    /// The surface's own id of the room.
    pub place: String,
    /// The surface's own id of the event.
    pub event: String,
    pub why: WhyWaiting,
    /// The event as it came, if it is encrypted.
    pub sealed: Option<String>,
    /// In Unix milliseconds.
    pub since: i64,
    /// Whether the person knows.
    pub told: bool,
}
