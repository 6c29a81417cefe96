//! Whose a room is: a small state event that only this account may write, in every room and Space it makes.
//!
//! Promise: only an event that this account itself sent is believed. What a person, another account or the
//! admin of a room writes under the same type claims nothing.

use cloister_protocol::{ChatId, WorkspaceId};
use matrix_sdk::ruma::{OwnedUserId, UserId};
use serde::{Deserialize, Serialize};

/// In a room that shows a chat.
pub(crate) const CHAT_EVENT: &str = "dev.cloister.chat";
/// In the Space that keeps a person's rooms together.
pub(crate) const HOME_EVENT: &str = "dev.cloister.home";
/// The version of both that is written, and the only one that is read.
const VERSION: u32 = 1;
const ROOM_KIND: &str = "room";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChatClaim {
    v: u32,
    pub(crate) workspace: WorkspaceId,
    pub(crate) chat: ChatId,
    /// The account of the person it was made for.
    pub(crate) user: OwnedUserId,
    kind: String,
}

impl ChatClaim {
    pub(crate) fn new(workspace: WorkspaceId, chat: ChatId, user: OwnedUserId) -> Self {
        Self { v: VERSION, workspace, chat, user, kind: ROOM_KIND.to_owned() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HomeClaim {
    v: u32,
    /// The account of the person it was made for.
    pub(crate) user: OwnedUserId,
}

impl HomeClaim {
    pub(crate) const fn new(user: OwnedUserId) -> Self {
        Self { v: VERSION, user }
    }
}

/// What a room says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Nothing: it was not made by us.
    None,
    /// Somebody else wrote it.
    Foreign {
        sender: String,
    },
    /// We wrote it, and it can't be read: redacted, or of another version.
    Unreadable,
    Chat(ChatClaim),
    Home(HomeClaim),
}

/// A state event, as far as it matters here. Whatever is missing makes it nobody's.
#[derive(Debug, Deserialize)]
pub(crate) struct StateEvent {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) event_id: Option<String>,
    pub(crate) sender: OwnedUserId,
    #[serde(default)]
    pub(crate) state_key: Option<String>,
    #[serde(default)]
    pub(crate) content: serde_json::Value,
    /// When the server says it was sent, in Unix milliseconds.
    #[serde(default)]
    pub(crate) origin_server_ts: i64,
}

impl StateEvent {
    pub(crate) fn parse(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    fn is(&self, kind: &str) -> bool {
        self.kind == kind && self.state_key.as_deref() == Some("")
    }
}

/// What the state of a room claims, if this account wrote it.
pub(crate) fn claim_in(state: &[StateEvent], own: &UserId) -> Claim {
    let mark = [CHAT_EVENT, HOME_EVENT]
        .into_iter()
        .find_map(|kind| state.iter().find(|event| event.is(kind)));
    let Some(event) = mark else { return Claim::None };
    if event.sender != own {
        return Claim::Foreign { sender: event.sender.to_string() };
    }
    let content = event.content.clone();
    let read = if event.kind == CHAT_EVENT {
        serde_json::from_value(content)
            .ok()
            .filter(|claim: &ChatClaim| claim.v == VERSION && claim.kind == ROOM_KIND)
            .map(Claim::Chat)
    } else {
        serde_json::from_value(content)
            .ok()
            .filter(|claim: &HomeClaim| claim.v == VERSION)
            .map(Claim::Home)
    };
    read.unwrap_or(Claim::Unreadable)
}

#[cfg(test)]
#[path = "ownership_tests.rs"]
mod tests;
