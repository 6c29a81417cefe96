//! What an action can do to someone, in four classes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How much an action can do, from what may simply run to what reaches other people.
///
/// The order is the order of care: what is found in two places counts as the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Reads, or changes only what ends with the sandbox.
    Safe,
    /// Installs or configures; asked once, then remembered.
    Middle,
    /// Deletes or overwrites what a person has; asked every time.
    Destructive,
    /// Sends, spends, submits, deploys: leaves the person's own space; asked every time.
    Outward,
}

impl Class {
    pub const ALL: [Self; 4] = [Self::Safe, Self::Middle, Self::Destructive, Self::Outward];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Middle => "middle",
            Self::Destructive => "destructive",
            Self::Outward => "outward",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no class.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is not a class: expected safe, middle, destructive or outward")]
pub struct ParseClassError {
    pub value: String,
}

impl FromStr for Class {
    type Err = ParseClassError;

    fn from_str(text: &str) -> Result<Self, ParseClassError> {
        let class = Self::ALL.into_iter().find(|class| class.as_str() == text);
        class.ok_or_else(|| ParseClassError { value: text.chars().take(80).collect() })
    }
}

/// A class, or the admission that none can be told. Unknown is never safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rated {
    Safe,
    Middle,
    /// Could be anything that its surroundings let it be.
    Unknown,
    Destructive,
    Outward,
}

impl Rated {
    pub const ALL: [Self; 5] =
        [Self::Safe, Self::Middle, Self::Unknown, Self::Destructive, Self::Outward];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Middle => "middle",
            Self::Unknown => "unknown",
            Self::Destructive => "destructive",
            Self::Outward => "outward",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rated| rated.as_str() == text)
    }
}

impl From<Class> for Rated {
    fn from(class: Class) -> Self {
        match class {
            Class::Safe => Self::Safe,
            Class::Middle => Self::Middle,
            Class::Destructive => Self::Destructive,
            Class::Outward => Self::Outward,
        }
    }
}

impl fmt::Display for Rated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
