//! The agents of a workspace.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, ChatId};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AgentView {
    pub id: AgentId,
    /// Empty: the first one, that nobody named.
    pub name: String,
    /// Where its documents are, below the workspace; empty: there itself.
    pub folder: String,
    /// Its chats that are not archived.
    pub chats: Vec<ChatId>,
    /// Nobody talks with it until it is taken back.
    pub removed: bool,
}

/// An agent, and who it is.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AgentDetail {
    #[serde(flatten)]
    pub agent: AgentView,
    /// What its `SOUL.md` says beside its name.
    pub manner: String,
    /// Stands for exactly this content: a change that names it is refused when the file has changed since.
    pub seen: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAgent {
    /// One word, in any script.
    pub name: String,
    /// Who it is and how it should be, for its `SOUL.md`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manner: Option<String>,
}

/// What of an agent is to change.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manner: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
    /// Remove it, or take it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<bool>,
}
