//! What is refused about the configuration.

use cloister_policy::engine::PolicyErrors;
use cloister_protocol::{ErrorCode, Language};

use super::history::{HistoryError, VersionError};
use super::identity::{MAX_BYTES, MAX_NAME_CHARS};
use super::policies::BadQuestion;
use crate::error::{Failed, Fault, Refusal};

pub type ConfigError = Failed<ConfigRefusal>;

#[derive(Debug, thiserror::Error)]
pub enum ConfigRefusal {
    #[error(transparent)]
    Version(VersionError),
    #[error("{path} would have {bytes} bytes")]
    TooLarge { path: String, bytes: usize },
    #[error("cloister.toml of that version is not right: {wrong}")]
    SettingsThen { wrong: String },
    /// Some were tried out first, and are wrong.
    #[error("the policies can't take effect:\n{}", .wrong.join("\n"))]
    PoliciesTried { wrong: Vec<String> },
    #[error("the policies can't take effect:\n{0}")]
    Policies(PolicyErrors),
    #[error(transparent)]
    Question(BadQuestion),
    #[error("SOUL.md or USER.md was changed meanwhile")]
    IdentityChanged,
    #[error("{name} in the workspace {reason}")]
    IdentityUnreadable { name: &'static str, reason: &'static str },
    #[error("an agent's name has at most {MAX_NAME_CHARS} letters on one line, and no markup")]
    NoAgentName,
    #[error("there is an agent {name:?} already")]
    AgentNameTaken { name: String },
    #[error("{name} would have {bytes} bytes; the agent reads {MAX_BYTES}")]
    IdentityTooLong { name: &'static str, bytes: usize },
}

impl Refusal for ConfigRefusal {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Version(VersionError::None(_)) => ErrorCode::NotFound,
            Self::TooLarge { .. } | Self::IdentityTooLong { .. } => ErrorCode::TooLarge,
            Self::SettingsThen { .. } | Self::IdentityChanged | Self::AgentNameTaken { .. } => {
                ErrorCode::Conflict
            }
            Self::Version(VersionError::Several(_))
            | Self::PoliciesTried { .. }
            | Self::Policies(_)
            | Self::Question(_)
            | Self::NoAgentName => ErrorCode::BadRequest,
            Self::IdentityUnreadable { .. } => ErrorCode::Refused,
        }
    }

    fn fix(&self, _to: Language) -> Option<String> {
        let fix = match self {
            Self::Version(VersionError::None(_)) => {
                "`cloister config log` lists them; `latest~1` is what was before the newest change"
            }
            Self::PoliciesTried { .. } => {
                "what was in force stays so; `cloister policy check DIR` says the same without trying"
            }
            Self::Policies(_) => "what was in force stays so",
            Self::Question(_) => {
                "such as `cloister policy explain user anna read_chat chat:w2/C1`, or \
                 `cloister policy explain executor anna fetch_writing domain:api.example.org --untrusted`"
            }
            Self::IdentityChanged => "Look at what they say now, and save again.",
            Self::AgentNameTaken { .. } => "Choose another name.",
            Self::IdentityUnreadable { .. } => "Change it by hand, or ask the agent to shorten it.",
            Self::IdentityTooLong { .. } => "Make it shorter.",
            Self::Version(VersionError::Several(_))
            | Self::TooLarge { .. }
            | Self::SettingsThen { .. }
            | Self::NoAgentName => return None,
        };
        Some(fix.to_owned())
    }
}

impl From<BadQuestion> for ConfigError {
    fn from(question: BadQuestion) -> Self {
        ConfigRefusal::Question(question).into()
    }
}

impl From<HistoryError> for ConfigError {
    fn from(error: HistoryError) -> Self {
        match error {
            HistoryError::Version(version) => ConfigRefusal::Version(version).into(),
            HistoryError::Io { what, source } => {
                Fault::io(format!("the history of the configuration could not be {what}"))(source)
                    .into()
            }
            HistoryError::Damaged { .. } => {
                Fault::io(error.to_string())(std::io::ErrorKind::InvalidData.into()).into()
            }
        }
    }
}
