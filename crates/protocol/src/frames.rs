//! The frames of the public agent socket: what a client and an agent say to each other.
//!
//! One JSON object per text frame. Unknown fields are ignored; an unknown type is answered with an
//! `error` frame and changes nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errors::ErrorCode;
use crate::ids::{ApprovalId, ChatId, MessageId, TaskId, TurnId};

/// The largest frame either side may send.
pub const MAX_FRAME_BYTES: usize = 1 << 20;
/// The longest message text a person may send in one piece.
pub const MAX_TEXT_BYTES: usize = 256 << 10;
/// How many files one message may carry.
pub const MAX_ATTACHMENTS: usize = 32;

/// What a client says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ClientFrame {
    Message(Message),
    Cancel(Cancel),
    Approval(ApprovalAnswer),
}

/// A message of a person. The same `id` again is the same message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    pub id: MessageId,
    /// Must be the chat of the socket when given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<ChatId>,
    #[serde(default)]
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// The turn of an earlier message of the same person in this chat: this one takes its place, and that of all that
    /// came after it. Nothing of that is gone, but the agent is not shown it any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<TurnId>,
    /// Who wrote it, as the control plane knows; what a client puts here is ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// A file that came with a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attachment {
    /// Relative to the workspace, as the upload answered.
    pub path: String,
    pub name: String,
    pub mime: String,
    #[serde(default)]
    pub size: u64,
}

/// Stop a turn, one task, or (with neither) every task of the chat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cancel {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalAnswer {
    pub id: ApprovalId,
    pub answer: Answer,
    /// Of what was seen, as `ask` had it: an answer to something else counts for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// This once.
    #[serde(alias = "allow_once")]
    Allow,
    /// The same again is not asked in this task.
    AllowForTask,
    /// Nothing of this template is asked again, until revoked.
    AllowAlways,
    Deny,
    DenyAndStop,
}

impl Answer {
    pub const ALL: [Self; 5] =
        [Self::Allow, Self::AllowForTask, Self::AllowAlways, Self::Deny, Self::DenyAndStop];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::AllowForTask => "allow_for_task",
            Self::AllowAlways => "allow_always",
            Self::Deny => "deny",
            Self::DenyAndStop => "deny_and_stop",
        }
    }

    /// What it does, as an offer.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Allow => "allow once",
            Self::AllowForTask => "allow for this task",
            Self::AllowAlways => "always in this chat",
            Self::Deny => "deny",
            Self::DenyAndStop => "deny and stop the task",
        }
    }

    /// What somebody did by it.
    pub const fn deed(self) -> &'static str {
        match self {
            Self::Allow => "allowed it once",
            Self::AllowForTask => "allowed it for this task",
            Self::AllowAlways => "allowed it always in this chat",
            Self::Deny => "denied it",
            Self::DenyAndStop => "denied it and stopped the task",
        }
    }

    /// Whether it may be given where these are offered. Once is less than any longer leave.
    pub fn is_among(self, offered: &[Self]) -> bool {
        offered.contains(&self)
            || (self == Self::Allow && offered.iter().any(|offer| offer.is_allowing()))
    }

    /// What a plain yes means where these are offered: to allow it as is expected there.
    pub fn plainly(self, offered: &[Self]) -> Self {
        if self != Self::Allow || offered.contains(&Self::Allow) {
            return self;
        }
        offered.iter().copied().find(|offer| offer.is_allowing()).unwrap_or(self)
    }

    pub const fn is_allowing(self) -> bool {
        match self {
            Self::Allow | Self::AllowForTask | Self::AllowAlways => true,
            Self::Deny | Self::DenyAndStop => false,
        }
    }
}

/// What the agent says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentFrame {
    /// The message is stored; it will be answered.
    Accepted {
        id: MessageId,
        turn: TurnId,
    },
    TextChunk(TextChunk),
    ToolCall(ToolCall),
    ToolResult(ToolResult),
    Update(Update),
    Ask(Ask),
    SendFile(SendFile),
    End(End),
    Error(ErrorFrame),
}

/// A piece of an answer. An answer is its chunks in order of `seq`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TextChunk {
    pub turn: TurnId,
    pub seq: u32,
    pub text: String,
}

/// The model asked for a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The call's id, as the model gave it.
    pub id: String,
    pub name: String,
    pub arguments: serde_json::Value,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolResult {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    pub id: String,
    pub ok: bool,
    pub output: String,
}

