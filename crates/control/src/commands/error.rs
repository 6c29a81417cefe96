//! What is refused to who types a command.

use std::num::{ParseFloatError, ParseIntError};

use cloister_protocol::{ApprovalId, ChatId, ErrorCode, Language, ParseLanguageError, UserName};
use cloister_words::{say, text_of};

use crate::error::{Failed, Refusal};

pub type CommandError = Failed<CommandRefusal>;

#[derive(Debug, thiserror::Error)]
#[error("{}", self.said(Language::En))]
pub enum CommandRefusal {
    NoCommand { nearest: Option<&'static str> },
    NoHelp { nearest: &'static str },
    OthersReadAlong { noted: &'static str },
    OthersUseIt { noted: &'static str },
    ChatsAreThreads,
    NothingToBranch,
    NoRoomToBranch,
    NoChat { id: ChatId },
    NoTitle { sign: char },
    NothingWaits,
    NothingOfYoursWaits { others: String },
    SeveralWait { several: String, first: String },
    NotAskedHere { id: ApprovalId },
    NoGrant { said: String, error: ParseIntError },
    NotYourBudget { of: UserName },
    NoAmount { said: String, error: ParseFloatError },
    StopWhat,
    TaskWhat,
    NoModel { usable: String },
    ModelWhat,
    AgentWhat,
    NoLanguage { error: ParseLanguageError },
    SettingWhat,
}

impl Refusal for CommandRefusal {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NoHelp { .. }
            | Self::NothingToBranch
            | Self::NoChat { .. }
            | Self::NothingWaits
            | Self::NothingOfYoursWaits { .. }
            | Self::NotAskedHere { .. }
            | Self::NoModel { .. } => ErrorCode::NotFound,
            Self::OthersReadAlong { .. }
            | Self::OthersUseIt { .. }
            | Self::NotYourBudget { .. } => ErrorCode::Forbidden,
            Self::SeveralWait { .. } => ErrorCode::Conflict,
            Self::NoRoomToBranch => ErrorCode::OverQuota,
            Self::NoCommand { .. }
            | Self::ChatsAreThreads
            | Self::NoTitle { .. }
            | Self::NoGrant { .. }
            | Self::NoAmount { .. }
            | Self::StopWhat
            | Self::TaskWhat
            | Self::ModelWhat
            | Self::AgentWhat
            | Self::SettingWhat
            | Self::NoLanguage { .. } => ErrorCode::BadRequest,
        }
    }

    fn said(&self, to: Language) -> String {
        match self {
            Self::NoCommand { .. } | Self::NoHelp { .. } => say!(to, "there is no such command"),
            Self::OthersReadAlong { noted } | Self::OthersUseIt { noted } => {
                text_of(to, noted).to_owned()
            }
            Self::ChatsAreThreads => {
                say!(to, "a chat in this conversation is a topic or thread of it")
            }
            Self::NothingToBranch => {
                say!(to, "nothing was answered up to there that a chat could begin with")
            }
            Self::NoRoomToBranch => {
                say!(
                    to,
                    "the workspace is over its quota: there is no room for a copy of the files"
                )
            }
            Self::NoChat { id } => say!(to, "there is no chat {id}", id = id),
            Self::NoTitle { sign } => {
                say!(to, "say the new title: {sign}rename TITLE", sign = sign)
            }
            Self::NothingWaits => say!(to, "nothing waits for an answer here"),
            Self::NothingOfYoursWaits { others } => {
                say!(to, "nothing of yours waits here; of others: {others}", others = others)
            }
            Self::SeveralWait { several, .. } => {
                say!(to, "several questions wait ({several}): say which one", several = several)
            }
            Self::NotAskedHere { id } => {
                say!(to, "{id} does not wait for an answer in this conversation", id = id)
            }
            Self::NoGrant { said, error } => {
                say!(to, "{said} is no grant: {error}", said = format!("{said:?}"), error = error)
            }
            Self::NotYourBudget { .. } => say!(to, "only the operator can change a budget"),
            Self::NoAmount { said, error } => say!(
                to,
                "{said} is not an amount in dollars: {error}",
                said = format!("{said:?}"),
                error = error
            ),
            Self::StopWhat => say!(to, "/stop all stops every agent of everybody here"),
            Self::TaskWhat => say!(to, "say what is to be done, or which task to show"),
            Self::NoModel { .. } => say!(to, "there is no such model to choose here"),
            Self::ModelWhat => say!(to, "say one model, and nothing behind it but `always`"),
            Self::AgentWhat => say!(to, "say one name, without spaces"),
            Self::SettingWhat => {
                say!(to, "say how a second message is taken: queue, steer, interrupt or default")
            }
            Self::NoLanguage { error } => say!(
                to,
                "{said} is not a language that is spoken here",
                said = format!("{:?}", error.value)
            ),
        }
    }

    fn fix(&self, to: Language) -> Option<String> {
        Some(match self {
            Self::NoCommand { nearest: Some(name) } => {
                say!(to, "did you mean /{name}? /help lists them all", name = name)
            }
            Self::NoCommand { nearest: None } => say!(to, "/help lists them"),
            Self::NoHelp { nearest } => {
                say!(to, "did you mean /help {nearest}?", nearest = nearest)
            }
            Self::OthersReadAlong { .. } => {
                say!(to, "write to me where the two of us are by ourselves")
            }
            Self::OthersUseIt { .. } => {
                say!(to, "write to me in a conversation of your own for a chat of your own")
            }
            Self::ChatsAreThreads => say!(to, "open one, and write to me there"),
            Self::NoChat { .. } => say!(to, "/chats lists them"),
            Self::NothingOfYoursWaits { .. } => {
                say!(to, "who may answer for others says which: /approve A1, /deny A1")
            }
            Self::SeveralWait { first, .. } => {
                say!(to, "such as /approve {first} or /deny {first}", first = first)
            }
            Self::NotAskedHere { .. } => say!(to, "/approvals lists what does"),
            Self::NoGrant { .. } => say!(to, "/grants lists them"),
            Self::NotYourBudget { of } => {
                say!(to, "ask them for `cloister budget set {of} --daily USD`", of = of)
            }
            Self::StopWhat => say!(to, "to stop your own tasks: /cancel"),
            Self::NoModel { usable } => say!(to, "choose from: {usable}", usable = usable),
            Self::ModelWhat => say!(to, "/model shows which there are"),
            Self::AgentWhat => say!(to, "such as /agent new Nora, who looks after my garden"),
            Self::TaskWhat => say!(to, "such as /task sort the photos, or /task T1"),
            Self::NoLanguage { .. } => say!(to, "such as /language de; there are en, de and ru"),
            Self::SettingWhat => say!(to, "such as /settings second queue"),
            Self::NoRoomToBranch => say!(to, "delete files that are no longer needed"),
            Self::NothingToBranch
            | Self::NoTitle { .. }
            | Self::NothingWaits
            | Self::NoAmount { .. } => return None,
        })
    }
}
