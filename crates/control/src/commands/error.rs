//! What is refused to who types a command.

use std::num::{ParseFloatError, ParseIntError};

use cloister_protocol::{ApprovalId, ChatId, ErrorCode, UserName};

use crate::error::{Failed, Refusal};

pub type CommandError = Failed<CommandRefusal>;

#[derive(Debug, thiserror::Error)]
pub enum CommandRefusal {
    #[error("there is no such command")]
    NoCommand { nearest: Option<&'static str> },
    #[error("there is no such command")]
    NoHelp { nearest: &'static str },
    #[error("others read along here, and {what} for you alone")]
    OthersReadAlong { what: &'static str },
    #[error("others use this conversation too: {what} only by who administers it")]
    OthersUseIt { what: &'static str },
    #[error("a chat in this conversation is a topic or thread of it")]
    ChatsAreThreads,
    #[error("there is no chat {id}")]
    NoChat { id: ChatId },
    #[error("say the new title: {sign}rename TITLE")]
    NoTitle { sign: char },
    #[error("nothing waits for an answer here")]
    NothingWaits,
    #[error("nothing of yours waits here; of others: {others}")]
    NothingOfYoursWaits { others: String },
    #[error("several questions wait ({several}): say which one")]
    SeveralWait { several: String, first: String },
    #[error("{id} does not wait for an answer in this conversation")]
    NotAskedHere { id: ApprovalId },
    #[error("{said:?} is no grant: {error}")]
    NoGrant { said: String, error: ParseIntError },
    #[error("only the operator can change a budget")]
    NotYourBudget { of: UserName },
    #[error("{said:?} is not an amount in dollars: {error}")]
    NoAmount { said: String, error: ParseFloatError },
    #[error("/stop all stops every agent of everybody here")]
    StopWhat,
    #[error("say what is to be done, or which task to show")]
    TaskWhat,
    #[error("there is no such model to choose here")]
    NoModel { usable: String },
    #[error("say one model, and nothing behind it but `always`")]
    ModelWhat,
}

impl Refusal for CommandRefusal {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NoHelp { .. }
            | Self::NoChat { .. }
            | Self::NothingWaits
            | Self::NothingOfYoursWaits { .. }
            | Self::NotAskedHere { .. }
            | Self::NoModel { .. } => ErrorCode::NotFound,
            Self::OthersReadAlong { .. }
            | Self::OthersUseIt { .. }
            | Self::NotYourBudget { .. } => ErrorCode::Forbidden,
            Self::SeveralWait { .. } => ErrorCode::Conflict,
            Self::NoCommand { .. }
            | Self::ChatsAreThreads
            | Self::NoTitle { .. }
            | Self::NoGrant { .. }
            | Self::NoAmount { .. }
            | Self::StopWhat
            | Self::TaskWhat
            | Self::ModelWhat => ErrorCode::BadRequest,
        }
    }

    fn fix(&self) -> Option<String> {
        let fix = match self {
            Self::NoCommand { nearest: Some(name) } => {
                return Some(format!("did you mean /{name}? /help lists them all"));
            }
            Self::NoCommand { nearest: None } => "/help lists them",
            Self::NoHelp { nearest } => return Some(format!("did you mean /help {nearest}?")),
            Self::OthersReadAlong { .. } => "write to me where the two of us are by ourselves",
            Self::OthersUseIt { .. } => {
                "write to me in a conversation of your own for a chat of your own"
            }
            Self::ChatsAreThreads => "open one, and write to me there",
            Self::NoChat { .. } => "/chats lists them",
            Self::NothingOfYoursWaits { .. } => {
                "who may answer for others says which: /approve A1, /deny A1"
            }
            Self::SeveralWait { first, .. } => {
                return Some(format!("such as /approve {first} or /deny {first}"));
            }
            Self::NotAskedHere { .. } => "/approvals lists what does",
            Self::NoGrant { .. } => "/grants lists them",
            Self::NotYourBudget { of } => {
                return Some(format!("ask them for `cloister budget set {of} --daily USD`"));
            }
            Self::StopWhat => "to stop your own tasks: /cancel",
            Self::NoModel { usable } => return Some(format!("choose from: {usable}")),
            Self::ModelWhat => "/model shows which there are",
            Self::TaskWhat => "such as /task sort the photos, or /task T1",
            Self::NoTitle { .. } | Self::NothingWaits | Self::NoAmount { .. } => return None,
        };
        Some(fix.to_owned())
    }
}
