//! What is refused at the gates.

use cloister_policy::gate::ChangedAfterGate;
use cloister_protocol::link::Lasting;
use cloister_protocol::{ApprovalId, ErrorCode, Language};
use cloister_store::answers::AnswerRefused;

use super::proposals::MAX_TEXT_BYTES;
use crate::error::{Failed, Refusal};

pub type GateError = Failed<GateRefusal>;

#[derive(Debug, thiserror::Error)]
pub enum GateRefusal {
    #[error("you may not answer {approval}: {reason}")]
    MayNotAnswer { approval: ApprovalId, reason: String },
    #[error("{approval}: {why}")]
    AnswerNotTaken { approval: ApprovalId, why: AnswerRefused },
    #[error("{0}")]
    Changed(ChangedAfterGate),
    #[error("the proposal can't be read")]
    ProposalUnreadable,
    #[error("{approval}: {path} has changed since it was asked")]
    FileChanged { approval: ApprovalId, path: String },
    #[error("the text can't be kept: {0}")]
    TextNotKept(serde_json::Error),
    #[error("{shown:?} is no file for {}", .what.as_str())]
    NoFileFor { shown: String, what: Lasting },
    #[error("the text of such a file has at most {} KiB", MAX_TEXT_BYTES >> 10)]
    TextTooLong,
}

impl Refusal for GateRefusal {
    fn code(&self) -> ErrorCode {
        match self {
            Self::MayNotAnswer { .. } => ErrorCode::Forbidden,
            Self::AnswerNotTaken { why, .. } => match why {
                AnswerRefused::Unknown | AnswerRefused::Closed | AnswerRefused::Void => {
                    ErrorCode::NotFound
                }
                AnswerRefused::Changed => ErrorCode::Conflict,
                AnswerRefused::NotOffered => ErrorCode::BadRequest,
                AnswerRefused::SamePerson => ErrorCode::Refused,
            },
            Self::Changed(_) => ErrorCode::Refused,
            Self::ProposalUnreadable => ErrorCode::Internal,
            Self::FileChanged { .. } => ErrorCode::Conflict,
            Self::TextNotKept(_) | Self::NoFileFor { .. } => ErrorCode::BadRequest,
            Self::TextTooLong => ErrorCode::TooLarge,
        }
    }

    fn fix(&self, _to: Language) -> Option<String> {
        let fix = match self {
            Self::AnswerNotTaken { .. } => "/approvals lists what waits",
            Self::FileChanged { .. } => {
                "it was left as it is; let the agent propose the change again"
            }
            Self::NoFileFor { .. } => {
                "memory is MEMORY.md or notes/NAME.md; settings are SOUL.md, USER.md and HEARTBEAT.md; a skill is \
                 skills/NAME/SKILL.md, a schedule schedules/NAME.md, a tool tools/NAME"
            }
            Self::MayNotAnswer { .. }
            | Self::Changed(_)
            | Self::ProposalUnreadable
            | Self::TextNotKept(_)
            | Self::TextTooLong => return None,
        };
        Some(fix.to_owned())
    }
}
