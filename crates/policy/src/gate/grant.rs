//! Grants: permissions that people gave, and what each covers.

use std::fmt;

use cloister_protocol::{ChatId, TaskId, UserId, WorkspaceId};
use serde::{Deserialize, Serialize};

use super::effect::{Digest, Effect};
use super::template::Template;

/// A remembered permission, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GrantId(pub u32);

impl fmt::Display for GrantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "G{}", self.0)
    }
}

/// What a grant covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Exactly this effect, one time, in the task that asked.
    Once { task: Option<TaskId>, effect: Digest },
    /// Exactly this effect, as often as the task needs it.
    Task { task: TaskId, effect: Digest },
    /// Every effect of this template in the chat that asked, until revoked.
    Always { template: Template },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub id: GrantId,
    /// Whose tasks it is for. A grant never helps anyone else's.
    pub user: UserId,
    pub workspace: WorkspaceId,
    /// Where it was asked for: each chat has files of its own, so the same words do something else elsewhere.
    pub chat: ChatId,
    pub reach: Reach,
    /// Revoked, or used up.
    pub ended: bool,
}

impl Grant {
    /// Whether the effect, asked for by its asker, is covered.
    pub fn covers(&self, effect: &Effect) -> bool {
        let asker = &effect.asker;
        let place = (asker.workspace, asker.chat);
        if self.ended || self.user != asker.user || (self.workspace, self.chat) != place {
            return false;
        }
        match &self.reach {
            Reach::Once { task, effect: digest } => {
                *task == asker.task && *digest == effect.digest()
            }
            Reach::Task { task, effect: digest } => {
                Some(*task) == asker.task && *digest == effect.digest()
            }
            Reach::Always { template } => template.covers(effect),
        }
    }

    /// Whether it was given for this very effect, and not for all of its kind.
    pub const fn is_exact(&self) -> bool {
        match self.reach {
            Reach::Once { .. } | Reach::Task { .. } => true,
            Reach::Always { .. } => false,
        }
    }

    /// Whether it stands for the one action that was seen, again and again.
    pub const fn remembers_one(&self) -> bool {
        match &self.reach {
            Reach::Once { .. } | Reach::Task { .. } => false,
            Reach::Always { template } => template.is_exact(),
        }
    }
}
