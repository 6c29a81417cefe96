//! The frames of the link: the one WebSocket between an agent in its sandbox and the control plane.
//!
//! The coordinator's link carries triggers down and a turn's events up. The executor's link carries
//! one task down and its steps up. Whatever an agent does that outlives it is a `request` or a
//! `step`, and takes effect only after the control plane has answered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errors::ErrorBody;
use crate::frames::{
    Answer, Attachment, End, SendFile, TaskState, TextChunk, Todo, ToolCall, ToolResult, Update,
    Usage,
};
use crate::ids::{ChatId, MessageId, RequestId, TaskId, TurnId};
use crate::model::ModelFacts;
use crate::phrases::Phrases;

/// Where the door is inside every sandbox.
pub const DOOR_PATH: &str = "/run/cloister/door.sock";
/// Where a coordinator sees its workspace.
pub const WORKSPACE_PATH: &str = "/workspace";
/// Where an executor sees the files of its chat; `incoming/` is inside it.
pub const CHAT_PATH: &str = "/chat";

/// The port on a sandbox's own loopback where programs find the HTTP proxy; the agent passes what
/// comes there on to the door.
pub const PROXY_PORT: u16 = 3128;

/// Control plane to agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Downlink {
    // To a coordinator.
    /// What the chat of the next trigger began with, oldest first: it is a branch of another. To be in its journal
    /// before the trigger is; what is there already stays as it is.
    Began {
        chat: ChatId,
        turns: Vec<BegunTurn>,
    },
    /// Start a turn. Journal it, then answer `accepted`. The same id again is the same trigger.
    Trigger(Trigger),
    /// The `end` (or cleared mark) of this turn is stored; it need not be sent again.
    Stored {
        turn: TurnId,
    },
    CancelTurn {
        turn: TurnId,
    },
    /// End this turn where it stands: the same person has written again, and the turn of that goes on with it. Calls
    /// that are under way end first.
    YieldTurn {
        turn: TurnId,
    },

    // To an executor.
    Start(Start),
    /// The step is in the ledger: act on it.
    Journaled {
        seq: u32,
    },

    // To both.
    /// The answer to a `request`.
    Reply {
        id: RequestId,
        result: Reply,
    },
    /// Finish what is under way and exit.
    Stop,
}

/// A turn that ended in another chat, before this one began as a branch of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BegunTurn {
    /// In seconds since 1970.
    pub at: i64,
    pub cause: Cause,
    pub end: End,
}

/// What starts a turn of the coordinator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trigger {
    pub id: MessageId,
    pub chat: ChatId,
    pub cause: Cause,
    /// What the agent is told in this context beyond what it is always told.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// Of the model that will answer.
    #[serde(default, skip_serializing_if = "ModelFacts::is_empty")]
    pub model: ModelFacts,
    /// What changes from turn to turn: who wrote, when, what else is under way.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub now: String,
    /// What the agent itself says, in the language of the person.
    #[serde(default, skip_serializing_if = "Phrases::is_default")]
    pub phrases: Box<Phrases>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum Cause {
    /// A person wrote.
    Message {
        from: String,
        text: String,
        attachments: Vec<Attachment>,
        /// The turn that this takes the place of, with all that came after it: they are not what was said any more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instead: Option<TurnId>,
    },
    /// Tasks that one turn delegated have ended, each told once; tell the person. Others of it may go on.
    TasksEnded { reports: Vec<TaskReport> },
    /// Forget the conversation so far: the context of this chat starts empty. No model is called.
    Clear,
}

/// What became of a task, as the control plane's ledger shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskReport {
    pub task: TaskId,
    pub title: String,
    pub state: TaskState,
    /// What the executor said, or why it failed.
    pub result: String,
    /// What of the claim the ledger does not show.
    pub not_shown: Vec<String>,
}

/// The task of an executor, with what an earlier attempt already did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Start {
    pub task: TaskId,
    pub title: String,
    pub instructions: String,
    /// The person's own words that led to this task.
    pub request: String,
    pub files: Vec<Attachment>,
    /// A plan must be approved before anything is changed.
    pub plan_first: bool,
    /// May start sub-tasks.
    pub may_delegate: bool,
    pub max_steps: u32,
    /// The ledger so far, in order.
    pub ledger: Vec<Step>,
    /// What people have answered since, for the model to act on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Of the model that will do it.
    #[serde(default, skip_serializing_if = "ModelFacts::is_empty")]
    pub model: ModelFacts,
    /// What the executor is told of where it is: which hosts are allowed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Date, time and zone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub now: String,
    /// Tools that do not work here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
}

