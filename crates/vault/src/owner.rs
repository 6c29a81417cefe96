//! Whose a thing is: a user's, or the platform's own.

use std::fmt;
use std::str::FromStr;

use cloister_protocol::{ParseIdError, UserId};
use serde::{Deserialize, Serialize};

/// Whom a secret or an audit chain belongs to. Written `platform` or as the user's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Owner {
    Platform,
    User(UserId),
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Platform => f.write_str("platform"),
            Self::User(user) => user.fmt(f),
        }
    }
}

impl FromStr for Owner {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        match text {
            "platform" => Ok(Self::Platform),
            user => user.parse().map(Self::User),
        }
    }
}

impl TryFrom<String> for Owner {
    type Error = ParseIdError;

    fn try_from(text: String) -> Result<Self, ParseIdError> {
        text.parse()
    }
}

impl From<Owner> for String {
    fn from(owner: Owner) -> Self {
        owner.to_string()
    }
}

impl From<UserId> for Owner {
    fn from(user: UserId) -> Self {
        Self::User(user)
    }
}
