//! What control answers when it can't do what was asked: a code, a sentence, and what to do.

use std::time::Duration;

use cloister_protocol::{ErrorBody, ErrorCode, ParseIdError, with_causes};
use cloister_store::StoreError;
use cloister_store::audit::AuditError;
use cloister_store::secrets::SecretError;

use crate::files::FileError;
use crate::ports::LaunchError;

#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error("{message}")]
    Refused { code: ErrorCode, message: String, fix: Option<String> },
    #[error("{message}")]
    Busy { message: String, retry_after: Duration },
    #[error("the database failed")]
    Store(#[from] StoreError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{what}")]
    Io { what: String, source: std::io::Error },
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error("the audit could not be used")]
    Audit(#[from] AuditError),
    #[error(transparent)]
    Secret(#[from] SecretError),
}

impl ControlError {
    pub fn refused(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Refused { code, message: message.into(), fix: None }
    }

    pub fn with_fix(code: ErrorCode, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::Refused { code, message: message.into(), fix: Some(fix.into()) }
    }

    /// There is no such thing.
    pub fn not_found(what: &'static str, name: impl Into<String>) -> Self {
        Self::Store(StoreError::NotFound { what, name: name.into() })
    }

    /// Too much at once; it is worth trying again after this long.
    pub fn busy(message: impl Into<String>, retry_after: Duration) -> Self {
        Self::Busy { message: message.into(), retry_after }
    }

    pub fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Refused { code, .. } => *code,
            Self::Busy { .. } => ErrorCode::Busy,
            Self::Store(StoreError::NotFound { .. }) => ErrorCode::NotFound,
            Self::Store(StoreError::Exists { .. }) => ErrorCode::Conflict,
            Self::Store(StoreError::TooMany { .. } | StoreError::Busy { .. }) => ErrorCode::Busy,
            Self::Store(
                StoreError::Open { .. }
                | StoreError::Migrate { .. }
                | StoreError::Query { .. }
                | StoreError::Corrupt { .. }
                | StoreError::Random(_),
            )
            | Self::Io { .. } => ErrorCode::Internal,
            Self::File(FileError::NotFound { .. }) => ErrorCode::NotFound,
            Self::File(FileError::BadPath { .. }) => ErrorCode::BadRequest,
            Self::File(FileError::Refused { .. }) => ErrorCode::Refused,
            Self::File(FileError::Io { .. }) => ErrorCode::Internal,
            Self::Launch(error) => error.code(),
            Self::Audit(AuditError::NoSuchEntries { .. })
            | Self::Secret(SecretError::NoSecret { .. }) => ErrorCode::NotFound,
            Self::Secret(SecretError::Binding(_)) => ErrorCode::BadRequest,
            Self::Secret(SecretError::NoIncoming { .. }) => ErrorCode::Conflict,
            Self::Audit(_) | Self::Secret(_) => ErrorCode::Internal,
        }
    }

    /// What the asker may see: no paths of ours, no causes.
    pub fn body(&self) -> ErrorBody {
        let mut retry_after_s = None;
        let (message, fix) = match self {
            Self::Busy { message, retry_after } => {
                let seconds = whole_seconds(*retry_after);
                retry_after_s = Some(seconds);
                (format!("busy: {message}"), Some(format!("try again in {seconds} s")))
            }
            Self::Refused { message, fix, .. } => (message.clone(), fix.clone()),
            Self::Store(
                error @ (StoreError::NotFound { .. }
                | StoreError::Exists { .. }
                | StoreError::TooMany { .. }),
            ) => (error.to_string(), None),
            Self::Audit(error @ AuditError::NoSuchEntries { .. }) => (error.to_string(), None),
            Self::Secret(error @ SecretError::NoSecret { .. }) => {
                (error.to_string(), Some("`cloister secret list` shows what there is".to_owned()))
            }
            Self::Secret(error @ (SecretError::Binding(_) | SecretError::NoIncoming { .. })) => {
                (error.to_string(), None)
            }
            Self::Store(_) | Self::Io { .. } | Self::Audit(_) | Self::Secret(_) => {
                (self.to_string(), Some("see the log of the control plane".to_owned()))
            }
            Self::File(error) => (error.to_string(), None),
            Self::Launch(LaunchError::CannotIsolate { fix, .. }) => (self.to_string(), fix.clone()),
            Self::Launch(LaunchError::Failed { .. }) => (
                "the sandbox did not start".to_owned(),
                Some("see the log of the control plane, and `cloister doctor`".to_owned()),
            ),
        };
        ErrorBody { code: self.code(), message, fix, retry_after_s }
    }

    /// The whole chain of causes, for the log.
    pub fn chain(&self) -> String {
        with_causes(self)
    }
}

/// Rounded up, and at least one: whoever waits that long is not too early.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0)).max(1)
}

impl From<ParseIdError> for ControlError {
    fn from(error: ParseIdError) -> Self {
        Self::refused(ErrorCode::BadRequest, error.to_string())
    }
}
