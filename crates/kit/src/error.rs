//! Why something could not be done: a code, a sentence, what to do, and what is behind it.

use std::time::Duration;

use cloister_protocol::{ErrorBody, ErrorCode, ParseIdError, with_causes};

#[derive(Debug, thiserror::Error)]
#[error("{}", body.message)]
pub struct PlaneError {
    body: ErrorBody,
    #[source]
    cause: Option<std::io::Error>,
    retry_after: Option<Duration>,
}

impl PlaneError {
    pub fn refused(code: ErrorCode, message: impl Into<String>) -> Self {
        let body = ErrorBody { code, message: message.into(), fix: None, retry_after_s: None };
        Self { body, cause: None, retry_after: None }
    }

    pub fn with_fix(code: ErrorCode, message: impl Into<String>, fix: impl Into<String>) -> Self {
        let mut error = Self::refused(code, message);
        error.body.fix = Some(fix.into());
        error
    }

    /// Too much at once; it is worth trying again after this long.
    pub fn busy(message: impl Into<String>, retry_after: Duration) -> Self {
        let nanos = u64::from(retry_after.subsec_nanos() > 0);
        let seconds = retry_after.as_secs().saturating_add(nanos).max(1);
        let (message, fix) =
            (format!("busy: {}", message.into()), format!("try again in {seconds} s"));
        let mut error = Self::with_fix(ErrorCode::Busy, message, fix);
        error.body.retry_after_s = Some(seconds);
        error.retry_after = Some(retry_after);
        error
    }

    /// Too much at once, as [`PlaneError::busy`] says it.
    pub const fn is_busy(&self) -> bool {
        matches!(self.body.code, ErrorCode::Busy) && self.body.retry_after_s.is_some()
    }

    /// After how long it is worth trying again, if that was said.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after.or_else(|| self.body.retry_after_s.map(Duration::from_secs))
    }

    /// Our own trouble, which says nothing about the event: nothing is given up for that.
    pub const fn may_pass(&self) -> bool {
        self.cause.is_some()
            || self.body.retry_after_s.is_some()
            || matches!(self.body.code, ErrorCode::ShuttingDown)
    }

    pub fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |cause| {
            let fix = "see the log of the control plane";
            Self { cause: Some(cause), ..Self::with_fix(ErrorCode::Internal, what, fix) }
        }
    }

    /// The control plane did not answer; what was asked may have been done.
    pub(crate) fn no_answer(why: impl std::fmt::Display) -> Self {
        let message = format!("the control plane did not answer: {why}");
        Self::refused(ErrorCode::ShuttingDown, message)
    }

    pub const fn code(&self) -> ErrorCode {
        self.body.code
    }

    /// What the asker may see.
    pub fn body(&self) -> ErrorBody {
        self.body.clone()
    }

    /// The whole chain of causes, for the log.
    pub fn chain(&self) -> String {
        with_causes(self)
    }
}

impl From<ErrorBody> for PlaneError {
    fn from(body: ErrorBody) -> Self {
        Self { body, cause: None, retry_after: None }
    }
}

impl From<ParseIdError> for PlaneError {
    fn from(error: ParseIdError) -> Self {
        Self::refused(ErrorCode::BadRequest, error.to_string())
    }
}
