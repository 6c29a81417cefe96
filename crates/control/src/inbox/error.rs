//! What is refused on the way in.

use std::time::Duration;

use cloister_protocol::{ChatId, ErrorCode, Language, MAX_ATTACHMENTS, MAX_TEXT_BYTES};

use crate::error::{Failed, Refusal};
use crate::limits::TooMuch;

pub type InboxError = Failed<InboxRefusal>;

#[derive(Debug, thiserror::Error)]
pub enum InboxRefusal {
    #[error("the control plane is stopping; the message was not taken")]
    Stopping,
    #[error(transparent)]
    TooMuch(TooMuch),
    #[error("{waiting} messages wait for an answer already")]
    Unanswered { waiting: i64, retry_after: Duration },
    #[error("{waiting} messages of everybody wait for an answer already")]
    Full { waiting: i64, retry_after: Duration },
    #[error("chat {chat} is archived")]
    Archived { chat: ChatId },
    /// The same, where there is no command line.
    #[error("chat {chat} is archived")]
    ArchivedHere { chat: ChatId },
    #[error("{path:?} is not a file that was sent to this chat")]
    NotSentHere { path: String },
    #[error("the text has {bytes} bytes; at most {MAX_TEXT_BYTES} are taken")]
    TextTooLong { bytes: usize },
    #[error("at most {MAX_ATTACHMENTS} files can come with one message")]
    TooManyFiles,
    #[error("the message is empty")]
    Empty,
    #[error("what this is to take the place of is no message of yours in this chat")]
    NotYours,
    #[error("somebody else has written here since: what was said before stands")]
    OthersSince,
    #[error("the file is larger than the {most_mb} MB that are taken")]
    FileTooLarge { most_mb: u64 },
    #[error("there is no such file in this chat")]
    NoSuchFile,
    #[error("the workspace is over its quota: writes are refused")]
    OverQuota,
}

impl From<TooMuch> for InboxError {
    fn from(too_much: TooMuch) -> Self {
        InboxRefusal::TooMuch(too_much).into()
    }
}

impl Refusal for InboxRefusal {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Stopping => ErrorCode::ShuttingDown,
            Self::TooMuch(_) | Self::Unanswered { .. } | Self::Full { .. } => ErrorCode::Busy,
            Self::Archived { .. } | Self::ArchivedHere { .. } | Self::OthersSince => {
                ErrorCode::Conflict
            }
            Self::NotSentHere { .. } | Self::Empty => ErrorCode::BadRequest,
            Self::TextTooLong { .. } | Self::TooManyFiles | Self::FileTooLarge { .. } => {
                ErrorCode::TooLarge
            }
            Self::NoSuchFile | Self::NotYours => ErrorCode::NotFound,
            Self::OverQuota => ErrorCode::OverQuota,
        }
    }

    fn fix(&self, _to: Language) -> Option<String> {
        let fix = match self {
            Self::Stopping => "send it again in a moment",
            Self::Archived { chat } => {
                return Some(format!("open it again with `cloister chats archive {chat} --undo`"));
            }
            Self::ArchivedHere { .. } => "/archive undo opens it again, /new starts another",
            Self::NotSentHere { .. } => {
                "upload it first, and use the path that the upload answers with"
            }
            Self::TextTooLong { .. } => "send it as a file",
            Self::OverQuota => {
                "delete files you no longer need (the agent can), or ask the operator for a larger quota"
            }
            Self::TooMuch(_)
            | Self::Unanswered { .. }
            | Self::Full { .. }
            | Self::TooManyFiles
            | Self::Empty
            | Self::NotYours
            | Self::OthersSince
            | Self::NoSuchFile
            | Self::FileTooLarge { .. } => return None,
        };
        Some(fix.to_owned())
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::TooMuch(too_much) => Some(too_much.retry_after),
            Self::Unanswered { retry_after, .. } | Self::Full { retry_after, .. } => {
                Some(*retry_after)
            }
            _ => None,
        }
    }
}
