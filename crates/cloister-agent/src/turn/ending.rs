//! The words with which a turn ends, however it ended. Pure.

use cloister_protocol::ErrorCode;
use cloister_protocol::link::{Cause, TaskReport};

use super::Stop;
use crate::context::reports;
use crate::guard::Looping;
use crate::journal::JournalError;
use crate::link::LinkError;
use crate::work::Halt;

const EMPTY: &str = "The model gave an empty answer. Please ask again, or in other words.";
/// Behind an answer that ends where it may be no longer.
pub(super) const CUT: &str =
    "(The answer ends here because it may not be longer. Say \"go on\" for the rest.)";
const CANCELLED: &str = "Stopped.";
const NO_ROOM: &str = "I can't write to this chat's record: the workspace is full or over its quota. \
    Delete files you no longer need, or raise the quota, and ask again.";
const NO_RECORD: &str = "I can't use this chat's record, so I can't answer here; the log has the \
    cause. Start a new chat, or ask the operator to look at it.";

/// How the loop ended; losing the link is no end.
pub(super) enum TurnOutcome {
    Answered,
    Cancelled,
    /// The next turn goes on with it.
    Yielded,
    Looping(Looping),
    Failed {
        words: String,
        code: ErrorCode,
    },
}

impl TurnOutcome {
    pub(super) fn of(result: Option<Result<(), Halt<Stop>>>) -> Result<Self, LinkError> {
        Ok(match result {
            None => Self::Cancelled,
            Some(Ok(())) => Self::Answered,
            Some(Err(Halt::Looping(looping))) => Self::Looping(looping),
            Some(Err(Halt::Stopped(Stop::Link(error)))) => return Err(error),
            Some(Err(Halt::Stopped(Stop::Journal(error)))) => Self::no_journal(&error),
            Some(Err(Halt::Stopped(Stop::Yielded))) => Self::Yielded,
            Some(Err(Halt::Stopped(Stop::Model(error)))) => {
                Self::Failed { words: error.message, code: error.code }
            }
        })
    }

    pub(super) fn no_journal(error: &JournalError) -> Self {
        if error.is_full() {
            Self::Failed { words: NO_ROOM.to_owned(), code: ErrorCode::OverQuota }
        } else {
            Self::Failed { words: NO_RECORD.to_owned(), code: ErrorCode::Internal }
        }
    }

    /// What is added to what was `shown`, and the error code of the end.
    pub(super) fn words(self, cause: &Cause, shown: &str) -> (Option<String>, Option<ErrorCode>) {
        let reports = reports_of(cause);
        match self {
            Self::Answered if !shown.is_empty() => (None, None),
            Self::Answered if reports.is_empty() => {
                (Some(EMPTY.to_owned()), Some(ErrorCode::ModelUnavailable))
            }
            Self::Answered => (Some(reports::for_person(reports)), None),
            Self::Cancelled if !shown.is_empty() => (None, Some(ErrorCode::Cancelled)),
            Self::Cancelled => (Some(CANCELLED.to_owned()), Some(ErrorCode::Cancelled)),
            Self::Yielded => (None, Some(ErrorCode::Continued)),
            Self::Looping(looping) => (Some(looping.to_string()), Some(ErrorCode::LoopStopped)),
            Self::Failed { words, code } if reports.is_empty() => (Some(words), Some(code)),
            // What the tasks did is told even when no model can put it nicely: the turn did its work.
            Self::Failed { words, .. } => {
                (Some(format!("{}\n\n({words})", reports::for_person(reports))), None)
            }
        }
    }
}

pub(super) fn reports_of(cause: &Cause) -> &[TaskReport] {
    match cause {
        Cause::TasksEnded { reports } => reports,
        Cause::Message { .. } | Cause::Clear => &[],
    }
}
