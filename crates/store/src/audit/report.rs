//! What a verification found.

use std::fmt;

use cloister_vault::Owner;
use serde::Serialize;

/// More than this is not listed: the first ones say where to look.
const MOST_FINDINGS: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// It is not what was recorded.
    Edited,
    /// It is gone, and what follows it is there.
    Missing,
    /// It was never recorded.
    Inserted,
    Reordered,
    /// It is gone, and all that followed it.
    Truncated,
    /// It and what follows are consistent, and not what was signed.
    Rewritten,
    /// It is signed, and not what the witness was shown.
    Resigned,
    /// Its time is before that of something older, or differs from the witness's.
    ClockBack,
    /// A signature or a link between checkpoints does not hold.
    Unsigned,
    /// A file that was never finished.
    Torn,
    /// Content is gone that no redaction took.
    ErasedSilently,
}

/// Where it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Where {
    Database,
    Segment(u64),
    Checkpoint(u64),
    Keys,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub fault: Fault,
    pub chain: Option<Owner>,
    /// The first entry concerned.
    pub entry: Option<u64>,
    pub place: Where,
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(chain) = self.chain {
            write!(f, "chain {chain}, ")?;
        }
        if let Some(entry) = self.entry {
            write!(f, "entry {entry}, ")?;
        }
        match self.place {
            Where::Database => f.write_str("database")?,
            Where::Segment(number) => write!(f, "segment {number}")?,
            Where::Checkpoint(number) => write!(f, "checkpoint {number}")?,
            Where::Keys => f.write_str("signing keys")?,
        }
        write!(f, ": {}", self.text)
    }
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// What does not hold; empty when all is whole.
    pub findings: Vec<Finding>,
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

impl Report {
    pub fn is_whole(&self) -> bool {
        self.findings.is_empty()
    }

    pub(super) fn add(&mut self, finding: Finding) {
        if self.findings.len() < MOST_FINDINGS {
            self.findings.push(finding);
        }
    }
}
