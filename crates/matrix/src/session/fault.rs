//! What a failed request means for the connection: wait, try again, or give up until an operator acts.

use std::time::{Duration, SystemTime};

use cloister_protocol::last_cause;
use matrix_sdk::ruma::api::error::{ErrorKind, RetryAfter};
use matrix_sdk::{Error, HttpError};

/// The longest that a server may ask to wait.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
/// What a wait lasts if the server does not say.
const USUAL_WAIT: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The access token is not taken any more.
    LoggedOut(String),
    /// Too fast.
    Wait(Duration),
    /// The server does not know how far we have read.
    BadPosition,
    /// It may work later.
    Passing { kind: &'static str, why: String },
}

impl Fault {
    pub(crate) fn of(error: &Error, now_ms: i64) -> Self {
        match error {
            Error::Http(http) => Self::of_http(http, now_ms),
            other => Self::Passing { kind: "other", why: chain(other) },
        }
    }

    pub(crate) fn of_http(error: &HttpError, now_ms: i64) -> Self {
        match error.client_api_error_kind() {
            Some(ErrorKind::UnknownToken(token)) if token.soft_logout => {
                Self::LoggedOut("the homeserver wants the account to log in again".to_owned())
            }
            Some(ErrorKind::UnknownToken(_) | ErrorKind::MissingToken) => {
                Self::LoggedOut("the homeserver no longer takes the access token".to_owned())
            }
            Some(ErrorKind::UserDeactivated) => {
                Self::LoggedOut("the account is deactivated".to_owned())
            }
            Some(ErrorKind::UserLocked) => Self::LoggedOut("the account is locked".to_owned()),
            Some(ErrorKind::LimitExceeded(limit)) => {
                Self::Wait(limit.retry_after.map_or(USUAL_WAIT, |after| wait(after, now_ms)))
            }
            Some(ErrorKind::UnknownPos) => Self::BadPosition,
            _ if names_a_bad_position(error) => Self::BadPosition,
            _ => Self::Passing { kind: kind(error), why: in_short(error) },
        }
    }
}

/// What went wrong, as the metrics count it.
fn kind(error: &HttpError) -> &'static str {
    match error {
        HttpError::Reqwest(error) if error.is_timeout() => "timeout",
        HttpError::Reqwest(_) => "unreachable",
        other => match other.as_client_api_error() {
            Some(answer) if answer.status_code.is_server_error() => "server_error",
            _ => "other",
        },
    }
}

fn wait(after: RetryAfter, now_ms: i64) -> Duration {
    let asked = match after {
        RetryAfter::Delay(delay) => delay,
        RetryAfter::DateTime(at) => {
            let since_epoch = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let now = Duration::from_millis(now_ms.max(0).unsigned_abs());
            since_epoch.saturating_sub(now)
        }
    };
    asked.clamp(Duration::from_millis(100), LONGEST_WAIT)
}

/// Homeservers have no code of their own for a token that they can't read.
fn names_a_bad_position(error: &HttpError) -> bool {
    error.as_client_api_error().is_some_and(|error| {
        let text = error.to_string().to_lowercase();
        error.status_code.as_u16() == 400
            && text.contains("token")
            && ["stream", "since", "sync", "pagination"].iter().any(|word| text.contains(word))
    })
}

/// A failed request in a few words: no address with all its parameters, no page of HTML.
pub(crate) fn in_short(error: &HttpError) -> String {
    match error {
        HttpError::Reqwest(error) if error.is_timeout() => "no answer in time".to_owned(),
        HttpError::Reqwest(error) => {
            let what = if error.is_connect() { "no connection" } else { "the request failed" };
            format!("{what}: {}", last_cause(error))
        }
        other => match other.as_client_api_error() {
            Some(answer) => format!("it answered {answer}"),
            None => other.to_string(),
        },
    }
    .chars()
    .take(300)
    .collect()
}

/// The same of any error of the SDK.
pub(crate) fn brief(error: &Error) -> String {
    match error {
        Error::Http(http) => in_short(http),
        other => chain(other),
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    cloister_protocol::with_causes(error).chars().take(300).collect()
}
