//! The words with which a turn ends, however it ended. Pure.

use cloister_protocol::link::{Cause, TaskReport};
use cloister_protocol::{ErrorCode, Phrases};

use super::Stop;
use crate::context::reports;
use crate::guard::Looping;
use crate::journal::JournalError;
use crate::link::LinkError;
use crate::work::Halt;

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
    /// Its journal can't be written, because there is no room or for another reason.
    NoJournal {
        is_full: bool,
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
        Self::NoJournal { is_full: error.is_full() }
    }

    /// What is added to what was `shown`, and the error code of the end. `taken_over`: what turns would have told that
    /// made way for this one; it is told whatever becomes of this one.
    pub(super) fn words(
        self,
        cause: &Cause,
        taken_over: &[TaskReport],
        (phrases, shown): (&Phrases, &str),
    ) -> (Option<String>, Option<ErrorCode>) {
        let answered = matches!(self, Self::Answered) && !shown.is_empty();
        if taken_over.is_empty() || answered || matches!(self, Self::Yielded) {
            return self.own_words(cause, phrases, shown);
        }
        let (words, error) = self.own_words(cause, phrases, shown);
        let told = reports::for_person(taken_over, phrases);
        (Some(words.map_or_else(|| told.clone(), |words| format!("{told}\n\n{words}"))), error)
    }

    fn own_words(
        self,
        cause: &Cause,
        phrases: &Phrases,
        shown: &str,
    ) -> (Option<String>, Option<ErrorCode>) {
        let reports = reports_of(cause);
        let (failed, code) = match &self {
            Self::NoJournal { is_full: true } => (&phrases.no_room, ErrorCode::OverQuota),
            Self::NoJournal { is_full: false } => (&phrases.no_record, ErrorCode::Internal),
            Self::Failed { words, code } => (words, *code),
            _ => (&phrases.empty, ErrorCode::ModelUnavailable),
        };
        match self {
            Self::Answered if !shown.is_empty() => (None, None),
            Self::Answered if reports.is_empty() => (Some(failed.clone()), Some(code)),
            Self::Answered => (Some(reports::for_person(reports, phrases)), None),
            Self::Cancelled if !shown.is_empty() => (None, Some(ErrorCode::Cancelled)),
            Self::Cancelled => (Some(phrases.stopped.clone()), Some(ErrorCode::Cancelled)),
            Self::Yielded => (None, Some(ErrorCode::Continued)),
            Self::Looping(looping) => (Some(looping.told(phrases)), Some(ErrorCode::LoopStopped)),
            Self::Failed { .. } | Self::NoJournal { .. } if reports.is_empty() => {
                (Some(failed.clone()), Some(code))
            }
            // What the tasks did is told even when no model can put it nicely: the turn did its work.
            Self::Failed { .. } | Self::NoJournal { .. } => {
                (Some(format!("{}\n\n({failed})", reports::for_person(reports, phrases))), None)
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
