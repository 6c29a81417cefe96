//! All that is one person's, to be taken away or erased.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What there is of a person.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PersonalInventory {
    /// Kinds of records; each is fetched by its name.
    pub records: Vec<String>,
    /// Files of the workspace, by their paths in it.
    pub files: Vec<String>,
    /// What was found and can't be fetched: links, devices.
    pub left_out: Vec<String>,
}

/// Records of one kind, one JSON object each.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PersonalRecords {
    pub records: Vec<serde_json::Value>,
    /// Where to go on; none: that was all.
    pub next: Option<u64>,
}

/// A piece of a file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PersonalFilePart {
    pub base64: String,
    /// Where to go on; none: that was all.
    pub next: Option<u64>,
}

/// Says that it is meant.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Erase {
    /// The user's name once more.
    pub confirm: String,
    #[serde(default)]
    pub why: String,
}

/// What was erased.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Erased {
    /// The id stays in the audit, and is given to nobody else.
    pub user: String,
    pub records: u64,
    /// Audit entries whose content is gone; the chain is whole.
    pub audit_entries: u64,
}
