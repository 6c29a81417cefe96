//! Every request that a cell can make, as one table: who may make it, what it names, how far that may be from
//! the asker, and which action of the policies it needs. Table.
//!
//! Promises: a frame, a request or a route without a row does not compile, or is not there. What a request
//! names is looked up in the control plane's own records; a row says how far away it may lie, and what lies
//! further is not there for the asker.

use cloister_protocol::Update;
use cloister_protocol::link::{Asked, Uplink};

use crate::engine::CellCall;

/// Which part of a cell asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Asker {
    Coordinator,
    Executor,
}

impl Asker {
    pub const ALL: [Self; 2] = [Self::Coordinator, Self::Executor];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Coordinator => "coordinator",
            Self::Executor => "executor",
        }
    }
}

/// How far what is named lies from who names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Distance {
    /// The turn or task that it works on, and the chat that it works in.
    OwnChat,
    /// Another chat of the same agent and context: the same people read it.
    OtherChat,
    /// A chat of another agent, in the same context.
    OtherAgent,
    OtherContext,
    OtherWorkspace,
}

impl Distance {
    pub const ALL: [Self; 5] = [
        Self::OwnChat,
        Self::OtherChat,
        Self::OtherAgent,
        Self::OtherContext,
        Self::OtherWorkspace,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OwnChat => "own chat",
            Self::OtherChat => "other chat",
            Self::OtherAgent => "other agent",
            Self::OtherContext => "other context",
            Self::OtherWorkspace => "other workspace",
        }
    }
}

/// How far a request reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// It is not for this part of a cell: nothing comes of it.
    Nothing,
    /// It names nothing: it is about whoever is behind the door.
    Itself,
    Chat,
    Context,
}

impl Reach {
    pub fn covers(self, distance: Distance) -> bool {
        match self {
            Self::Nothing => false,
            Self::Itself | Self::Chat => distance == Distance::OwnChat,
            Self::Context => distance <= Distance::OtherChat,
        }
    }
}

/// What a request names that is not the asker's own by construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Names {
    Nothing,
    /// The message that a turn answers.
    Message,
    Turn,
    /// A turn, and a task.
    Task,
    /// A turn, and a file.
    Path,
}

/// What lets it pass besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Needs {
    Nothing,
    /// An action of the policies, asked for by this request and where the named thing is.
    Action(CellCall),
    /// The gate decides, on what exactly it says.
    Gate,
}

/// Everything that a cell can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CellRequest {
    Hello,
    Accepted,
    TextChunk,
    ToolCall,
    ToolResult,
    Restart,
    Model,
    Progress,
    /// What only the control plane says.
    Tell,
    End,
    Step,
    Todos,
    Finish,
    Delegate,
    ListTasks,
    ShowTask,
    CancelTask,
    CancelTasks,
    SendFile,
    ProposePlan,
    Propose,
    OpenLink,
    ListModels,
    CallModel,
    Fetch,
    Search,
    Proxy,
    ReadAuthority,
    ReadRefusals,
    ListSecrets,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub coordinator: Reach,
    pub executor: Reach,
    pub names: Names,
    pub needs: Needs,
}

impl Row {
    pub const fn reach(&self, asker: Asker) -> Reach {
        match asker {
            Asker::Coordinator => self.coordinator,
            Asker::Executor => self.executor,
        }
    }
}

impl CellRequest {
    pub const ALL: [Self; 30] = [
        Self::Hello,
        Self::Accepted,
        Self::TextChunk,
        Self::ToolCall,
        Self::ToolResult,
        Self::Restart,
        Self::Model,
        Self::Progress,
        Self::Tell,
        Self::End,
        Self::Step,
        Self::Todos,
        Self::Finish,
        Self::Delegate,
        Self::ListTasks,
        Self::ShowTask,
        Self::CancelTask,
        Self::CancelTasks,
        Self::SendFile,
        Self::ProposePlan,
        Self::Propose,
        Self::OpenLink,
        Self::ListModels,
        Self::CallModel,
        Self::Fetch,
        Self::Search,
        Self::Proxy,
        Self::ReadAuthority,
        Self::ReadRefusals,
        Self::ListSecrets,
    ];

    /// The row of a frame of the link.
    pub const fn of_frame(frame: &Uplink) -> Self {
        match frame {
            Uplink::Hello { .. } => Self::Hello,
            Uplink::Accepted { .. } => Self::Accepted,
            Uplink::TextChunk(_) => Self::TextChunk,
            Uplink::ToolCall(_) => Self::ToolCall,
            Uplink::ToolResult(_) => Self::ToolResult,
            Uplink::Update(Update::Restart { .. }) => Self::Restart,
            Uplink::Update(Update::Model { .. }) => Self::Model,
            Uplink::Update(Update::Progress { .. } | Update::Output { .. }) => Self::Progress,
            Uplink::Update(
                Update::Task { .. }
                | Update::Notice { .. }
                | Update::Blocked { .. }
                | Update::Todos { .. }
                | Update::Answered { .. },
            ) => Self::Tell,
            Uplink::End(_) => Self::End,
            Uplink::Step { .. } => Self::Step,
            Uplink::Todos { .. } => Self::Todos,
            Uplink::Finish(_) => Self::Finish,
            Uplink::Request(request) => Self::of_asked(&request.ask),
        }
    }

