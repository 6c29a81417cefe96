//! How the control plane is: what `cloister status` and the status page show.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::WorkspaceId;

/// What the control plane says of itself.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StatusView {
    pub version: String,
    pub pid: u32,
    pub url: String,
    pub unanswered: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_unanswered_s: Option<i64>,
    pub queued_tasks: i64,
    pub live_cells: Vec<WorkspaceId>,
    pub uptime_s: u64,
    /// The worst of all lines.
    pub judgement: Judgement,
    pub lines: Vec<StatusLine>,
    /// The newest complaints of the log, newest first.
    pub errors: Vec<ErrorLine>,
}

/// How good something is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    #[default]
    Ok,
    /// It works; somebody should look at it some time.
    Attention,
    /// Somebody has to do something now.
    Act,
}

/// One thing that the operator should know.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StatusLine {
    /// Stable: people and programs may rely on it.
    pub id: String,
    pub label: String,
    pub value: String,
    pub judgement: Judgement,
    /// What to do, when it is not ok.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// A complaint of the log and how often it came.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ErrorLine {
    pub first_at: String,
    pub last_at: String,
    pub level: String,
    pub count: u64,
    pub message: String,
    /// What was different about it the last time.
    pub fields: String,
    pub fix: String,
}
