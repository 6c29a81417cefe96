//! What was seen on the server, what is known here, and what may be changed: the words of the comparison.

use std::collections::{HashMap, HashSet};

use cloister_protocol::admin::Skipped;
use cloister_protocol::surface::{Conversation, ConversationId, ConversationKind};
use cloister_protocol::{ChatId, UserId, WorkspaceId};

use super::ownership::Claim;
use crate::incoming::Open;

/// Why nothing is sent to a room whose person left it.
pub(crate) const PERSON_LEFT: &str = "the person left the room";
/// Why nothing is sent to a room that this account is not in.
pub(crate) const NOT_IN_IT: &str = "this account is not in the room any more";
/// The chat that a direct conversation shows.
pub(crate) const FIRST_CHAT: ChatId = ChatId::from_number(1);

/// A room that this account is in, as the server has it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) room: String,
    pub(crate) claim: Claim,
    /// When it was made, in Unix milliseconds.
    pub(crate) created_at: i64,
    pub(crate) name: String,
    /// It is called so by this account, and by nobody else.
    pub(crate) named_by_us: bool,
    pub(crate) space: bool,
    /// Who else is in it or invited.
    pub(crate) members: Vec<String>,
    /// Who may come in or read without being asked in, if anybody may.
    pub(crate) open: Option<Open>,
}

/// Whose account it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Person {
    pub(crate) user: UserId,
    pub(crate) workspace: WorkspaceId,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownChat {
    pub(crate) title: String,
}

pub(crate) type ChatKey = (WorkspaceId, ChatId);

/// What is known here, as far as the rooms that were seen touch it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// By account.
    pub(crate) people: HashMap<String, Person>,
    /// Workspaces that exist here.
    pub(crate) workspaces: HashSet<WorkspaceId>,
    pub(crate) chats: HashMap<ChatKey, KnownChat>,
    pub(crate) conversations: Vec<Conversation>,
    pub(crate) homes: HashMap<UserId, String>,
    /// The chats of rooms that an admin connected, by room.
    pub(crate) contexts: HashMap<String, ChatKey>,
}

impl Known {
    pub(crate) fn in_room(&self, room: &str) -> Option<&Conversation> {
        self.conversations.iter().find(|row| row.external_id.as_deref() == Some(room))
    }

    pub(crate) fn room_of(&self, (workspace, chat): ChatKey) -> Option<&Conversation> {
        self.conversations.iter().find(|row| {
            row.kind == ConversationKind::Room && row.workspace == workspace && row.chat == chat
        })
    }

    pub(crate) fn has(&self, members: &[String], user: Option<UserId>) -> bool {
        let theirs = |account: &String| self.people.get(account).map(|person| person.user);
        members.iter().any(|account| theirs(account).is_some_and(|found| Some(found) == user))
    }
}

/// How much of what the server has was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Everything,
    /// What was not seen is taken to be as it is known.
    OneRoom,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Forget(ConversationId),
    RestoreChat {
        chat: ChatKey,
        title: String,
    },
    Place {
        room: String,
        chat: ChatKey,
        kind: ConversationKind,
        user: Option<UserId>,
    },
    /// What the room shows now.
    Show {
        room: String,
        title: String,
        archived: bool,
    },
    /// Its person called the room so.
    Retitle {
        room: String,
        title: String,
    },
    Mark {
        room: String,
        broken: Option<&'static str>,
    },
    Home {
        user: UserId,
        room: Option<String>,
    },
}

impl Change {
    /// What makes way goes first, then what others stand on.
    pub(crate) const fn order(&self) -> u8 {
        match self {
            Self::Forget(_) => 0,
            Self::RestoreChat { .. } => 1,
            Self::Place { .. } => 2,
            // It goes by what was shown until now.
            Self::Retitle { .. } => 3,
            Self::Show { .. } | Self::Mark { .. } | Self::Home { .. } => 4,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) changes: Vec<Change>,
    pub(crate) restored: Vec<String>,
    pub(crate) repaired: Vec<String>,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) conflicts: Vec<Skipped>,
}
