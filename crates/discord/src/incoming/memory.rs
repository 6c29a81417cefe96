//! What this part remembers of a bot while it runs.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cloister_kit::waiting::Working;
use cloister_kit::{Lately, Patience};

use super::places::Place;

/// How many servers are remembered.
const MOST_SERVERS: usize = 10_000;
/// How many channels are remembered.
const MOST_PLACES: usize = 50_000;

#[derive(Default)]
pub(crate) struct Memory {
    pub(super) lately: Lately,
    pub(super) patience: Patience,
    pub(super) working: Working,
    /// What is known of channels and threads.
    places: Mutex<HashMap<String, Place>>,
    /// The role that each server has for the bot; none: it has none.
    roles: Mutex<HashMap<String, Option<String>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memory {
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
        if roles.len() >= MOST_SERVERS {
            roles.clear();
        }
        roles.insert(guild.to_owned(), role);
    }
}
