//! Grants, as they are listed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{ApprovalId, ChatId, TaskId};

/// A remembered permission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrantView {
    /// Shown with a G in front.
    pub id: u32,
    /// What it covers, in words.
    pub describes: String,
    pub reach: GrantReach,
    /// The chat that it is for.
    pub chat: ChatId,
    /// The task that it is for, unless it is for always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    pub given_by: String,
    pub since: String,
    /// The question that it answered.
    pub approval: ApprovalId,
}

/// A grant with what was asked when it was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrantDetail {
    #[serde(flatten)]
    pub grant: GrantView,
    pub title: String,
    pub text: String,
}

impl GrantView {
    /// How far it reaches, in words: a grant never leaves its chat.
    pub fn reaches(&self) -> String {
        match self.reach {
            GrantReach::Once | GrantReach::Task => self.reach.words().to_owned(),
            GrantReach::Always => format!("always in {}", self.chat),
        }
    }
}

/// How far a grant reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GrantReach {
    Once,
    Task,
    Always,
}

impl GrantReach {
    /// In words, after what it covers.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Task => "for its task",
            Self::Always => "always",
        }
    }
}