/// Something changed that a person may want to see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Update {
    /// The turn starts its text anew (after a crash or a model falling over): forget its chunks and thoughts.
    Restart { turn: TurnId },
    /// What the model of a turn is at while there is nothing to read of its answer. Told where it takes time, and again
    /// every few seconds.
    Model {
        turn: TurnId,
        doing: ModelDoing,
        /// How often the same has been asked by now, of whichever model; 1 is the first time.
        attempt: u32,
        /// More of what it thinks, behind what was told of that before.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        thought: String,
    },
    /// A task changed its state, or the person was told of its end.
    Task {
        task: TaskId,
        title: String,
        state: TaskState,
        note: String,
        /// The task that handed it on, if one did: that one's report tells of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<TaskId>,
        /// A turn has told the person how it ended.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        told: bool,
    },
    /// A sentence about work in progress.
    Progress {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        text: String,
        /// In place of the sentence: what the model of the task is at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        doing: Option<ModelDoing>,
        /// How often it has been asked the same by now, where that is more than once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<u32>,
    },
    /// What a command that runs in a step of a task has printed last, in place of what was told of it before. Told a few
    /// times a second at most; what came of the step tells the rest.
    Output {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        /// The id of its call.
        call: String,
        text: String,
    },
    /// Something the person should know: a budget nearly used up, a workspace over its quota.
    Notice { text: String },
    /// A task wanted to go where it may not.
    Blocked {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task: Option<TaskId>,
        host: String,
        /// Why, in words.
        reason: String,
        /// The command with which the owner allows it, where they can.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        allow: Option<String>,
    },
    /// The executor's todo list, whole.
    Todos { task: TaskId, todos: Vec<Todo> },
    /// Somebody answered a question, on whatever surface.
    Answered {
        approval: ApprovalId,
        /// Who answered.
        by: String,
        answer: Answer,
        /// How many different people must still answer; 0: it is settled.
        left: u8,
    },
}

/// What a model does before there are words of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelDoing {
    /// It has said nothing yet.
    Reads,
    Thinks,
    /// It writes what is no text for people: what it wants done.
    Writes,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Todo {
    pub text: String,
    pub state: TodoState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoState {
    Open,
    Doing,
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    Queued,
    Running,
    /// Needs an answer of the person, or waits for its sub-tasks.
    Waiting,
    Done,
    Failed,
    Cancelled,
}

impl TaskState {
    pub const fn is_final(self) -> bool {
        match self {
            Self::Queued | Self::Running | Self::Waiting => false,
            Self::Done | Self::Failed | Self::Cancelled => true,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        let all =
            [Self::Queued, Self::Running, Self::Waiting, Self::Done, Self::Failed, Self::Cancelled];
        all.into_iter().find(|state| state.as_str() == text)
    }
}

/// A question that only a person may answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ask {
    pub approval: ApprovalId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    pub title: String,
    /// What exactly will happen, from whom, and why; nothing in it is invisible.
    pub text: String,
    /// Of exactly this, to be sent back with the answer.
    #[serde(default)]
    pub digest: String,
    /// safe, middle, destructive or outward.
    #[serde(default)]
    pub class: String,
    /// Why it is asked.
    #[serde(default)]
    pub reason: String,
    /// The untrusted sources behind it, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// The answers that can be given, the expected one first.
    #[serde(default)]
    pub offered: Vec<Answer>,
    /// How many different people must allow it.
    #[serde(default = "one")]
    pub people: u8,
}

const fn one() -> u8 {
    1
}

/// A file for the person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SendFile {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Relative to the workspace.
    pub path: String,
    pub name: String,
    pub mime: String,
    #[serde(default)]
    pub size: u64,
    /// Where the control plane serves the file as it was when it was sent; set by the control plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// The turn is over. Sent once per turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct End {
    pub turn: TurnId,
    /// The message this turn answers, if a message started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// The whole answer, for a client that missed chunks.
    #[serde(default)]
    pub text: String,
    #[serde(default)]
    pub usage: Usage,
    /// Why the turn could not do what was asked, if so; `text` says it in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorCode>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.prompt_tokens = self.prompt_tokens.saturating_add(other.prompt_tokens);
        self.completion_tokens = self.completion_tokens.saturating_add(other.completion_tokens);
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorFrame {
    pub code: ErrorCode,
    pub message: String,
    /// The frame this answers, where it had an id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Seconds after which it is worth trying again, when that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_s: Option<u64>,
}
