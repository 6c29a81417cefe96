//! What is refused about tasks and turns.

use cloister_protocol::{ErrorCode, TaskId, TaskState, TurnId};

use super::requests::{MAX_CHILDREN, MAX_DEPTH};
use crate::error::{Failed, Refusal};

pub type TaskError = Failed<TaskRefusal>;

#[derive(Debug, thiserror::Error)]
pub enum TaskRefusal {
    /// The same for one that is not there and for one that is not the asker's business.
    #[error("there is no task {id}")]
    NoTask { id: TaskId },
    #[error("there is no open task {id} here")]
    NotOpen { id: TaskId },
    #[error("there is no turn {turn} in this chat")]
    NoTurn { turn: TurnId },
    #[error("nothing of {id} waits to be put into the chat's files")]
    NothingKept { id: TaskId },
    #[error(
        "there is nothing of {id} to take back: it changed no file of the chat, or that was too long ago"
    )]
    NothingToUndo { id: TaskId },
    #[error("no task has changed a file of this chat, or that was too long ago")]
    NothingLanded,
    #[error("they are more files than can land at once: ask for them as an archive")]
    TooMuchToLand,
    #[error(
        "the workspace would have {used_mb} of {quota_mb} MB: delete files you no longer need, let go of what tasks did that failed, or ask the operator for a larger quota"
    )]
    NoRoomToLand { used_mb: u64, quota_mb: u64 },
    #[error("{id} is a sub-task: retry the task above it")]
    RetrySubTask { id: TaskId },
    #[error("{id} is {}: only a task that failed or was cancelled can be retried", .state.as_str())]
    RetryLive { id: TaskId, state: TaskState },
    #[error("an executor sees its own task only")]
    OwnTaskOnly,
    #[error("sub-tasks nest at most {MAX_DEPTH} deep: do this part yourself")]
    TooDeep,
    #[error("a task has at most {MAX_CHILDREN} sub-tasks: do this part yourself")]
    TooManySubTasks,
    #[error("a plan has 1 byte to 32 KiB of text")]
    NoPlan,
    #[error("{reason}")]
    ProposalRefused { reason: String },
    #[error("{path:?} is larger than the {most_mb} MB that can be sent")]
    FileTooLarge { path: String, most_mb: u64 },
    #[error("at most {most} files are sent at once: put them into one archive")]
    TooManyFiles { most: u32 },
    #[error("more than {most_mb} MB of files would have been sent in a day")]
    TooMuchSent { most_mb: u64 },
}

impl Refusal for TaskRefusal {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NoTask { .. } | Self::NotOpen { .. } | Self::NoTurn { .. } => ErrorCode::NotFound,
            Self::RetrySubTask { .. }
            | Self::RetryLive { .. }
            | Self::NothingKept { .. }
            | Self::NothingToUndo { .. }
            | Self::NothingLanded => ErrorCode::Conflict,
            Self::OwnTaskOnly => ErrorCode::Forbidden,
            Self::TooDeep | Self::TooManySubTasks | Self::ProposalRefused { .. } => {
                ErrorCode::Refused
            }
            Self::NoPlan => ErrorCode::BadRequest,
            Self::TooMuchToLand
            | Self::NoRoomToLand { .. }
            | Self::FileTooLarge { .. }
            | Self::TooManyFiles { .. }
            | Self::TooMuchSent { .. } => ErrorCode::TooLarge,
        }
    }
}
