//! Whether something that was written where others read along is meant for us. Pure.

use std::sync::Arc;

use super::marks::{self, slice16};
use crate::updates::wire::{Entity, Message};
use cloister_kit::Commands;

/// Who we are, as people name us.
#[derive(Clone, Debug)]
pub(super) struct Us {
    pub(super) id: i64,
    pub(super) username: Option<String>,
    /// What people can say to us that no model needs to understand.
    pub(super) commands: Arc<Commands>,
}

impl Us {
    fn is_named(&self, name: &str) -> bool {
        let name = name.trim_start_matches('@');
        self.username.as_deref().is_some_and(|username| username.eq_ignore_ascii_case(name))
    }
}

/// How a message speaks to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Addressed {
    /// By name, or as a reply to us.
    ToUs,
    /// A command without a name: every bot there may take it.
    Command,
    /// To another bot, by name.
    ToAnother,
    No,
}

/// Whom a message is for.
pub(super) fn addressed(message: &Message, us: &Us) -> Addressed {
    let (text, entities) = marks::words(message);
    let command = entities.iter().find(|entity| entity.kind == "bot_command" && entity.offset == 0);
    if let Some(command) = command {
        let name = slice16(text, command.offset, command.length);
        match name.split_once('@') {
            Some((_, bot)) if us.is_named(bot) => return Addressed::ToUs,
            Some(_) => return Addressed::ToAnother,
            None => {}
        }
    }
    let mentions = |entity: &Entity| match entity.kind.as_str() {
        "mention" => us.is_named(slice16(text, entity.offset, entity.length)),
        "text_mention" => entity.user.as_ref().is_some_and(|user| user.id == us.id),
        _ => false,
    };
    let replies = message.reply().and_then(|reply| reply.from.as_ref());
    if entities.iter().any(mentions) || replies.is_some_and(|from| from.id == us.id) {
        return Addressed::ToUs;
    }
    if command.is_some() { Addressed::Command } else { Addressed::No }
}

/// A command without the name of who it is for, and words without our name before or after them.
pub(super) fn without_us(text: &str, us: &Us) -> String {
    let mut text = text.trim();
    let Some(username) = us.username.as_deref() else { return text.to_owned() };
    let (first, rest) = match text.find(char::is_whitespace) {
        Some(end) => text.split_at(end),
        None => (text, ""),
    };
    if let Some((command, bot)) = first.split_once('@')
        && command.starts_with('/')
        && us.is_named(bot)
    {
        return format!("{command}{rest}");
    }
    let ours = |word: &str| word.eq_ignore_ascii_case(&format!("@{username}"));
    if ours(first.trim_end_matches([',', ':'])) {
        text = rest.trim_start();
    }
    if let Some((before, last)) = text.rsplit_once(char::is_whitespace)
        && ours(last)
    {
        text = before.trim_end();
    }
    text.to_owned()
}

#[cfg(test)]
#[path = "addressed_tests.rs"]
mod tests;
