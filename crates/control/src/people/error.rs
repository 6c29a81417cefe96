//! What is refused about people, their accounts and their contexts.

use std::time::Duration;

use cloister_protocol::{ErrorCode, Language, UserName};
use cloister_words::say;

use super::contexts::{MAX_NAME_BYTES, MAX_NAMES, MAX_PROMPT_BYTES};
use crate::error::{Failed, Refusal};

/// The policy that refuses everything while everything is stopped.
const STOPPED: &str = "all-is-stopped";

pub type PeopleError = Failed<PeopleRefusal>;

#[derive(Debug, thiserror::Error)]
pub enum PeopleRefusal {
    /// The policies say no; `by` is which of them, if one did.
    #[error("not allowed: {reason}{}", .by.as_ref().map(|id| format!(" (policy {id})")).unwrap_or_default())]
    NotAllowed { reason: String, by: Option<String> },
    #[error("a community needs somebody who runs it")]
    NobodyToRunIt,
    #[error("{name} is a community, and not a person")]
    Community { name: UserName },
    #[error("{what} is one word of 1 to {most} printable characters")]
    NoWord { what: &'static str, most: usize },
    #[error("{name} does not hold {role}")]
    RoleNotHeld { name: UserName, role: String },
    #[error("{name} is the last overlord of the platform")]
    LastOverlord { name: UserName },
    #[error("it can't be kept: {0}")]
    LinkNotKept(serde_json::Error),
    #[error("codes are asked for faster than they are given")]
    TooManyCodes { retry_after: Duration },
    #[error("wrong codes were entered too often")]
    TooManyWrongCodes { retry_after: Duration },
    /// One sentence for every code that is no good, whatever the reason.
    #[error("the code is wrong, used or expired")]
    WrongCode,
    #[error("{name} is asked first, and a role can't wait for that")]
    RoleCantWait { name: UserName },
    #[error("it is not known who named this conversation")]
    NamedByNobody,
    #[error("this chat is not yours to name")]
    NotYoursToName,
    #[error("there is a context {name} already")]
    ContextExists { name: String },
    #[error("there is no context {name}")]
    NoContext { name: String },
    #[error(
        "{inherits} is no context around {name}: it is not there, inside of {name}, or too deep"
    )]
    NotAround { inherits: String, name: String },
    #[error("the context {inner} is inside of {name}")]
    ContextInside { inner: String, name: String },
    #[error("a prompt has at most {MAX_PROMPT_BYTES} bytes")]
    PromptTooLong,
    #[error("a list has at most {MAX_NAMES} names")]
    ListTooLong,
    #[error("a conversation is a context of its own")]
    OutermostConversation,
    #[error("a surface and a conversation there go together")]
    HalfConversation,
    #[error(
        "a context's name is up to {MAX_NAME_BYTES} lower-case letters, digits, '-', '_' or '.'"
    )]
    NoContextName,
}

impl Refusal for PeopleRefusal {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NotAllowed { .. } | Self::NamedByNobody | Self::NotYoursToName => {
                ErrorCode::Forbidden
            }
            Self::NobodyToRunIt
            | Self::LastOverlord { .. }
            | Self::ContextExists { .. }
            | Self::ContextInside { .. } => ErrorCode::Conflict,
            Self::RoleNotHeld { .. } | Self::WrongCode | Self::NoContext { .. } => {
                ErrorCode::NotFound
            }
            Self::LinkNotKept(_) => ErrorCode::Internal,
            Self::TooManyCodes { .. } | Self::TooManyWrongCodes { .. } => ErrorCode::Busy,
            Self::Community { .. }
            | Self::NoWord { .. }
            | Self::RoleCantWait { .. }
            | Self::NotAround { .. }
            | Self::PromptTooLong
            | Self::ListTooLong
            | Self::OutermostConversation
            | Self::HalfConversation
            | Self::NoContextName => ErrorCode::BadRequest,
        }
    }

    fn fix(&self, to: Language) -> Option<String> {
        let fix = match self {
            Self::NotAllowed { by: Some(by), .. } if by == STOPPED => {
                return Some(say!(to, "operators release it, with /release or `cloister release`"));
            }
            Self::NobodyToRunIt => "`cloister user add NAME` adds a user first",
            Self::Community { .. } => "give its members a role in its scope instead",
            Self::RoleNotHeld { .. } => "`cloister role list` shows who holds what",
            Self::LastOverlord { .. } => {
                "give the role to somebody else first: \
                 `cloister role give NAME overlord --scope platform`"
            }
            Self::WrongCode => "codes are good for ten minutes; write `pair` again to get another",
            Self::RoleCantWait { .. } => "pair without a role; `cloister role give` gives it",
            Self::NamedByNobody => "/rename names its chat",
            Self::ContextExists { .. } => "`cloister context set` changes it",
            Self::NoContext { .. } => "`cloister context add` makes one",
            Self::ContextInside { inner, .. } => {
                return Some(format!("remove {inner} first, or put it elsewhere with --inherits"));
            }
            Self::NotAllowed { .. }
            | Self::NoWord { .. }
            | Self::LinkNotKept(_)
            | Self::TooManyCodes { .. }
            | Self::TooManyWrongCodes { .. }
            | Self::NotYoursToName
            | Self::NotAround { .. }
            | Self::PromptTooLong
            | Self::ListTooLong
            | Self::OutermostConversation
            | Self::HalfConversation
            | Self::NoContextName => return None,
        };
        Some(fix.to_owned())
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::TooManyCodes { retry_after } | Self::TooManyWrongCodes { retry_after } => {
                Some(*retry_after)
            }
            _ => None,
        }
    }
}
