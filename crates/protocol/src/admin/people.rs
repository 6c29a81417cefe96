//! People: their roles and identities, pairing, communities and contexts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{ApprovalId, ChatId, UserName, WorkspaceId};

/// A role that someone holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoleView {
    pub user: UserName,
    pub role: String,
    pub scope: String,
    pub given_by: String,
    pub given_at: String,
}

/// An account on a surface that is known to be a person's.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct IdentityView {
    pub surface: String,
    pub id: String,
    /// What they call themselves there; it proves nothing.
    pub display_name: String,
    pub linked_by: String,
    pub linked_at: String,
}

/// Who someone is to the policies.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PersonView {
    pub name: UserName,
    /// `person` or `community`.
    pub kind: String,
    pub workspace: WorkspaceId,
    pub roles: Vec<RoleView>,
    pub identities: Vec<IdentityView>,
    /// The question that this person must answer before what was asked for is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<ApprovalId>,
}

/// A role to be given or taken.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleChange {
    pub role: String,
    /// Where; without it, the user's own workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

/// An account on a surface, to be linked or unlinked.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountName {
    pub surface: String,
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
}

/// A code that someone was given on a surface.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairingCode {
    pub code: String,
}

/// Who asks to be paired.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PairingView {
    pub surface: String,
    pub id: String,
    pub display_name: String,
    pub expires_at: String,
}

/// Links the account of a code to a user.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairingAnswer {
    pub code: String,
    pub user: UserName,
    /// A role that the user gets with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<RoleChange>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWorkspace {
    pub name: UserName,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceView {
    pub id: WorkspaceId,
    /// `private` or `community`.
    pub kind: String,
    /// The user's name, or the community's.
    pub name: UserName,
}

/// A context as it was written, and what it allows together with those around it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ContextView {
    pub name: String,
    pub inherits: String,
    pub prompt: String,
    /// None: no limit of its own.
    pub tools: Option<Vec<String>>,
    pub models: Option<Vec<String>>,
    pub skills: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surface: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<ChatId>,
    /// What holds in the end.
    pub effective: ContextLimits,
}

/// The names that may be used; none: all.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ContextLimits {
    pub tools: Option<Vec<String>>,
    pub models: Option<Vec<String>>,
    pub skills: Option<Vec<String>>,
}

/// What of a context is to change; a context that is not there is made.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherits: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<NameList>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<NameList>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<NameList>,
    /// Together with `conversation`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surface: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// Only if there is none of this name yet.
    #[serde(default)]
    pub new: bool,
}

/// A list of names, or no limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NameList {
    All,
    Only(Vec<String>),
}
