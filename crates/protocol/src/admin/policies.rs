//! Policies over the admin API: what is in force, what would be decided, and changing them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::UserName;

/// A file of policies (`NAME.cedar`) or of an operator's own cases (`NAME.cases`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyFile {
    pub name: String,
    pub text: String,
}

/// Every file of an operator's policies; what is not among them goes.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyFiles {
    pub files: Vec<PolicyFile>,
    /// For the configuration's history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// One policy that is in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyView {
    pub id: String,
    pub file: String,
    pub line: usize,
    /// permit, forbid or ask.
    pub kind: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    pub text: String,
}

/// What is in force, and whether the files say something else by now.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PoliciesView {
    pub policies: Vec<PolicyView>,
    /// Where an operator's own are.
    pub directory: String,
    /// Since when this set is in force.
    pub since: String,
    /// Why the files are not what is in force, if they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<String>,
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyProblem {
    pub file: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    pub message: String,
}

/// What a check, a test or an application of policies found.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PolicyChecked {
    /// Nothing is wrong and every case comes out as it should.
    pub ok: bool,
    /// An operator's own policies, without the default ones.
    pub policies: usize,
    pub problems: Vec<PolicyProblem>,
    pub cases: usize,
    pub failures: Vec<PolicyProblem>,
    /// The version in the configuration's history, when something took effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Asks what would be decided.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyQuestion {
    /// user, coordinator or executor.
    pub who: String,
    /// The person, or whom that part of a cell works for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserName>,
    pub action: String,
    /// `platform`, `workspace:w2`, `chat:w2/C1`, `domain:api.example.org` …; the platform or the person's
    /// own workspace where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Supposes these roles instead of those that the person holds: `admin@platform`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<String>,
    /// The class of what an approval is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The role that is to be assigned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// About themselves, or their own task.
    #[serde(default)]
    pub own: bool,
    #[serde(default)]
    pub untrusted: bool,
    #[serde(default)]
    pub plan_pending: bool,
    #[serde(default)]
    pub stopped: bool,
    #[serde(default)]
    pub unconfined: bool,
    #[serde(default)]
    pub not_in_context: bool,
    #[serde(default)]
    pub not_in_manifest: bool,
}

/// A decision with what led to it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PolicyExplanation {
    pub request: String,
    /// allow, ask or deny.
    pub outcome: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// How many different people must allow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub people: Option<u8>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The policies that decided.
    pub decided: Vec<PolicyView>,
    /// Where none did: the permits that speak of this action and whose conditions do not hold.
    pub did_not_apply: Vec<PolicyView>,
    /// The whole of it for a person.
    pub text: String,
}
