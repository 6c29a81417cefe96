//! Why a request was not done, or may not have been, and what that means.

use std::time::Duration;

use cloister_protocol::last_cause;
use cloister_protocol::surface::SendError;
use serde::Deserialize;

/// Codes of Discord that mean something to us.
pub(crate) mod codes {
    pub(crate) const UNKNOWN_CHANNEL: u64 = 10003;
    pub(crate) const UNKNOWN_MESSAGE: u64 = 10008;
    /// The token of an interaction is too old, or its answer is gone.
    pub(crate) const UNKNOWN_WEBHOOK: u64 = 10015;
    pub(crate) const UNKNOWN_INTERACTION: u64 = 10062;
    pub(crate) const ALREADY_ACKNOWLEDGED: u64 = 40060;
    pub(crate) const MISSING_ACCESS: u64 = 50001;
    /// The person takes no direct messages, or has blocked the bot.
    pub(crate) const CANNOT_MESSAGE_USER: u64 = 50007;
    pub(crate) const MISSING_PERMISSIONS: u64 = 50013;
    /// The token of an interaction is none.
    pub(crate) const INVALID_WEBHOOK_TOKEN: u64 = 50027;
    pub(crate) const THREAD_ARCHIVED: u64 = 50083;
}

/// Why a request was not done, or may not have been.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Too fast: it was not done, and may be tried again after this long.
    Wait(Duration),
    /// It may work later. Whether it was done is not known.
    Unreachable(String),
    /// The bot's token is not taken any more.
    Unauthorized,
    /// What it is about is not there, or not any more.
    Gone { code: u64, message: String },
    /// We may not do that there.
    Forbidden { code: u64, message: String },
    /// This will never be taken.
    Refused { code: u64, message: String },
}

impl Fault {
    /// Nothing was sent.
    pub(crate) fn not_made(error: &dyn std::error::Error) -> Self {
        Self::Refused {
            code: 0,
            message: format!("the request could not be made: {}", cause(error)),
        }
    }

    pub(super) fn no_answer(error: reqwest::Error) -> Self {
        Self::Unreachable(format!("no connection: {}", cause(&error.without_url())))
    }

    pub(super) fn late() -> Self {
        Self::Unreachable("no answer in time".to_owned())
    }

    /// What an answer means that is neither yes nor "too many requests".
    pub(super) fn of_answer(status: u16, body: &[u8]) -> Self {
        if status >= 500 {
            return Self::Unreachable(format!("it answered {status}"));
        }
        // An answer that is no answer of Discord's, such as a page of whatever stands before it.
        let Ok(Answered { code, message }) = serde_json::from_slice(body) else {
            return Self::Unreachable(format!("the answer could not be read, a {status}"));
        };
        let message = with_fields(&message, body);
        match status {
            _ if code == codes::INVALID_WEBHOOK_TOKEN => Self::Gone { code, message },
            401 => Self::Unauthorized,
            403 => Self::Forbidden { code, message },
            404 => Self::Gone { code, message },
            _ => Self::Refused { code, message },
        }
    }

    /// Discord's own code, where it has one.
    pub(crate) const fn code(&self) -> Option<u64> {
        match self {
            Self::Gone { code, .. } | Self::Forbidden { code, .. } | Self::Refused { code, .. } => {
                Some(*code)
            }
            Self::Wait(_) | Self::Unreachable(_) | Self::Unauthorized => None,
        }
    }

    /// What it means for something that was to be said.
    pub(crate) fn for_sending(self) -> SendError {
        match self {
            Self::Wait(pause) => SendError::Wait(pause),
            Self::Unreachable(why) => SendError::Unreachable(why),
            // Nothing is lost: it is told when the bot has a token again.
            Self::Unauthorized => {
                SendError::Unreachable("Discord does not take the bot's token".to_owned())
            }
            Self::Gone { message, .. } => SendError::Gone(message),
            Self::Forbidden { code: codes::CANNOT_MESSAGE_USER, .. } => {
                SendError::Gone("the person takes no messages from the bot".to_owned())
            }
            Self::Forbidden { message, .. } => SendError::Gone(message),
            Self::Refused { code: codes::THREAD_ARCHIVED, message } => SendError::Gone(message),
            Self::Refused { message, .. } => SendError::Refused(message),
        }
    }

    /// What went wrong, as the metrics count it.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Wait(_) => "rate_limited",
            Self::Unreachable(_) => "unreachable",
            Self::Unauthorized => "unauthorised",
            Self::Gone { .. } | Self::Forbidden { .. } | Self::Refused { .. } => "other",
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Wait(pause) => write!(f, "Discord asks to wait {} ms", pause.as_millis()),
            Self::Unreachable(why) => write!(f, "Discord could not be reached: {why}"),
            Self::Unauthorized => f.write_str("Discord does not take the bot's token"),
            Self::Gone { code, message }
            | Self::Forbidden { code, message }
            | Self::Refused { code, message } => write!(f, "Discord says {message} ({code})"),
        }
    }
}

impl std::error::Error for Fault {}

/// The last of the causes, without what lies between: addresses are in there.
fn cause(error: &dyn std::error::Error) -> String {
    last_cause(error).chars().take(200).collect()
}

/// A refusal of Discord's; a few say only which fields were wrong.
#[derive(Deserialize)]
#[serde(default)]
struct Answered {
    code: u64,
    message: String,
}

impl Default for Answered {
    fn default() -> Self {
        Self { code: 0, message: "it does not say why".to_owned() }
    }
}

/// Which fields of a request were wrong, if the answer names them.
#[derive(Deserialize)]
struct Details {
    #[serde(default)]
    errors: serde_json::Value,
}

fn with_fields(message: &str, body: &[u8]) -> String {
    let details = serde_json::from_slice::<Details>(body).map(|body| body.errors);
    let mut wrong = Vec::new();
    if let Ok(errors) = details {
        collect(&errors, &mut wrong);
    }
    let message: String = message.chars().take(200).collect();
    if wrong.is_empty() { message } else { format!("{message}: {}", wrong.join("; ")) }
}

fn collect(errors: &serde_json::Value, wrong: &mut Vec<String>) {
    if wrong.len() >= 4 {
        return;
    }
    match errors {
        serde_json::Value::Object(fields) => {
            if let Some(text) = fields.get("message").and_then(serde_json::Value::as_str) {
                wrong.push(text.chars().take(100).collect());
            }
            for value in fields.values() {
                collect(value, wrong);
            }
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| collect(value, wrong)),
        _ => {}
    }
}

#[cfg(test)]
#[path = "fault_tests.rs"]
mod tests;