/// One entry of a task's ledger. A call without a result when an attempt starts has an unknown
/// outcome: it is told to the model as such and never run again by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// What the model answered: text and the calls it wants.
    Answer { text: String, calls: Vec<Call> },
    /// A call is about to run.
    Call { call: String },
    /// It ran, or was refused.
    Result { call: String, outcome: Outcome },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    pub id: String,
    pub name: String,
    /// JSON, as the model wrote it.
    pub arguments: String,
}

impl Call {
    /// What it was to do, as a person reads it: the command, the file or the address, where it names one.
    pub fn in_words(&self) -> String {
        const SAYS: [&str; 4] = ["command", "code", "path", "url"];
        let arguments: Option<serde_json::Value> = serde_json::from_str(&self.arguments).ok();
        let said = |key: &&str| arguments.as_ref()?.get(key)?.as_str().map(str::to_owned);
        SAYS.iter().find_map(said).unwrap_or_else(|| self.arguments.clone())
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    pub status: CallStatus,
    pub output: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    Ok,
    Failed,
    Refused,
    /// The attempt ended between the call and its result.
    Unknown,
}

/// Agent to control plane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Uplink {
    /// The first frame of every link.
    Hello {
        version: String,
    },

    // From a coordinator.
    /// The trigger is in the chat's journal.
    Accepted {
        id: MessageId,
    },
    TextChunk(TextChunk),
    ToolCall(ToolCall),
    ToolResult(ToolResult),
    Update(Update),
    /// The turn is over; sent again until `stored` comes back.
    End(End),

    // From an executor.
    Step {
        seq: u32,
        #[serde(flatten)]
        step: Step,
    },
    Todos {
        todos: Vec<Todo>,
    },
    Finish(Finish),

    // From both.
    Request(Request),
}

/// How an executor says that its task is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finish {
    pub ok: bool,
    /// What the executor says it did, or why it could not.
    pub result: String,
    /// Files and effects it claims, checked against the ledger.
    #[serde(default)]
    pub claims: Vec<Claim>,
    #[serde(default)]
    pub usage: Usage,
}

/// A single claim of a finished task, with the call that is said to show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    pub what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

/// Something only the control plane can do. The same id again gets the same answer and has no
/// second effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Request {
    pub id: RequestId,
    /// The chat it is for; an executor's is known from its door.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<ChatId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    pub ask: Asked,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Asked {
    /// Make a task. From an executor: a sub-task, answered when it has ended.
    Delegate {
        title: String,
        instructions: String,
        risky: bool,
        /// Where the task may go, when that is less than the user's allowlist.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hosts: Option<Vec<String>>,
        /// Which secrets it may use, when that is less than all of the user's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secrets: Option<Vec<String>>,
    },
    ListTasks,
    ShowTask {
        task: TaskId,
    },
    /// One task, or every open one of the chat.
    CancelTasks {
        task: Option<TaskId>,
    },
    /// Deliver a file of the workspace to the person.
    SendFile {
        path: String,
        name: Option<String>,
    },
    /// Put a plan to the person and wait for the answer.
    ProposePlan {
        plan: String,
    },
    /// Change something that outlives the task: the control plane decides, asks if need be, and
    /// writes it itself.
    Propose {
        what: Lasting,
        /// Below the workspace: `MEMORY.md`, `skills/NAME/SKILL.md`, `SOUL.md` …
        path: String,
        /// The file's whole new text.
        text: String,
        /// In the agent's words.
        why: String,
    },
}

/// What a proposal would change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lasting {
    Memory,
    Skill,
    Schedule,
    /// Who the agent is, and its settings.
    Config,
    Tool,
}

impl Lasting {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Skill => "a skill",
            Self::Schedule => "a schedule",
            Self::Config => "settings",
            Self::Tool => "a tool",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Reply {
    Delegated {
        task: TaskId,
        state: TaskState,
    },
    Tasks {
        tasks: Vec<TaskReport>,
    },
    Cancelled {
        tasks: Vec<TaskId>,
    },
    Sent {
        file: SendFile,
    },
    Answered {
        answer: Answer,
    },
    /// A proposal is written.
    Kept {
        path: String,
    },
    Refused {
        error: ErrorBody,
    },
}