    pub const fn of_asked(asked: &Asked) -> Self {
        match asked {
            Asked::Delegate { .. } => Self::Delegate,
            Asked::ListTasks => Self::ListTasks,
            Asked::ShowTask { .. } => Self::ShowTask,
            Asked::CancelTasks { task: Some(_) } => Self::CancelTask,
            Asked::CancelTasks { task: None } => Self::CancelTasks,
            Asked::SendFile { .. } => Self::SendFile,
            Asked::ProposePlan { .. } => Self::ProposePlan,
            Asked::Propose { .. } => Self::Propose,
        }
    }

    /// The row of a path at the door; a path without one is not there.
    pub fn of_route(path: &str) -> Option<Self> {
        match path {
            "/link" => Some(Self::OpenLink),
            "/v1/models" => Some(Self::ListModels),
            "/v1/chat/completions" => Some(Self::CallModel),
            "/fetch" => Some(Self::Fetch),
            "/search" => Some(Self::Search),
            "/ca.pem" => Some(Self::ReadAuthority),
            "/egress/refusals" => Some(Self::ReadRefusals),
            "/secrets" => Some(Self::ListSecrets),
            _ => None,
        }
    }

    /// Whether it would change something: nothing for a task whose plan nobody has approved yet.
    pub const fn changes(self) -> bool {
        matches!(self, Self::Delegate | Self::SendFile | Self::Propose)
    }

    pub const fn row(self) -> Row {
        use Reach::{Chat, Context, Itself, Nothing};
        match self {
            Self::Hello => row(Itself, Itself, Names::Nothing, Needs::Nothing),
            Self::Accepted => row(Chat, Nothing, Names::Message, Needs::Nothing),
            Self::TextChunk
            | Self::ToolCall
            | Self::ToolResult
            | Self::Restart
            | Self::Model
            | Self::End => row(Chat, Nothing, Names::Turn, Needs::Nothing),
            Self::Tell => row(Nothing, Nothing, Names::Nothing, Needs::Nothing),
            // What it says of a task is said of its own, whatever it names.
            Self::Progress | Self::Todos | Self::Finish => {
                row(Nothing, Itself, Names::Nothing, Needs::Nothing)
            }
            Self::Step => row(Nothing, Itself, Names::Nothing, Needs::Gate),
            Self::Delegate => row(Chat, Chat, Names::Turn, Needs::Action(CellCall::Delegate)),
            // For a turn of its own; what it is shown is its context's.
            Self::ListTasks => row(Chat, Nothing, Names::Turn, Needs::Action(CellCall::ListTasks)),
            Self::ShowTask => row(Context, Nothing, Names::Task, Needs::Action(CellCall::ShowTask)),
            Self::CancelTask => {
                row(Context, Nothing, Names::Task, Needs::Action(CellCall::CancelTasks))
            }
            Self::CancelTasks => {
                row(Chat, Nothing, Names::Turn, Needs::Action(CellCall::CancelTasks))
            }
            Self::SendFile => row(Chat, Chat, Names::Path, Needs::Action(CellCall::SendFile)),
            Self::ProposePlan => {
                row(Nothing, Chat, Names::Turn, Needs::Action(CellCall::ProposePlan))
            }
            Self::Propose => row(Chat, Chat, Names::Turn, Needs::Gate),
            Self::OpenLink | Self::ListModels => {
                row(Itself, Itself, Names::Nothing, Needs::Nothing)
            }
            Self::CallModel => row(Itself, Itself, Names::Nothing, Needs::Gate),
            Self::Fetch | Self::Search | Self::Proxy => {
                row(Nothing, Itself, Names::Nothing, Needs::Gate)
            }
            // Of this door alone: a closed one has none.
            Self::ReadAuthority | Self::ReadRefusals | Self::ListSecrets => {
                row(Itself, Itself, Names::Nothing, Needs::Nothing)
            }
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hello => "hello",
            Self::Accepted => "accepted",
            Self::TextChunk => "text_chunk",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
            Self::Restart => "update restart",
            Self::Model => "update model",
            Self::Progress => "update progress",
            Self::Tell => "update (any other)",
            Self::End => "end",
            Self::Step => "step",
            Self::Todos => "todos",
            Self::Finish => "finish",
            Self::Delegate => "delegate",
            Self::ListTasks => "list_tasks",
            Self::ShowTask => "show_task",
            Self::CancelTask => "cancel_tasks (one)",
            Self::CancelTasks => "cancel_tasks (of the chat)",
            Self::SendFile => "send_file",
            Self::ProposePlan => "propose_plan",
            Self::Propose => "propose",
            Self::OpenLink => "GET /link",
            Self::ListModels => "GET /v1/models",
            Self::CallModel => "POST /v1/chat/completions",
            Self::Fetch => "POST /fetch",
            Self::Search => "POST /search",
            Self::Proxy => "proxy",
            Self::ReadAuthority => "GET /ca.pem",
            Self::ReadRefusals => "GET /egress/refusals",
            Self::ListSecrets => "GET /secrets",
        }
    }
}

const fn row(coordinator: Reach, executor: Reach, names: Names, needs: Needs) -> Row {
    Row { coordinator, executor, names, needs }
}

#[cfg(test)]
#[path = "reach_tests.rs"]
mod tests;
