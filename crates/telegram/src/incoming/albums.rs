//! Albums: several messages that are one. Pure.
//!
//! The parts come one by one, and may come in two polls; they wait in the database until none has come for a
//! while. All of them go as one message under the name of the first, and the first is forgotten last: after a
//! kill, what is left of an album that was taken begins with a part that is known.

use cloister_protocol::surface::WaitingEvent;
use serde_json::Value;

use crate::bot::chat_and_thread;
use crate::updates::wire::{Message, Update};

/// A message that waits, as it came.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) row: WaitingEvent,
    pub(super) update: Update,
}

impl Waiting {
    /// None: what was kept can't be read. Where it waits is where it is: a group may have got another number.
    pub(super) fn read(row: WaitingEvent) -> Result<Self, WaitingEvent> {
        let raw = row.sealed.as_deref().and_then(|raw| serde_json::from_str::<Value>(raw).ok());
        let update = raw.and_then(|raw| serde_json::from_value::<Update>(raw).ok());
        let Some(mut update) = update else { return Err(row) };
        if let Some((chat, _)) = chat_and_thread(&row.place) {
            let messages = [&mut update.message, &mut update.edited_message];
            messages.into_iter().flatten().for_each(|message| message.move_to(chat));
        }
        Ok(Self { row, update })
    }

    pub(super) fn message(&self) -> Option<&Message> {
        self.update.message.as_deref().or(self.update.edited_message.as_deref())
    }

    pub(super) const fn is_edit(&self) -> bool {
        self.update.edited_message.is_some()
    }

    fn album(&self) -> Option<&str> {
        if self.is_edit() { None } else { self.message()?.media_group_id.as_deref() }
    }

    /// Who sent it: a part of somebody else's is no part.
    fn from(&self) -> Option<i64> {
        Some(self.message()?.from.as_ref()?.id)
    }
}

/// What goes together.
#[derive(Clone, Debug)]
pub(super) struct Together {
    /// In the order in which they came; at least one.
    pub(super) parts: Vec<Waiting>,
    /// How long more may come yet, in milliseconds; none: it is complete.
    pub(super) wait_ms: Option<i64>,
}

/// The most parts of one message; Telegram's albums have ten.
const MOST_PARTS: usize = 10;

/// The first of what waits in a conversation, with the other parts of its album.
pub(super) fn first_together(waiting: Vec<Waiting>, now: i64, wait_ms: i64) -> Option<Together> {
    let mut rest = waiting.into_iter();
    let first = rest.next()?;
    let (album, from) = (first.album().map(str::to_owned), first.from());
    let Some(album) = album else { return Some(Together { parts: vec![first], wait_ms: None }) };
    let mut parts = vec![first];
    parts.extend(
        rest.filter(|one| one.album() == Some(&album) && one.from() == from).take(MOST_PARTS - 1),
    );
    let newest = parts.iter().map(|part| part.row.since).max().unwrap_or(now);
    let age = now.saturating_sub(newest).max(0);
    let complete = parts.len() == MOST_PARTS || age >= wait_ms;
    Some(Together { parts, wait_ms: (!complete).then(|| wait_ms.saturating_sub(age)) })
}

#[cfg(test)]
#[path = "albums_tests.rs"]
mod tests;
