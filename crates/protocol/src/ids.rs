//! Ids. Each is its own type, parsed once at the edge; none derefs to a string.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A string that is not the id it was taken for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is not a {kind}: {expected}")]
pub struct ParseIdError {
    pub kind: &'static str,
    pub value: String,
    pub expected: &'static str,
}

impl ParseIdError {
    fn new(kind: &'static str, value: &str, expected: &'static str) -> Self {
        let value = value.chars().take(80).collect();
        Self { kind, value, expected }
    }
}

/// An id that is a letter and a number, such as `C1` or `w12`.
macro_rules! numbered_id {
    ($(#[$doc:meta])* $name:ident, $letter:literal, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(try_from = "String", into = "String")]
        #[schemars(with = "String")]
        pub struct $name(u32);

        impl $name {
            pub const fn from_number(number: u32) -> Self {
                Self(number)
            }

            pub const fn number(self) -> u32 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                let expected = concat!("expected ", $letter, " and a number, such as ", $letter, "1");
                let error = || ParseIdError::new($kind, text, expected);
                let digits = text.strip_prefix($letter).ok_or_else(error)?;
                let canonical = digits.starts_with(|c: char| ('1'..='9').contains(&c))
                    && digits.len() <= 9
                    && digits.bytes().all(|b| b.is_ascii_digit());
                if !canonical {
                    return Err(error());
                }
                digits.parse().map(Self).map_err(|_unreachable: std::num::ParseIntError| error())
            }
        }

        impl TryFrom<String> for $name {
            type Error = ParseIdError;

            fn try_from(text: String) -> Result<Self, ParseIdError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.to_string()
            }
        }
    };
}

numbered_id!(
    /// A conversation inside a workspace. Never reused.
    ChatId, "C", "chat id"
);
numbered_id!(
    /// One of the agents of a workspace. Never reused.
    AgentId, "a", "agent id"
);

impl AgentId {
    /// Who answers where nobody else was chosen: its files are the workspace's own.
    pub const FIRST: Self = Self(1);

    pub fn is_first(&self) -> bool {
        *self == Self::FIRST
    }
}

impl Default for AgentId {
    fn default() -> Self {
        Self::FIRST
    }
}

numbered_id!(
    /// The folder tree and policy of one user or one community.
    WorkspaceId, "w", "workspace id"
);
numbered_id!(
    /// A person we know.
    UserId, "u", "user id"
);
numbered_id!(
    /// A durable unit of work.
    TaskId, "T", "task id"
);
numbered_id!(
    /// A question put to a person, and its answer.
    ApprovalId, "A", "approval id"
);
numbered_id!(
    /// A machine that a person administers from. Never reused.
    ClientId, "K", "client id"
);

/// An id that is a short printable word chosen by one side of the wire.
macro_rules! word_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(try_from = "String", into = "String")]
        #[schemars(with = "String")]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                let fits = (1..=128).contains(&text.len())
                    && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(&b));
                if fits {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(ParseIdError::new(
                        $kind,
                        text,
                        "expected 1 to 128 letters, digits, '-', '_', '.' or ':'",
                    ))
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = ParseIdError;

            fn try_from(text: String) -> Result<Self, ParseIdError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }
    };
}

word_id!(
    /// What a client calls a message; the same id again is the same message.
    MessageId, "message id"
);
word_id!(
    /// One turn of the coordinator: from a trigger to its `end`.
    TurnId, "turn id"
);
word_id!(
    /// A request of the agent on the link; unique within the sandbox's life on disk.
    RequestId, "request id"
);

/// What is told is told of a turn, or of what stands for one. Which, is decided where the id is made, and read
/// nowhere but here.
impl TurnId {
    /// The turn that a trigger starts: one trigger, one turn, also after a crash.
    pub fn of_trigger(trigger: &MessageId) -> Self {
        Self(format!("t-{trigger}"))
    }

    /// The turn that a row of the inbox starts.
    pub fn of_message(row: i64) -> Self {
        Self(format!("t-m{row}"))
    }

    /// What a task says by itself.
    pub fn of_task(task: TaskId) -> Self {
        Self(format!("task-{task}"))
    }

    pub fn of_question(approval: ApprovalId) -> Self {
        Self(format!("ask-{approval}"))
    }

    /// What a person is told unasked, once per key.
    pub fn of_notice(key: impl fmt::Display) -> Self {
        Self(format!("notice-{key}"))
    }

    /// What an admin hub is told, once per key.
    pub fn of_hub(key: impl fmt::Display) -> Self {
        Self(format!("hub-{key}"))
    }

    /// As the control plane stored it.
    pub const fn kept(text: String) -> Self {
        Self(text)
    }

    /// The row of the inbox that started it, if one did.
    pub fn message(&self) -> Option<i64> {
        self.0.strip_prefix("t-m")?.parse().ok()
    }
}

/// A user's name: what people type after `--user`.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct UserName(String);

impl UserName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UserName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for UserName {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let fits = (1..=32).contains(&text.len())
            && text.starts_with(|c: char| c.is_ascii_lowercase())
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b));
        if fits {
            Ok(Self(text.to_owned()))
        } else {
            Err(ParseIdError::new(
                "user name",
                text,
                "expected up to 32 lower-case letters, digits, '-', '_' or '.', starting with a letter",
            ))
        }
    }
}

impl TryFrom<String> for UserName {
    type Error = ParseIdError;

    fn try_from(text: String) -> Result<Self, ParseIdError> {
        text.parse()
    }
}

impl From<UserName> for String {
    fn from(name: UserName) -> String {
        name.0
    }
}

#[cfg(test)]
#[path = "ids_tests.rs"]
mod tests;
