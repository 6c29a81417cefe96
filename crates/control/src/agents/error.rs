//! What is refused about agents.

use cloister_protocol::{ErrorCode, Language};
use cloister_words::{count, say};

use super::MAX_NAME_CHARS;
use crate::error::{Failed, Refusal};

pub type AgentError = Failed<AgentRefusal>;

#[derive(Debug, thiserror::Error)]
#[error("{}", self.said(Language::En))]
pub enum AgentRefusal {
    NoName,
    Reserved {
        name: String,
    },
    Taken {
        name: String,
    },
    TooMany {
        most: u32,
    },
    NoAgent {
        said: String,
    },
    NotRemoved {
        said: String,
    },
    FirstStays,
    /// One of its chats was to be taken out again.
    Removed {
        name: String,
    },
}

impl Refusal for AgentRefusal {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NoAgent { .. } | Self::NotRemoved { .. } => ErrorCode::NotFound,
            Self::Taken { .. } | Self::TooMany { .. } | Self::Removed { .. } => ErrorCode::Conflict,
            Self::NoName | Self::Reserved { .. } | Self::FirstStays => ErrorCode::BadRequest,
        }
    }

    fn said(&self, to: Language) -> String {
        match self {
            Self::NoName => say!(
                to,
                "the name of an agent is one word of at most {most} letters or digits of any script, without markup",
                most = MAX_NAME_CHARS
            ),
            Self::Reserved { name } => {
                say!(to, "“{name}” means something else behind /agent", name = name)
            }
            Self::Taken { name } => say!(to, "there is an agent “{name}” already", name = name),
            Self::TooMany { most } => count!(
                to,
                u64::from(*most),
                "there can be {n} agent at once",
                "there can be {n} agents at once"
            ),
            Self::NoAgent { said } => say!(to, "there is no agent “{said}”", said = said),
            Self::NotRemoved { said } => {
                say!(to, "no agent “{said}” was removed", said = said)
            }
            Self::FirstStays => say!(to, "the first agent can't be removed"),
            Self::Removed { name } => say!(to, "its agent “{name}” was removed", name = name),
        }
    }

    fn fix(&self, to: Language) -> Option<String> {
        Some(match self {
            Self::NoName => say!(to, "such as Nora, Бендер or 小助手"),
            Self::Reserved { .. } => say!(to, "choose another name"),
            Self::Taken { name } => {
                say!(to, "/agent {name} goes there; or choose another name", name = name)
            }
            Self::TooMany { .. } => {
                say!(to, "/agent rm NAME removes one; whoever runs this can allow more")
            }
            Self::NoAgent { .. } | Self::NotRemoved { .. } => say!(to, "/agent lists them"),
            Self::FirstStays => say!(to, "/agent rename NAME gives it another name"),
            Self::Removed { name } => {
                say!(to, "/agent rm {name} undo takes it back, with its chats", name = name)
            }
        })
    }
}
