//! The kinds of work that a model is asked for.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Level;

/// What a model is asked for. Talk and work are what the two levels do; the others may have models of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkKind {
    /// Answering people.
    Talk,
    /// Doing tasks.
    Work,
    /// Writing down what was said so far.
    Summarise,
    /// A task that searches the web.
    Research,
    /// Looking at pictures.
    Vision,
}

impl WorkKind {
    pub const ALL: [Self; 5] =
        [Self::Talk, Self::Work, Self::Summarise, Self::Research, Self::Vision];
    /// Those that are no level's own.
    pub const APART: [Self; 3] = [Self::Summarise, Self::Research, Self::Vision];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Talk => "talk",
            Self::Work => "work",
            Self::Summarise => "summarise",
            Self::Research => "research",
            Self::Vision => "vision",
        }
    }

    /// The level whose own work this is; none where it is nobody's alone.
    pub const fn level(self) -> Option<Level> {
        match self {
            Self::Talk => Some(Level::Coordinator),
            Self::Work => Some(Level::Executor),
            Self::Summarise | Self::Research | Self::Vision => None,
        }
    }

    /// What a level does when nothing else is said.
    pub const fn of(level: Level) -> Self {
        match level {
            Level::Coordinator => Self::Talk,
            Level::Executor => Self::Work,
        }
    }
}

impl fmt::Display for WorkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no kind of work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is no kind of work: expected talk, work, summarise, research or vision")]
pub struct ParseKindError {
    pub value: String,
}

impl FromStr for WorkKind {
    type Err = ParseKindError;

    fn from_str(text: &str) -> Result<Self, ParseKindError> {
        let kind = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        kind.ok_or_else(|| ParseKindError { value: text.chars().take(80).collect() })
    }
}
