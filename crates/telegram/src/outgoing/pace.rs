//! How fast a bot may speak: so often in a chat, so often in all, and not at all for as long as Telegram says.
//!
//! Pure: it is told the time. What is counted is when an answer came, so that Telegram, which counts when a
//! request came, never sees more.

use std::collections::BTreeMap;
use std::time::Duration;

use cloister_kit::{Rule, Window};
use tokio::time::Instant;

/// In a private chat: one message in a second, with a short burst.
const PRIVATE: Rule = Rule { most: 3, within: Duration::from_secs(3) };
/// In a group: twenty in a minute.
const GROUP: Rule = Rule { most: 20, within: Duration::from_secs(60) };
/// Of those, so many for what is still being written: its end must not have to wait.
const GROUP_UNFINISHED: Rule = Rule { most: 12, within: Duration::from_secs(60) };
/// Everywhere together.
const ALL: Rule = Rule { most: 30, within: Duration::from_millis(1000) };
/// Drafts of one chat; they are no messages.
const DRAFTS: Rule = Rule { most: 3, within: Duration::from_millis(1000) };
/// As many chats are remembered; one that was forgotten has been quiet the longest.
const MAX_CHATS: usize = 4_096;
/// Two chats that are slowed down within this time: it is not about the chats.
const TOGETHER: Duration = Duration::from_secs(10);

/// What is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A message or an edit.
    Message,
    /// One of an answer that is still being written.
    Unfinished,
    Draft,
    /// Not counted in its chat.
    Sign,
}

/// What was sent lately, and what Telegram said about it.
#[derive(Debug, Default)]
pub(super) struct Pace {
    chats: BTreeMap<(i64, bool), Window>,
    all: Window,
    held: BTreeMap<i64, Instant>,
    all_held: Option<Instant>,
    last_hold: Option<(i64, Instant)>,
}

impl Pace {
    /// Takes one turn; or says how long it has to wait for one.
    pub(super) fn take(&mut self, now: Instant, chat: i64, what: What) -> Result<(), Duration> {
        let wait = self.wait(now, chat, what);
        if !wait.is_zero() {
            return Err(wait);
        }
        self.all.add(now, ALL);
        if let Some(limits) = Limits::of(chat, what) {
            self.make_room();
            self.chats.entry((chat, limits.drafts)).or_default().add(now, limits.counted);
        }
        Ok(())
    }

    fn wait(&self, now: Instant, chat: i64, what: What) -> Duration {
        let held = self.held.get(&chat).copied().max(self.all_held);
        let held = held.map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
        let here = Limits::of(chat, what).and_then(|limits| {
            let window = self.chats.get(&(chat, limits.drafts))?;
            Some(window.wait(now, limits.allowed))
        });
        held.max(here.unwrap_or_default()).max(self.all.wait(now, ALL))
    }

    /// What was begun at `began` has its answer.
    pub(super) fn answered(&mut self, began: Instant, now: Instant, chat: i64, what: What) {
        self.all.answered(began, now);
        let window = Limits::of(chat, what).and_then(|of| self.chats.get_mut(&(chat, of.drafts)));
        if let Some(window) = window {
            window.answered(began, now);
        }
    }

    /// Telegram asked to wait. It does not say whether it means the chat or the bot: where it asks for two chats
    /// at a time, it is the bot.
    pub(super) fn hold(&mut self, now: Instant, chat: i64, wait: Duration) {
        let until = now + wait;
        self.held.retain(|_, until| *until > now);
        let others = self.last_hold.is_some_and(|(other, at)| other != chat && at + TOGETHER > now);
        if others {
            self.all_held = self.all_held.max(Some(until));
        }
        if self.held.len() < MAX_CHATS {
            let held = self.held.entry(chat).or_insert(until);
            *held = until.max(*held);
        }
        self.last_hold = Some((chat, now));
    }

    fn make_room(&mut self) {
        if self.chats.len() < MAX_CHATS {
            return;
        }
        let quietest = self.chats.iter().min_by_key(|(_, window)| window.last());
        if let Some(chat) = quietest.map(|(chat, _)| *chat) {
            self.chats.remove(&chat);
        }
    }
}

/// What holds for one request in its chat.
struct Limits {
    /// Drafts and messages are counted apart.
    drafts: bool,
    /// How much is remembered.
    counted: Rule,
    /// How much there may be for this one to go.
    allowed: Rule,
}

impl Limits {
    /// Groups and channels have ids below zero.
    const fn of(chat: i64, what: What) -> Option<Self> {
        let (drafts, counted, allowed) = match what {
            What::Message if chat < 0 => (false, GROUP, GROUP),
            What::Unfinished if chat < 0 => (false, GROUP, GROUP_UNFINISHED),
            What::Message | What::Unfinished => (false, PRIVATE, PRIVATE),
            What::Draft => (true, DRAFTS, DRAFTS),
            What::Sign => return None,
        };
        Some(Self { drafts, counted, allowed })
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
