//! Where a user's tasks may go, and what they moved.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a user's tasks may go.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EgressView {
    pub rules: Vec<EgressRuleView>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EgressRuleView {
    pub rule: String,
    pub added_by: String,
    pub added_at: String,
    /// Why it can't be read; one such rule denies all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EgressChange {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forbid: Vec<String>,
}

/// What a user's tasks moved to and from a host in a day.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EgressUsageView {
    pub day: String,
    pub host: String,
    pub requests: i64,
    pub bytes_out: i64,
    pub bytes_in: i64,
}
