//! What fails beneath a part, whichever it is: the database, a file, the sandbox.

use cloister_protocol::{ErrorBody, ErrorCode, Language, ParseIdError, with_causes};
use cloister_store::audit::AuditError;
use cloister_store::secrets::SecretError;
use cloister_store::{StoreError, Trouble};
use cloister_words::{say, text_of};

use super::{ControlError, Failed};
use crate::files::FileError;
use crate::ports::LaunchError;

#[derive(Debug, thiserror::Error)]
pub enum Fault {
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
    /// What names a thing is no name of one.
    #[error(transparent)]
    Id(#[from] ParseIdError),
}

impl Fault {
    /// There is no such thing.
    pub fn not_found(what: &'static str, name: impl Into<String>) -> Self {
        Self::Store(StoreError::NotFound { what, name: name.into() })
    }

    pub fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// Work on another thread did not come to its end.
    pub(crate) fn interrupted(
        what: impl Into<String>,
    ) -> impl FnOnce(tokio::task::JoinError) -> Self {
        let what = what.into();
        move |join| Self::Io { what, source: std::io::Error::other(join) }
    }

    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Store(StoreError::NotFound { .. })
            | Self::File(FileError::NotFound { .. })
            | Self::Audit(AuditError::NoSuchEntries { .. })
            | Self::Secret(SecretError::NoSecret { .. }) => ErrorCode::NotFound,
            Self::Store(StoreError::Exists { .. })
            | Self::Secret(SecretError::NoIncoming { .. }) => ErrorCode::Conflict,
            Self::Store(StoreError::TooMany { .. } | StoreError::Busy { .. }) => ErrorCode::Busy,
            Self::Store(
                StoreError::Open { .. }
                | StoreError::Migrate { .. }
                | StoreError::Damaged { .. }
                | StoreError::Query { .. }
                | StoreError::Corrupt { .. }
                | StoreError::Random(_),
            )
            | Self::File(FileError::Io { .. })
            | Self::Io { .. } => ErrorCode::Internal,
            Self::File(FileError::BadPath { .. })
            | Self::Secret(SecretError::Binding(_))
            | Self::Id(_) => ErrorCode::BadRequest,
            Self::File(FileError::Refused { .. }) => ErrorCode::Refused,
            Self::Launch(error) => error.code(),
            Self::Audit(_) | Self::Secret(_) => ErrorCode::Internal,
        }
    }

    /// What the asker may see: no paths of ours, no causes.
    pub fn body(&self) -> ErrorBody {
        self.body_in(Language::En)
    }

    /// The same in the asker's language.
    pub fn body_in(&self, to: Language) -> ErrorBody {
        if let Some(trouble) = Trouble::of(self) {
            let mut body = ErrorBody::new(ErrorCode::Internal, text_of(to, trouble.words()));
            body.fix = Some(text_of(to, trouble.fix()).to_owned());
            return body;
        }
        let (message, fix) = match self {
            Self::Store(
                error @ (StoreError::NotFound { .. }
                | StoreError::Exists { .. }
                | StoreError::TooMany { .. }),
            ) => (error.to_string(), None),
            Self::Audit(error @ AuditError::NoSuchEntries { .. }) => (error.to_string(), None),
            Self::Secret(error @ SecretError::NoSecret { .. }) => {
                (error.to_string(), Some(say!(to, "`cloister secret list` shows what there is")))
            }
            Self::Secret(error @ (SecretError::Binding(_) | SecretError::NoIncoming { .. })) => {
                (error.to_string(), None)
            }
            Self::Store(_) | Self::Io { .. } | Self::Audit(_) | Self::Secret(_) => {
                (self.to_string(), Some(say!(to, "see the log of the control plane")))
            }
            Self::File(_) | Self::Id(_) => (self.to_string(), None),
            Self::Launch(LaunchError::CannotIsolate { fix, .. }) => (self.to_string(), fix.clone()),
            Self::Launch(LaunchError::Failed { .. }) => (
                say!(to, "the sandbox did not start"),
                Some(say!(to, "see the log of the control plane, and `cloister doctor`")),
            ),
        };
        ErrorBody { code: self.code(), message, fix, retry_after_s: None }
    }

    /// The whole chain of causes, for the log.
    pub fn chain(&self) -> String {
        with_causes(self)
    }
}

/// What fails beneath every part becomes the error of each, so that `?` says it.
macro_rules! beneath {
    ($($below:ident),+ $(,)?) => {$(
        impl<R> From<$below> for Failed<R> {
            fn from(error: $below) -> Self {
                Self::Fault(error.into())
            }
        }

        impl From<$below> for ControlError {
            fn from(error: $below) -> Self {
                Self::Fault(error.into())
            }
        }
    )+};
}

beneath!(StoreError, FileError, LaunchError, AuditError, SecretError, ParseIdError);
