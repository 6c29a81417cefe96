//! What this part remembers of a bot while it runs.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::files;
use super::places::Place;

/// How many things of a kind are remembered.
const MOST_REMEMBERED: usize = 10_000;
/// How many channels are remembered.
const MOST_PLACES: usize = 50_000;

#[derive(Default)]
pub(crate) struct Memory {
    /// What was done last when, in Unix milliseconds.
    last: Mutex<HashMap<String, i64>>,
    /// How much patience was had with a message.
    patience: Mutex<HashMap<String, u32>>,
    /// What is known of channels and threads.
    places: Mutex<HashMap<String, Place>>,
    /// The role that each server has for the bot; none: it has none.
    roles: Mutex<HashMap<String, Option<String>>>,
    /// Something may be taken now that waited.
    pub(super) changed: Notify,
    /// Channels whose waiting messages are being worked on.
    working: Mutex<HashSet<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memory {
    /// Something new waits.
    pub(super) fn wake(&self) {
        self.changed.notify_one();
    }

    pub(super) fn working(&self) -> MutexGuard<'_, HashSet<String>> {
        lock(&self.working)
    }

    /// Whether this was not done for so long; from now on it was.
    pub(super) fn first_in(&self, key: String, every: Duration, now: i64) -> bool {
        let every = i64::try_from(every.as_millis()).unwrap_or(i64::MAX);
        let mut last = lock(&self.last);
        if last.get(&key).is_some_and(|at| (at.saturating_add(every)) > now && *at <= now) {
            return false;
        }
        if last.len() >= MOST_REMEMBERED {
            last.clear();
        }
        last.insert(key, now);
        true
    }

    /// Takes from the patience with a message; whether there is any left.
    pub(super) fn patience_left(&self, message: &str, costs: u32) -> bool {
        let mut patience = lock(&self.patience);
        if patience.len() >= MOST_REMEMBERED {
            patience.clear();
        }
        let had = patience.entry(message.to_owned()).or_default();
        *had = had.saturating_add(costs);
        let left = *had < files::PATIENCE;
        if !left {
            patience.remove(message);
        }
        left
    }

    pub(super) fn place(&self, channel: &str) -> Option<Place> {
        lock(&self.places).get(channel).cloned()
    }

    pub(super) fn remember(&self, channel: &str, place: Place) {
        let mut places = lock(&self.places);
        if places.len() >= MOST_PLACES && !places.contains_key(channel) {
            places.clear();
        }
        places.insert(channel.to_owned(), place);
    }

    pub(super) fn forget(&self, channel: &str) {
        lock(&self.places).remove(channel);
    }

    /// The channels that are remembered to be of a server.
    pub(super) fn channels_of(&self, guild: &str) -> Vec<String> {
        let places = lock(&self.places);
        let of = places.iter().filter(|(_, place)| place.guild.as_deref() == Some(guild));
        of.map(|(channel, _)| channel.clone()).collect()
    }

    /// The role that a server has for the bot, if that is known.
    #[expect(clippy::option_option, reason = "not known and none are two things")]
    pub(super) fn role(&self, guild: &str) -> Option<Option<String>> {
        lock(&self.roles).get(guild).cloned()
    }

    pub(super) fn remember_role(&self, guild: &str, role: Option<String>) {
        let mut roles = lock(&self.roles);
        if roles.len() >= MOST_REMEMBERED {
            roles.clear();
        }
        roles.insert(guild.to_owned(), role);
    }
}
