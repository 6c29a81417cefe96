//! Whether a message is a command: decided once, when it comes in, and kept with it.

use serde::{Deserialize, Serialize};

use crate::error::{StoreError, corrupt};

/// For whom something is that came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meant {
    /// For the agent.
    Words,
    /// For the control plane itself.
    Command(TypedCommand),
    /// It was stored before that was kept.
    Undecided,
}

/// A command as it was typed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypedCommand {
    /// In small letters, without its sign. It need not be one that there is.
    pub name: String,
    /// What stands behind it.
    pub rest: String,
}

impl Meant {
    /// As it is in the database; none: it is not known.
    pub(crate) fn column(&self) -> Result<Option<String>, StoreError> {
        let command = match self {
            Self::Undecided => return Ok(None),
            Self::Words => None,
            Self::Command(command) => Some(command),
        };
        serde_json::to_string(&command).map(Some).map_err(|e| corrupt("command", e))
    }

    pub(crate) fn of_column(column: Option<&str>) -> Result<Self, StoreError> {
        let Some(json) = column else { return Ok(Self::Undecided) };
        let command: Option<TypedCommand> =
            serde_json::from_str(json).map_err(|e| corrupt("command", e))?;
        Ok(command.map_or(Self::Words, Self::Command))
    }
}
