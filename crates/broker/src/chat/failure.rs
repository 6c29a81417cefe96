//! Why an attempt on a model failed, and what that means for the next one.

use std::time::Duration;

use axum::http::StatusCode;
use cloister_control::Unanswered;
use cloister_protocol::{ErrorCode, Language};

use super::trial;
use crate::keys::KeyError;
use crate::refusal::{Refusal, shorten};

/// What is said of a model that a person connected for themselves.
pub(super) const OWN: &str = " (your own)";

/// How much of what a provider says is repeated to people.
const SAID_CHARS: usize = 200;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("its key can't be used: {0}")]
    Key(#[from] KeyError),
    #[error("everything is stopped until it is released")]
    Stopped,
    #[error("no connection: {reason}")]
    Connect { reason: String },
    #[error("the connection was lost before it answered")]
    Lost,
    #[error("no answer within {}", seconds(.0))]
    FirstByte(Duration),
    #[error("it fell silent for {} in the middle of its answer", seconds(.0))]
    Idle(Duration),
    #[error("it answered {code}{said}")]
    Status { code: u16, retry_after: Option<Duration>, said: ProviderSaid },
    #[error("the whole call took longer than {}", seconds(.0))]
    OutOfTime(Duration),
    #[error("its answer went on without an end")]
    Endless,
    #[error("it reported an error{said}")]
    Reported { said: ProviderSaid },
    #[error("its answer was cut off")]
    Cut,
    #[error("it answered without a word")]
    Empty,
    #[error("its answer is not what the wire format says: {0}")]
    Malformed(&'static str),
}

/// What a provider said, short and without the key.
#[derive(Debug)]
pub(crate) struct ProviderSaid(pub(crate) String);

impl std::fmt::Display for ProviderSaid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = self.0.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() { Ok(()) } else { write!(f, ": {}", shorten(&text, SAID_CHARS)) }
    }
}

fn seconds(duration: &Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

/// What to do after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The same model may answer if asked again.
    Again,
    /// It cost time (or part of an answer) already: another model first, if there is one.
    OtherFirst,
    /// This model will not answer this request.
    Other,
}

impl Failure {
    pub(crate) fn next(&self) -> Next {
        match self {
            Self::Connect { .. } | Self::Lost => Next::Again,
            Self::Status { code, .. } if *code == 429 || *code == 408 || *code >= 500 => {
                Next::Again
            }
            Self::FirstByte(_) | Self::Idle(_) | Self::Cut | Self::Reported { .. } => {
                Next::OtherFirst
            }
            Self::Key(_)
            | Self::Stopped
            | Self::Status { .. }
            | Self::Malformed(_)
            | Self::OutOfTime(_)
            | Self::Endless
            | Self::Empty => Next::Other,
        }
    }

    /// It fails until somebody changes how the model is set up.
    fn is_about_setup(&self) -> bool {
        match self {
            Self::Key(_) | Self::Malformed(_) => true,
            Self::Status { code, .. } => matches!(code, 401..=404),
            _ => false,
        }
    }

    fn is_too_much(&self) -> bool {
        matches!(self, Self::Status { code: 429, .. })
    }

    fn is_late(&self) -> bool {
        matches!(self, Self::FirstByte(_) | Self::Idle(_) | Self::OutOfTime(_) | Self::Endless)
    }

    /// The provider did not take the pictures of a request.
    pub(super) fn is_about_pictures(&self) -> bool {
        let (Self::Status { said, .. } | Self::Reported { said }) = self else { return false };
        let said = said.0.to_lowercase();
        ["image", "vision", "multimodal", "picture"].iter().any(|word| said.contains(word))
    }

    /// The model can't read as much as it was shown.
    pub(super) fn is_about_length(&self) -> bool {
        let said = match self {
            Self::Status { code: 413, .. } => return true,
            Self::Status { code: 400 | 422, said, .. } | Self::Reported { said } => &said.0,
            _ => return false,
        };
        let said = said.to_lowercase();
        let of_context = ["length", "exceed", "window", "size", "too long", "maximum"];
        let about = |words: &[&str]| words.iter().any(|word| said.contains(word));
        (said.contains("context") && about(&of_context))
            || about(&[
                "prompt is too long",
                "input is too long",
                "too many tokens",
                "reduce the length",
            ])
    }

    /// How much the model can read, where it says that with its refusal.
    pub(super) fn window(&self) -> Option<u32> {
        let (Self::Status { said, .. } | Self::Reported { said }) = self else { return None };
        trial::window_in(&said.0).filter(|_| self.is_about_length())
    }

    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// A word for the log.
    pub(crate) fn status(&self) -> &'static str {
        match self {
            Self::Key(_) => "no_key",
            Self::Stopped => "stopped",
            Self::Connect { .. } => "no_connection",
            Self::Lost => "lost",
            Self::FirstByte(_) => "timeout_first_byte",
            Self::Idle(_) => "timeout_idle",
            Self::OutOfTime(_) | Self::Endless => "timeout_total",
            Self::Status { .. } => "refused_by_provider",
            Self::Reported { .. } => "error_in_stream",
            Self::Cut => "cut",
            Self::Empty => "empty",
            Self::Malformed(_) => "malformed",
        }
    }
}

/// What it is for a person who can do nothing about models but wait, or tell somebody.
fn for_members(tried: &[(String, Failure)]) -> Unanswered {
    let all = |is: fn(&Failure) -> bool| tried.iter().all(|(_, failure)| is(failure));
    if all(Failure::is_about_setup) {
        Unanswered::NotSetUp
    } else if all(Failure::is_too_much) {
        Unanswered::TooMuch
    } else if all(Failure::is_late) {
        Unanswered::TooLate
    } else {
        Unanswered::Failed
    }
}

/// No model of the chain answered: each with its last reason, for who can act upon it.
pub(crate) fn unavailable(
    tried: &[(String, Failure)],
    runs_platform: bool,
    to: Language,
) -> Refusal {
    let refused = |message: String, fix: String| {
        Refusal::new(StatusCode::BAD_GATEWAY, ErrorCode::ModelUnavailable, message).fix(fix)
    };
    // The agent shows it less and asks again.
    if tried.iter().any(|(_, failure)| failure.is_about_length()) {
        let message = Unanswered::TooLong.message(to);
        let refusal = Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, ErrorCode::TooLarge, message);
        return refusal.fix(Unanswered::TooLong.fix(to));
    }
    // Who connected a model can do something about it.
    let is_own = |(model, _): &(String, Failure)| model.ends_with(OWN);
    if !runs_platform && !tried.iter().all(is_own) {
        let why = for_members(tried);
        return refused(why.message(to), why.fix(to));
    }
    // What a provider says may end with a stop of its own.
    let reason = |(model, failure): &(String, Failure)| {
        format!("{model}: {failure}").trim_end_matches(['.', ' ']).to_owned()
    };
    let reasons: Vec<String> = tried.iter().map(reason).collect();
    let message = format!("no model answered. {}.", reasons.join("; "));
    let names: Vec<String> = tried
        .iter()
        .filter(|(model, _)| !model.ends_with(OWN))
        .map(|(model, _)| format!("`cloister model test {model}`"))
        .collect();
    let fix = if names.is_empty() {
        "/model default takes the choice of your own model back.".to_owned()
    } else {
        format!(
            "Check with {}, or choose another model with `cloister model use --level LEVEL NAME`.",
            names.join(", ")
        )
    };
    refused(message, fix)
}
