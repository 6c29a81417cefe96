//! What is said on surfaces: messages, buttons, files, and how each surface wants to be spoken to.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rows::{Conversation, ConversationKind};
use crate::admin::{ConnectorState, ReconcileReport};
use crate::{Answer, ApprovalId, Ask, Language};

/// The most buttons that a message has.
pub const MOST_BUTTONS: usize = 32;

/// Where something is to be said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recipient {
    pub conversation: Conversation,
    /// What the surface wanted to know again: the message it answers, a thread. Its own business.
    pub origin: Option<String>,
    /// In which what the connector says of its own is said there.
    #[serde(default)]
    pub language: Language,
}

/// Milliseconds on the wire.
mod millis {
    use super::Duration;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}

/// How a surface wants to be spoken to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Manners {
    /// The most of one message, as `measure` counts.
    pub longest: usize,
    pub measure: Measure,
    /// How long an indicator of typing lasts, in milliseconds.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub typing_lasts: Duration,
    /// The largest file that can be sent, in bytes.
    pub largest_file: u64,
    /// Whether the platform itself takes the same key for the same message. Where it does not, what was being
    /// posted when everything was killed is posted again, and says that it may be a repetition.
    pub remembers_keys: bool,
}

/// How the length of a text is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Bytes of UTF-8.
    Bytes,
    /// Characters.
    Chars,
    /// Units of UTF-16.
    Utf16,
    /// As it is shown: the surface is asked to split what may be too long.
    Asked,
}

/// How what is being written is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Streaming {
    /// As a message that is edited; at least so many milliseconds lie between two edits.
    Edits {
        #[serde(with = "millis")]
        #[schemars(with = "u64")]
        every: Duration,
    },
    /// As a draft, with at least so many milliseconds between two; then one message.
    Drafts {
        #[serde(with = "millis")]
        #[schemars(with = "u64")]
        every: Duration,
    },
    /// Not at all: the answer comes when it is whole.
    Off,
}

impl Streaming {
    /// The least time between two times that something is shown.
    pub const fn every(self) -> Option<Duration> {
        match self {
            Self::Edits { every } | Self::Drafts { every } => Some(every),
            Self::Off => None,
        }
    }
}

/// Something that can be pressed below a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Button {
    pub label: String,
    pub press: Press,
}

impl Button {
    pub fn command(label: impl Into<String>, command: impl Into<String>) -> Self {
        Self { label: label.into(), press: Press::Command(command.into()) }
    }
}

/// What pressing a button does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Press {
    Answer {
        approval: ApprovalId,
        answer: Answer,
    },
    /// A command as it would be typed.
    Command(String),
}

/// Whether the message that a button is below is still there to be read, as the surface vouches for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Below {
    Shown,
    /// Deleted, or kept from us: nobody can tell what it shows.
    Gone,
}

/// What a press did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ButtonDone {
    /// The question was answered, and stands so now.
    Answered { state: ApprovalState },
    /// It was handed over as that person's message, once; its answer is told like any other.
    Command { text: String },
}

/// How a question stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    Pending,
    Allowed,
    Denied,
    /// The task ended before anyone answered.
    Void,
}

impl ApprovalState {
    pub const ALL: [Self; 4] = [Self::Pending, Self::Allowed, Self::Denied, Self::Void];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Void => "void",
        }
    }
}

/// What somebody may choose from while they type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceKind {
    /// Those that can be shown where somebody types.
    Chats,
    /// Those that can be put away or taken out again from there.
    ToArchive,
    Tasks,
    Approvals,
}

/// One thing to choose: what is typed for it, and what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    pub value: String,
    pub label: String,
}

/// A command as a surface may offer it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MenuItem {
    /// As it is typed after the sign: small letters, digits and `_`.
    pub name: String,
    pub usage: String,
    pub help: String,
}

/// A file that is to be sent; its bytes are asked for under its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileToSend {
    pub file: u64,
    pub name: String,
    pub mime: String,
    pub size: u64,
}

/// One message, as the surface is to render it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Posting {
    /// An answer or a part of it; `unfinished`: it is still being written.
    Answer {
        markdown: String,
        unfinished: bool,
        /// What can be pressed below it; a surface without buttons leaves them out.
        buttons: Vec<Button>,
    },
    /// Something the person should know that answers nothing: a notice, a task's state.
    Notice {
        markdown: String,
        buttons: Vec<Button>,
    },
    /// A question; `settled`: how it was answered, and by whom.
    Question {
        ask: Ask,
        settled: Option<(Answer, String)>,
    },
    File(FileToSend),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SendError {
    /// Too fast; after so many milliseconds it may be tried again.
    #[error("the surface asks to wait {} ms", .0.as_millis())]
    Wait(
        #[serde(with = "millis")]
        #[schemars(with = "u64")]
        Duration,
    ),
    /// It may work later. Whether it got there is not known.
    #[error("the surface could not be reached: {0}")]
    Unreachable(String),
    /// The conversation is gone: left, blocked, deleted.
    #[error("nothing can be sent there: {0}")]
    Gone(String),
    /// This will never be taken.
    #[error("the surface refuses it: {0}")]
    Refused(String),
}

/// How a connector is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    pub state: ConnectorState,
    pub problem: Option<String>,
    /// When the server last answered, in Unix milliseconds.
    pub last_heard_at: Option<i64>,
    pub reconciled: Option<ReconcileReport>,
}

/// What became of a delivery by the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebhookAnswer {
    /// It is stored; it need not be sent again.
    Taken,
    /// Nothing takes deliveries under this name.
    NotFound,
    /// The proof is not right.
    Forbidden,
    /// It was not stored; it is to be sent again.
    TryAgain,
}

/// How answers are shown while they are written, by what a conversation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamingBy {
    /// Where one person and the agent are alone.
    pub own: Streaming,
    /// Where others read along.
    pub shared: Streaming,
}

impl StreamingBy {
    pub const fn of(&self, kind: ConversationKind) -> Streaming {
        match kind {
            ConversationKind::Room | ConversationKind::Lobby => self.own,
            ConversationKind::Shared => self.shared,
        }
    }
}
