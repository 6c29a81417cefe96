//! Why a part did not do what it was asked.

use std::error::Error;
use std::time::Duration;

use cloister_protocol::{ErrorBody, ErrorCode, Language, with_causes};
use cloister_words::say;

use super::{ControlError, Fault};

/// What a part says no with, in its own words: in English it is what the variant displays.
pub trait Refusal: Error {
    fn code(&self) -> ErrorCode;

    /// The sentence in somebody's language.
    fn said(&self, _to: Language) -> String {
        self.to_string()
    }

    /// What to do about it.
    fn fix(&self, _to: Language) -> Option<String> {
        None
    }

    /// It was too much at once, and is worth trying again after this long.
    fn retry_after(&self) -> Option<Duration> {
        None
    }
}

/// The error of a part whose refusals are `R`.
#[derive(Debug, thiserror::Error)]
pub enum Failed<R> {
    #[error(transparent)]
    Refused(R),
    /// Another part that was asked for something refused it. Never a fault: those pass as they are.
    #[error(transparent)]
    Elsewhere(Box<ControlError>),
    #[error(transparent)]
    Fault(Fault),
}

impl<R: Refusal> From<R> for Failed<R> {
    fn from(refusal: R) -> Self {
        Self::Refused(refusal)
    }
}

impl<R> From<Fault> for Failed<R> {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl<R> Failed<R> {
    /// The same, as what another part fails with that asked this one.
    pub(super) fn pass_on<Other>(self) -> Failed<Other>
    where
        ControlError: From<R>,
    {
        match self {
            Self::Refused(refusal) => Failed::Elsewhere(Box::new(refusal.into())),
            Self::Elsewhere(refusal) => Failed::Elsewhere(refusal),
            Self::Fault(fault) => Failed::Fault(fault),
        }
    }
}

impl<R: Refusal + 'static> Failed<R> {
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::Elsewhere(refusal) => refusal.code(),
            Self::Fault(fault) => fault.code(),
        }
    }

    /// What the asker may see: no paths of ours, no causes.
    pub fn body(&self) -> ErrorBody {
        self.body_in(Language::En)
    }

    /// The same in the asker's language.
    pub fn body_in(&self, to: Language) -> ErrorBody {
        match self {
            Self::Refused(refusal) => refusal_body(refusal, to),
            Self::Elsewhere(refusal) => refusal.body_in(to),
            Self::Fault(fault) => fault.body_in(to),
        }
    }

    /// It was too much at once, and is worth trying again after this long.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused(refusal) => refusal.retry_after(),
            Self::Elsewhere(refusal) => refusal.retry_after(),
            Self::Fault(_) => None,
        }
    }

    /// The whole chain of causes, for the log.
    pub fn chain(&self) -> String {
        with_causes(self)
    }
}

pub(super) fn refusal_body(refusal: &dyn Refusal, to: Language) -> ErrorBody {
    let (message, code) = (refusal.said(to), refusal.code());
    let Some(wait) = refusal.retry_after().map(whole_seconds) else {
        return ErrorBody { code, message, fix: refusal.fix(to), retry_after_s: None };
    };
    let message = say!(to, "busy: {message}", message = message);
    let fix = Some(say!(to, "try again in {wait} s", wait = wait));
    ErrorBody { code, message, fix, retry_after_s: Some(wait) }
}

/// Rounded up, and at least one: whoever waits that long is not too early.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0)).max(1)
}
