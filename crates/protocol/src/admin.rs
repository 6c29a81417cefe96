//! The admin API's types: what the CLI and the control plane say to each other.

use serde::{Deserialize, Serialize};

use crate::frames::{Answer, TaskState};
use crate::ids::{ApprovalId, ChatId, TaskId, UserName, WorkspaceId};
use crate::link::Step;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    pub name: UserName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_mb: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executors: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_usd: Option<f64>,
}

/// What of a user's limits is to change.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_mb: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executors: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_usd: Option<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UserView {
    pub name: UserName,
    pub workspace: WorkspaceId,
    pub quota_mb: u64,
    pub over_quota: bool,
    pub executors: u32,
    pub daily_usd: f64,
    pub task_usd: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewModel {
    pub name: String,
    pub base_url: String,
    pub model: String,
    /// The key itself, on its way into the control plane's keeping; never answered back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
    /// An environment variable of the control plane that holds the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// Dollars per million tokens; without them a default for the model's name is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// Replace a model of this name.
    #[serde(default)]
    pub replace: bool,
}

/// A key that can't print itself.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(String);

impl Key {
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(…)")
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ModelView {
    pub name: String,
    pub base_url: String,
    pub model: String,
    /// Where the key is: nothing, `env:VAR` or `file:NAME`.
    pub key: String,
    pub prompt_usd: f64,
    pub completion_usd: f64,
    pub max_output_tokens: u32,
    /// The levels whose chain it is in.
    pub levels: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    pub models: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BudgetView {
    pub user: UserName,
    pub daily_usd: f64,
    pub task_usd: f64,
    pub spent_usd: f64,
    pub reserved_usd: f64,
    pub usage: Vec<UsageView>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UsageView {
    pub day: String,
    pub level: String,
    pub model: String,
    pub calls: u64,
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
    pub usd: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TaskView {
    pub id: TaskId,
    pub user: UserName,
    pub chat: ChatId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    pub title: String,
    pub state: TaskState,
    pub result: String,
    pub not_shown: Vec<String>,
    pub spent_usd: f64,
    pub created_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
}

/// A task with everything that is known of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TaskDetail {
    #[serde(flatten)]
    pub task: TaskView,
    pub instructions: String,
    pub request: String,
    pub plan_first: bool,
    pub ledger: Vec<Step>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CancelTasks {
    /// One task; without it, every open task of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cancelled {
    pub cancelled: Vec<TaskId>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChatView {
    pub id: ChatId,
    pub title: String,
    pub archived: bool,
    pub created_at: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChatChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// Forget the conversation.
    #[serde(default)]
    pub clear: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Line {
    pub at: String,
    pub from: String,
    pub text: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ApprovalView {
    pub id: ApprovalId,
    pub chat: ChatId,
    pub task: TaskId,
    pub title: String,
    pub text: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerApproval {
    pub answer: Answer,
}

/// Asks for a session: as the operator for a user, or with a one-time login token.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NewSession {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login_token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<u64>,
}

#[derive(Clone, Serialize, Deserialize)]
pub struct Session {
    pub token: String,
    pub user: UserName,
    pub workspace: WorkspaceId,
    pub expires_at: String,
    /// The path of the agent socket; `{chat}` stands for a chat id.
    pub agent_ws: String,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("user", &self.user).finish_non_exhaustive()
    }
}

/// What the control plane says of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StatusView {
    pub version: String,
    pub pid: u32,
    pub url: String,
    pub unanswered: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_unanswered_s: Option<i64>,
    pub queued_tasks: i64,
    pub live_cells: Vec<WorkspaceId>,
}

/// The cell of a user, as it is now.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct CellView {
    /// A coordinator runs.
    pub live: bool,
    /// Its proportional memory, launcher included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pss_bytes: Option<u64>,
}
