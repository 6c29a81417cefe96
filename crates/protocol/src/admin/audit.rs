//! The audit trail, as the admin API shows it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An entry as people see it. What was erased is empty.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AuditEntryView {
    /// Chain and number: `platform/12`, `u1/57`.
    pub entry: String,
    /// Its place among the entries of all chains.
    pub id: i64,
    pub at: String,
    pub actor: String,
    pub action: String,
    pub subject: String,
    pub detail: String,
    /// Something of it was erased.
    pub redacted: bool,
}

/// One entry, with what ties it to its chain.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AuditEntryProof {
    #[serde(flatten)]
    pub entry: AuditEntryView,
    /// Its own hash, and that of the entry before.
    pub hash: String,
    pub previous: String,
    /// The segment it is sealed in, and the first checkpoint that signs for it; none: not yet.
    pub segment: Option<u64>,
    pub checkpoint: Option<u64>,
}

/// Which entries are to be shown.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditQuery {
    /// The platform's chain alone.
    #[serde(default)]
    pub platform: bool,
    /// Only entries that came after the one of this `id`, oldest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
}

/// A part of a chain with its proofs: lines of JSON as they stand in the file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AuditExportPart {
    pub lines: Vec<String>,
    /// The entry to ask for next; none: that was all.
    pub next: Option<u64>,
}

/// Content to be taken out of a chain, which stays whole.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditRedaction {
    /// Numbers and ranges: `4,7-9`.
    pub entries: String,
    /// Names too, not only the detail.
    #[serde(default)]
    pub names: bool,
    pub why: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AuditRedacted {
    /// How many entries were changed.
    pub entries: u64,
}

/// What a verification found.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct AuditReport {
    /// All of it is what was recorded.
    pub whole: bool,
    pub findings: Vec<AuditFinding>,
    /// What is no fault, but good to know.
    pub notes: Vec<String>,
    pub chains: u64,
    /// Entries looked at in the database, and in segments.
    pub entries: u64,
    pub sealed_entries: u64,
    pub checkpoints: u64,
    /// Checkpoints that a witness confirmed.
    pub witnessed: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AuditFinding {
    /// What is wrong, as a word: `edited`, `missing`, `inserted`, …
    pub fault: String,
    /// The first entry concerned: `u1/57`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    pub text: String,
}
