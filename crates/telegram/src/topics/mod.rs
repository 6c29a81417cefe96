//! Topics: each chat of a person has one in their private chat, where the bot has topics; and a topic that
//! somebody opens becomes a chat.
//!
//! Promises: what is to be shown is in the database, and is mended until Telegram shows it; titles follow both
//! ways. Telegram can't be asked which topics there are: one that was made in the moment of a kill stays empty
//! beside the one that is made anew.

mod mend;
mod naming;
mod news;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cloister_kit::{Lately, part};
use tokio::sync::watch;

use super::bot::Bot;
use super::updates::wire::Message;

/// How many names of topics are remembered.
const MOST_REMEMBERED: usize = 4096;

part! {
    /// The topics: one for each chat.
    pub(crate) struct Topics of Bot;
}

/// What is remembered of a bot's topics while it runs.
#[derive(Default)]
pub(crate) struct TopicsState {
    /// Whether the bot has topics in private chats, as Telegram said last.
    enabled: AtomicBool,
    /// Private chats where no topic could be made, and until when none is tried, in Unix milliseconds.
    refused: Mutex<HashMap<i64, i64>>,
    /// Topics that were opened again, until what waited for that is told.
    opened_again: Mutex<HashSet<String>>,
    /// What topics are called, by conversation.
    names: Mutex<HashMap<String, String>>,
    /// Which were made anew, and when.
    lately: Lately,
    /// One at a time makes topics.
    making: tokio::sync::Mutex<()>,
    /// The private chat in which a topic is being made: from before Telegram is asked until it is known whose it is.
    made_in: watch::Sender<Option<i64>>,
}

/// As long as it lives, a topic is being made in a private chat.
struct Making<'a>(&'a watch::Sender<Option<i64>>);

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.0.send_replace(None);
    }
}

impl Topics {
    /// As `getMe` said; whether that is news.
    pub(crate) fn set_enabled(&self, enabled: bool) -> bool {
        let topics = &self.bot.topics;
        let news = topics.enabled.swap(enabled, Ordering::Relaxed) != enabled;
        if news {
            topics.refused.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
        news
    }

    pub(crate) fn enabled(&self) -> bool {
        self.bot.topics.enabled()
    }

    /// What the topic of a message is called, as far as that is known. Empty: it is not.
    pub(crate) fn title_of(&self, message: &Message) -> String {
        self.bot.topics.title_of(message)
    }
}

impl TopicsState {
    /// Telegram makes no topics in this chat: none is asked for until then.
    fn refuse(&self, chat: i64, until_ms: i64) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() >= MOST_REMEMBERED {
            refused.clear();
        }
        refused.insert(chat, until_ms);
    }

    /// Whether a topic may be asked for in a private chat.
    fn may_make(&self, chat: i64, now_ms: i64) -> bool {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        self.enabled() && refused.get(&chat).is_none_or(|until| *until <= now_ms)
    }

    /// A topic is being made in a private chat. Call it with `making` held.
    fn begin_making(&self, chat: i64) -> Making<'_> {
        self.made_in.send_replace(Some(chat));
        Making(&self.made_in)
    }

    fn is_making(&self, chat: i64) -> bool {
        *self.made_in.borrow() == Some(chat)
    }

    /// Waits until no topic is being made in a private chat: asking Telegram for one has a bound.
    async fn until_made(&self, chat: i64) {
        let mut now = self.made_in.subscribe();
        // It can't be closed: we hold the sender.
        now.wait_for(|in_chat| *in_chat != Some(chat)).await.ok();
    }

    fn opened_again(&self) -> MutexGuard<'_, HashSet<String>> {
        self.opened_again.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A topic was closed, or opened again.
    fn is_open(&self, place: String, open: bool) {
        let mut opened = self.opened_again();
        if opened.len() >= MOST_REMEMBERED {
            opened.clear();
        }
        if open {
            opened.insert(place);
        } else {
            opened.remove(&place);
        }
    }

    fn enabled(&self) -> bool {
        self.enabled.load(Ordering::Relaxed)
    }

    fn remember(&self, place: String, name: String) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() >= MOST_REMEMBERED {
            names.clear();
        }
        names.insert(place, name);
    }

    fn title_of(&self, message: &Message) -> String {
        if message.thread().is_none() {
            return String::new();
        }
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = names.get(&message.place()) {
            return name.clone();
        }
        // A message in a topic refers to the moment in which it was made.
        let made = message.reply_to_message.as_ref().and_then(|it| it.forum_topic_created.as_ref());
        made.filter(|made| !made.is_name_implicit)
            .map(|made| naming::title(&made.name))
            .unwrap_or_default()
    }
}
