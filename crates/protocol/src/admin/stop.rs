//! The emergency stop over the admin API.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopAll {
    #[serde(default)]
    pub reason: String,
}

/// Whether everything is stopped, by whom and since when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StopView {
    pub stopped: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Executors that were ended by this call.
    #[serde(default)]
    pub ended: usize,
    /// Executors that are not gone yet.
    #[serde(default)]
    pub left: usize,
}
