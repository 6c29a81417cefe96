//! The admin API's types: what the CLI and the control plane say to each other.

mod agents;
mod audit;
pub mod clients;
mod config;
mod connectors;
mod egress;
mod files;
mod gates;
mod people;
mod personal;
mod policies;
mod secrets;
mod status;
mod stop;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::frames::{Answer, TaskState};
use crate::ids::{AgentId, ApprovalId, ChatId, TaskId, UserName, WorkspaceId};
use crate::kind::WorkKind;
use crate::language::Language;
use crate::link::Step;
use crate::model::{Effort, ModelProfile, ModelSettings};

pub use agents::{AgentChange, AgentDetail, AgentView, NewAgent};
pub use audit::{
    AuditEntryProof, AuditEntryView, AuditExportPart, AuditFinding, AuditQuery, AuditRedacted,
    AuditRedaction, AuditReport,
};
pub use config::{ConfigChange, ConfigDiff, ConfigQuery, ConfigRollback, ConfigRolledBack};
pub use connectors::{
    AddConnector, AddedConnector, ConnectorState, ConnectorView, Credential, ReconcileReport,
    ResetConnector, ResetMode, ResetReport, Skipped,
};
pub use egress::{EgressChange, EgressRuleView, EgressUsageView, EgressView};
pub use files::{
    DocumentChangeView, FileChangeView, RetentionView, TaskFiles, UndoTask, UndoView, UnusedFile,
};
pub use gates::{GrantDetail, GrantReach, GrantView};
pub use people::{
    AccountName, ContextChange, ContextLimits, ContextView, IdentityView, NameList, NewWorkspace,
    PairingAnswer, PairingCode, PairingView, PersonView, RoleChange, RoleView, WorkspaceView,
};
pub use personal::{Erase, Erased, PersonalFilePart, PersonalInventory, PersonalRecords};
pub use policies::{
    PoliciesView, PolicyChecked, PolicyExplanation, PolicyFile, PolicyFiles, PolicyProblem,
    PolicyQuestion, PolicyView,
};
pub use secrets::{
    MasterRotated, NewSecret, SecretBinding, SecretForm, SecretRotation, SecretView,
};
pub use status::{ErrorLine, Judgement, StatusLine, StatusView};
pub use stop::{StopAll, StopView};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserChange {
    /// What they are called, in any script; empty: by their name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_mb: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executors: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_usd: Option<f64>,
    /// What commands, notices and pages speak to them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
}

impl UserChange {
    /// Nothing of the limits is to change, but something else is.
    pub fn leaves_limits(&self) -> bool {
        let Self { display_name, quota_mb, executors, daily_usd, task_usd, language } = self;
        let limits =
            [quota_mb.is_some(), executors.is_some(), daily_usd.is_some(), task_usd.is_some()];
        (display_name.is_some() || language.is_some()) && limits == [false; 4]
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct UserView {
    pub name: UserName,
    /// What they are called, if not by their name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub display_name: String,
    pub workspace: WorkspaceId,
    pub quota_mb: u64,
    pub over_quota: bool,
    pub executors: u32,
    pub daily_usd: f64,
    pub task_usd: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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
    /// With `replace` and no key: keep the key of the model that is there, if its address is the same.
    #[serde(default)]
    pub keep_key: bool,
    /// With `replace`: keep what the operator said of the model that is there and does not say now. Prices, window and
    /// longest answer only if it is the same model at the same address.
    #[serde(default)]
    pub keep_settings: bool,
    /// Keep it without having tried it.
    #[serde(default)]
    pub untested: bool,
    #[serde(default)]
    pub settings: ModelSettings,
}

/// What of a model is to change; what is not named stays.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_tokens: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_seconds: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_seconds: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// Dollars per million tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_usd: Option<f64>,
    /// Whether people may choose it though it is in no chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<bool>,
    /// What is to be as if nobody had ever said it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<ModelSetting>,
    /// Keep it without having tried what is sent to the model from now on.
    #[serde(default)]
    pub untested: bool,
}

/// Something that is said of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelSetting {
    Temperature,
    Effort,
    Window,
    FirstByte,
    Idle,
    MaxOutput,
    Prices,
}

/// Where to ask which models there are.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelPlace {
    pub base_url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
}

/// Who the agent is and what it knows of the person: what `SOUL.md` and `USER.md` say.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// Empty: it has none.
    pub agent_name: String,
    pub manner: String,
    pub about: String,
    /// Stands for exactly this content: a change that names it is refused when the files have
    /// changed since.
    pub seen: String,
}

/// What of an identity is to change.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdentityChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manner: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
}

