//! Who speaks where, and what became of what was said.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rows::{Conversation, ConversationId};
use crate::{Attachment, ChatId, Language, MessageId, TurnId, UserId, UserName, WorkspaceId};

/// Where something was said, as the surface knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Heard {
    /// Between one person and the agent alone.
    Direct(String),
    /// Where others read along, or may.
    Shared(String),
    /// In a topic or thread where others read along: a chat of its own in the context that it is in.
    Thread { of: String, id: String, title: String },
    /// In a topic of a conversation between one person and the agent alone: a chat of its own.
    OwnThread { of: String, id: String, title: String },
}

/// Who speaks in a conversation of a connector, and which chat it shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Speaker {
    pub user: UserId,
    pub name: UserName,
    pub workspace: WorkspaceId,
    pub chat: ChatId,
    pub conversation: Conversation,
    /// In which they are spoken to.
    #[serde(default)]
    pub language: Language,
}

/// What a connector is to do with something it heard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Located {
    To(Box<Speaker>),
    /// The account is nobody's; what to say to it, unless it was told.
    Stranger {
        tell: Option<String>,
    },
    /// The person is known, and may not speak there; what to say, unless it was said lately.
    NotHere {
        tell: Option<String>,
    },
}

/// A person as a connector knows them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Person {
    pub user: UserId,
    pub name: UserName,
    pub workspace: WorkspaceId,
}

/// What an operator connected a conversation to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextAt {
    pub workspace: WorkspaceId,
    pub chat: Option<ChatId>,
    /// In Unix milliseconds.
    pub created_at: i64,
}

/// The conversation that a message came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeardIn {
    pub conversation: ConversationId,
    /// What the surface wants to know again when it answers; its own business.
    pub origin: Option<String>,
}

/// A message as a surface heard it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Incoming {
    /// The surface's own id of it; the same id again is the same message.
    pub id: MessageId,
    /// Whose account said it, as the surface vouches for.
    pub speaker: Speaker,
    pub text: String,
    pub attachments: Vec<Attachment>,
    /// What the surface wants to know again when it answers; its own business.
    pub origin: Option<String>,
}

/// A message that is stored.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    pub turn: TurnId,
    pub duplicate: bool,
}

/// What was stored of a message.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Stored {
    pub id: i64,
    /// Who said it and what; none: it was no message.
    pub said: Option<(String, String)>,
    pub answered: bool,
    /// What the surface wanted to know again.
    pub origin: Option<String>,
}
