//! What is refused on surfaces, and to their connectors.

use std::time::Duration;

use base64::DecodeError;
use cloister_protocol::{ApprovalId, ErrorBody, ErrorCode, Language};

use super::buttons::MOST_BUTTONS;
use crate::error::{Failed, Refusal};

pub type SurfaceError = Failed<SurfaceRefusal>;

#[derive(Debug, thiserror::Error)]
pub enum SurfaceRefusal {
    #[error("you are not known here")]
    Stranger,
    #[error("what is asked here is asked of somebody else")]
    AskedOfSomebodyElse,
    #[error("a message has at most {MOST_BUTTONS} buttons")]
    TooManyButtons,
    #[error("{approval} is not asked in this conversation")]
    NotAskedHere { approval: ApprovalId },
    #[error("this button was pressed before")]
    ButtonUsed,
    #[error("this button is for somebody else")]
    ButtonOfSomebodyElse,
    #[error("this button does nothing any more")]
    NoButton,
    /// Who answers a question reads it while they do.
    #[error("I can't see any more what this button answers")]
    ButtonWithdrawn { approval: ApprovalId },
    #[error("this button is too old")]
    ButtonExpired,
    #[error("an admin hub is a group, a channel or a room that is connected as a context")]
    NoHubHere,
    #[error("say what: enable or disable")]
    HubWhat,
    #[error("too many files are on their way at once")]
    TooManyFiles { retry_after: Duration },
    #[error("deliveries of an account come under at most {most} names")]
    TooManyNames { most: usize },
    #[error("a name has at most {most} bytes")]
    LongName { most: usize },
    #[error("the file's bytes are not in base64: {0}")]
    NoBytes(DecodeError),
    #[error("this surface has nothing of that name")]
    NotOfThisSurface,
    #[error("no operator asks for this account now")]
    AccountNotAskedFor,
    #[error("no operator asks for this now")]
    NotAskedFor,
    #[error("nobody answers {call}")]
    NobodyAnswers { call: String },
    /// What its connector said to an order, or that it did not.
    #[error("{}", .0.message)]
    Connector(Box<ErrorBody>),
}

impl Refusal for SurfaceRefusal {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Stranger
            | Self::AskedOfSomebodyElse
            | Self::ButtonOfSomebodyElse
            | Self::AccountNotAskedFor
            | Self::NotAskedFor => ErrorCode::Forbidden,
            Self::TooManyButtons
            | Self::NoHubHere
            | Self::HubWhat
            | Self::TooManyNames { .. }
            | Self::LongName { .. }
            | Self::NoBytes(_) => ErrorCode::BadRequest,
            Self::NotAskedHere { .. }
            | Self::NoButton
            | Self::ButtonWithdrawn { .. }
            | Self::ButtonExpired
            | Self::NotOfThisSurface => ErrorCode::NotFound,
            Self::ButtonUsed => ErrorCode::Conflict,
            Self::TooManyFiles { .. } => ErrorCode::Busy,
            Self::NobodyAnswers { .. } => ErrorCode::Internal,
            Self::Connector(said) => said.code,
        }
    }

    fn fix(&self, _to: Language) -> Option<String> {
        let fix = match self {
            Self::ButtonUsed | Self::NoButton => {
                "ask for a new one, such as with /status or /chats"
            }
            Self::ButtonWithdrawn { approval } => {
                return Some(format!(
                    "/approvals shows what waits, and /approve {approval} or /deny {approval} answers this"
                ));
            }
            Self::ButtonExpired => "ask for a new one, such as with /status, /chats or /approvals",
            Self::NoHubHere => "`cloister context add` connects one; write it there",
            Self::HubWhat => "/admin-channel enable makes this the admin hub",
            Self::Connector(said) => return said.fix.clone(),
            Self::Stranger
            | Self::AskedOfSomebodyElse
            | Self::TooManyButtons
            | Self::NotAskedHere { .. }
            | Self::ButtonOfSomebodyElse
            | Self::TooManyFiles { .. }
            | Self::TooManyNames { .. }
            | Self::LongName { .. }
            | Self::NoBytes(_)
            | Self::NotOfThisSurface
            | Self::AccountNotAskedFor
            | Self::NotAskedFor
            | Self::NobodyAnswers { .. } => return None,
        };
        Some(fix.to_owned())
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::TooManyFiles { retry_after } => Some(*retry_after),
            _ => None,
        }
    }
}
