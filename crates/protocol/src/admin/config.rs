//! The history of the configuration over the admin API.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigChange {
    /// As much of its id as people need to name it.
    pub version: String,
    pub at: String,
    pub author: String,
    pub why: String,
    pub paths: Vec<String>,
}

/// Which changes are asked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigQuery {
    /// A file, or a folder of which every file is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
    /// For a difference: from this version …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// … to this one, or the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// What is different between two versions.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ConfigDiff {
    pub from: String,
    pub to: String,
    /// As a unified diff.
    pub text: String,
}

/// Asks for what was before.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigRollback {
    /// A file or a folder; none: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub version: String,
}

/// What was put back.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ConfigRolledBack {
    /// The new version; none: everything was as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    pub paths: Vec<String>,
    /// What has to be done for it to take effect, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
