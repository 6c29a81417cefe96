//! What is refused about models.

use cloister_protocol::{ErrorBody, ErrorCode, Language};

use crate::error::{Failed, Refusal};

pub type ModelError = Failed<ModelRefusal>;

#[derive(Debug, thiserror::Error)]
pub enum ModelRefusal {
    #[error("there is a model {name} already")]
    Exists { name: String },
    /// What its provider said when it was tried.
    #[error("{}", .0.message)]
    Unusable(Box<ErrorBody>),
    #[error("{shown:?} is not a base URL: {why}")]
    NoBaseUrl { shown: String, why: &'static str },
    #[error("a base URL goes without a name or password in it; the key has its own place")]
    KeyInUrl,
    #[error(
        "{name:?} can't name a model: use up to 64 letters, digits, '-', '_' and '.', and not 'demo'"
    )]
    NoName { name: String },
    #[error("the model id is empty")]
    NoModelId,
    #[error("a price is out of range (dollars per million tokens)")]
    NoPrice,
    #[error("a model must be allowed at least one token")]
    NoTokens,
    #[error("a temperature is a number from 0 to 2")]
    NoTemperature,
    #[error(
        "a first word is waited for from 1 to {} seconds, and silence in an answer from 1 to {}",
        super::FIRST_BYTE_SECONDS.end(), super::IDLE_SECONDS.end()
    )]
    NoTime,
    #[error(
        "a community has no key of its own: what it is answered by is for whoever runs this machine to say"
    )]
    OwnOfCommunity,
    #[error("a model of one's own takes its key from nobody's environment")]
    OwnFromEnvironment,
    #[error("a model of one's own needs a key of one's own")]
    OwnWithoutKey,
    #[error("that address is not one of the known places")]
    OwnElsewhere { known: String },
    #[error("nobody has more than 10 models of their own")]
    TooManyOwn,
    #[error("the key {name} does not open as it was sealed; the file is left as it is")]
    SealedWrongly { name: String },
}

impl Refusal for ModelRefusal {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Exists { .. } | Self::TooManyOwn => ErrorCode::Conflict,
            Self::OwnElsewhere { .. } => ErrorCode::Forbidden,
            Self::Unusable(said) => said.code,
            Self::NoBaseUrl { .. }
            | Self::KeyInUrl
            | Self::NoName { .. }
            | Self::NoModelId
            | Self::NoPrice
            | Self::NoTokens
            | Self::OwnOfCommunity
            | Self::OwnFromEnvironment
            | Self::OwnWithoutKey
            | Self::NoTemperature
            | Self::NoTime => ErrorCode::BadRequest,
            Self::SealedWrongly { .. } => ErrorCode::Internal,
        }
    }

    fn fix(&self, _to: Language) -> Option<String> {
        match self {
            Self::Exists { .. } => Some("`cloister model add --replace` replaces it".to_owned()),
            Self::Unusable(said) => said.fix.clone(),
            Self::NoBaseUrl { .. } => Some(
                "It looks like https://openrouter.ai/api/v1 or http://127.0.0.1:11434/v1."
                    .to_owned(),
            ),
            Self::OwnElsewhere { known } => {
                Some(format!("Choose one of {known}; whoever runs this machine connects others."))
            }
            Self::KeyInUrl
            | Self::OwnOfCommunity
            | Self::OwnFromEnvironment
            | Self::OwnWithoutKey
            | Self::TooManyOwn
            | Self::NoName { .. }
            | Self::NoModelId
            | Self::NoPrice
            | Self::NoTokens
            | Self::NoTemperature
            | Self::NoTime
            | Self::SealedWrongly { .. } => None,
        }
    }
}