/// A link with which a person comes in.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Invitation {
    pub user: UserName,
    /// The user was added by this invitation.
    pub new: bool,
    /// Good once.
    pub link: String,
    pub expires_at: String,
}

/// A key that can't print itself.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
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

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ModelView {
    pub name: String,
    pub base_url: String,
    pub model: String,
    /// Where the key is: nothing, `env:VAR` or `sealed:NAME`.
    pub key: String,
    pub prompt_usd: f64,
    pub completion_usd: f64,
    pub max_output_tokens: u32,
    /// The levels whose chain it is in.
    pub levels: Vec<String>,
    /// The kinds of work of their own whose chain it is in.
    #[serde(default)]
    pub kinds: Vec<WorkKind>,
    /// People may choose it though it may be in no chain.
    #[serde(default)]
    pub offered: bool,
    /// What was found out by trying it.
    #[serde(default)]
    pub profile: ModelProfile,
    #[serde(default)]
    pub settings: ModelSettings,
    /// What it was shown in the last 30 days, and how much of that its provider says it had kept of an earlier prompt.
    #[serde(default)]
    pub prompt_tokens: u64,
    #[serde(default)]
    pub cached_tokens: u64,
}

/// A model that was tried.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TestedModel {
    pub model: String,
    /// What it did: `answered in 410 ms`.
    pub answer: String,
    pub profile: ModelProfile,
}

/// A place where models are, known by a name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PresetView {
    pub name: String,
    pub title: String,
    pub base_url: String,
    /// Where one gets a key; empty where none is needed.
    pub key_url: String,
    /// It would run on the machine of the control plane.
    pub local: bool,
    /// The ids of the models that it has, where it runs here and answered.
    pub models: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    pub models: Vec<String>,
}

/// A kind of work, and the models that were set for it. Without any, those of the level serve it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct KindView {
    pub kind: WorkKind,
    pub models: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BudgetView {
    pub user: UserName,
    pub daily_usd: f64,
    pub task_usd: f64,
    pub spent_usd: f64,
    pub reserved_usd: f64,
    pub usage: Vec<UsageView>,
    /// Of models that the person pays for themselves, outside of these budgets.
    #[serde(default)]
    pub own_spent_usd: f64,
    #[serde(default)]
    pub own_usage: Vec<UsageView>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct UsageView {
    pub day: String,
    pub level: String,
    pub model: String,
    pub calls: u64,
    pub prompt_tokens: u64,
    /// Of these, what the provider says it had kept of an earlier prompt.
    #[serde(default)]
    pub cached_tokens: u64,
    pub completion_tokens: u64,
    pub usd: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TaskDetail {
    #[serde(flatten)]
    pub task: TaskView,
    pub instructions: String,
    pub request: String,
    pub plan_first: bool,
    pub ledger: Vec<Step>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelTasks {
    /// One task; without it, every open task of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Cancelled {
    pub cancelled: Vec<TaskId>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ChatView {
    pub id: ChatId,
    pub title: String,
    /// The words that began it, where it has no title of its own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub opening: String,
    pub archived: bool,
    pub created_at: String,
    /// Which agent answers in it.
    #[serde(default, skip_serializing_if = "AgentId::is_first")]
    pub agent: AgentId,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChatChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// Forget the conversation.
    #[serde(default)]
    pub clear: bool,
    /// Of a chat that is made: which agent answers in it, by name or id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    pub at: String,
    pub from: String,
    pub text: String,
}

/// A question that waits for people, as exactly as they are asked it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalView {
    pub id: ApprovalId,
    pub chat: ChatId,
    /// None: the coordinator itself asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    pub title: String,
    pub text: String,
    /// Of exactly this, to be sent back with the answer.
    #[serde(default)]
    pub digest: String,
    /// safe, middle, destructive or outward.
    #[serde(default)]
    pub class: String,
    #[serde(default)]
    pub reason: String,
    #[serde(default)]
    pub sources: Vec<String>,
    #[serde(default)]
    pub offered: Vec<Answer>,
    /// How many different people must allow it.
    #[serde(default)]
    pub people: u8,
    /// Who has answered so far.
    #[serde(default)]
    pub answers: Vec<GivenAnswer>,
    #[serde(default)]
    pub asked_at: String,
}

/// One person's answer to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GivenAnswer {
    pub by: String,
    pub answer: Answer,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerApproval {
    pub answer: Answer,
    /// Of what was seen: an answer to something else counts for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// Asks for a session: as the operator for a user, or with a one-time login token.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct NewSession {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login_token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<u64>,
}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
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

/// The cell of a user, as it is now.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CellView {
    /// A coordinator runs.
    pub live: bool,
    /// Its proportional memory, launcher included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pss_bytes: Option<u64>,
}
