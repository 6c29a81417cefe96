//! What is refused to cells.

use cloister_policy::reach::CellRequest;
use cloister_protocol::{ApprovalId, ErrorCode, Language};

use crate::error::{Failed, Refusal};

pub type CellError = Failed<CellRefusal>;

#[derive(Debug, thiserror::Error)]
pub enum CellRefusal {
    #[error("{} was admitted, not {}", .admitted.as_str(), .done.as_str())]
    OtherAdmitted { admitted: CellRequest, done: CellRequest },
    #[error("a coordinator has nothing to do with {}", .0.as_str())]
    NotForCoordinators(CellRequest),
    #[error("an executor sees its own task only")]
    OwnTaskOnly,
    #[error("the request is risky: a plan must be approved before anything is changed")]
    PlanFirst,
    #[error("the request names no open turn of this chat")]
    NoOpenTurn,
    #[error("too many requests at once")]
    TooManyRequests,
    #[error("this turn has asked for more than a turn may")]
    TurnAsksTooMuch,
    #[error("the person is asked ({approval}); it is written when they allow it")]
    PersonIsAsked { approval: ApprovalId },
    #[error("{reason}")]
    ProposalRefused { reason: String },
    #[error("a coordinator has no plan to propose; delegate the task")]
    NoPlanOfCoordinators,
    #[error("there is nothing to delegate")]
    NothingToDelegate,
    #[error("a task needs instructions")]
    NoInstructions,
    #[error("the instructions of a task may be at most 64 KiB")]
    InstructionsTooLong,
    #[error("{open} tasks are open already")]
    TooManyTasks { open: usize },
}

impl Refusal for CellRefusal {
    fn code(&self) -> ErrorCode {
        match self {
            Self::OtherAdmitted { .. } | Self::OwnTaskOnly => ErrorCode::Forbidden,
            Self::PlanFirst
            | Self::PersonIsAsked { .. }
            | Self::ProposalRefused { .. }
            | Self::TurnAsksTooMuch => ErrorCode::Refused,
            Self::TooManyRequests | Self::TooManyTasks { .. } => ErrorCode::Busy,
            Self::NotForCoordinators(_)
            | Self::NoOpenTurn
            | Self::NoPlanOfCoordinators
            | Self::NothingToDelegate
            | Self::NoInstructions
            | Self::InstructionsTooLong => ErrorCode::BadRequest,
        }
    }

    fn fix(&self, _to: Language) -> Option<String> {
        let fix = match self {
            Self::PlanFirst => "write the plan with propose_plan",
            Self::TooManyRequests => "try again",
            Self::TooManyTasks { .. } => "wait for some to end, or cancel some with /cancel",
            Self::OtherAdmitted { .. }
            | Self::NotForCoordinators(_)
            | Self::OwnTaskOnly
            | Self::NoOpenTurn
            | Self::TurnAsksTooMuch
            | Self::PersonIsAsked { .. }
            | Self::ProposalRefused { .. }
            | Self::NoPlanOfCoordinators
            | Self::NothingToDelegate
            | Self::NoInstructions
            | Self::InstructionsTooLong => return None,
        };
        Some(fix.to_owned())
    }
}
