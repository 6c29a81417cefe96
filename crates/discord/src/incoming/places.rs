//! Which channel is what: between one person and the agent, a channel of a server, or a thread in one.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cloister_kit::PlaneError;
use cloister_protocol::surface::Heard;

use super::{ASK_AGAIN, Places};
use crate::bot::channel;
use crate::rest::{Fault, at};
use crate::wire::{Channel, Guild};

/// How many servers are remembered.
const MOST_SERVERS: usize = 10_000;
/// How many channels are remembered.
const MOST_PLACES: usize = 50_000;

/// What a channel is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChannelPlace {
    /// Between one person and the agent alone.
    pub(crate) direct: bool,
    pub(crate) guild: Option<String>,
    /// The channel that it is a thread of.
    pub(crate) thread_of: Option<String>,
    pub(crate) name: String,
}

impl ChannelPlace {
    /// What a channel says of itself; `guild` where it does not say of which server it is.
    pub(crate) fn of(channel: &Channel, guild: Option<&str>) -> Self {
        Self {
            direct: channel.is_direct(),
            guild: channel.guild_id.clone().or_else(|| guild.map(str::to_owned)),
            thread_of: channel.parent_id.clone().filter(|_| channel.is_thread()),
            name: channel.name.clone().unwrap_or_default(),
        }
    }

    /// Where something was said, for the router.
    pub(crate) fn heard(&self, id: &str) -> Heard {
        let id = id.to_owned();
        match &self.thread_of {
            _ if self.direct => Heard::Direct(id),
            Some(of) => Heard::Thread { of: of.clone(), id, title: self.name.clone() },
            None => Heard::Shared(id),
        }
    }
}

/// What is remembered of servers and channels while the bot runs.
#[derive(Default)]
pub(crate) struct PlacesState {
    /// What is known of channels and threads.
    places: Mutex<HashMap<String, ChannelPlace>>,
    /// The role that each server has for the bot; none: it has none.
    roles: Mutex<HashMap<String, Option<String>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PlacesState {
    fn place(&self, channel: &str) -> Option<ChannelPlace> {
        lock(&self.places).get(channel).cloned()
    }

    fn remember(&self, channel: &str, place: ChannelPlace) {
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

impl Places {
    /// What a channel is; none: it is not there, or not for us. Without a server it is direct, if Discord says
    /// so: what is not known to be direct is shared.
    pub(crate) async fn place(
        &self,
        id: &str,
        guild: Option<&str>,
    ) -> Result<Option<ChannelPlace>, PlaneError> {
        if let Some(known) = self.bot.places.place(id) {
            return Ok(Some(known));
        }
        let Some(channel) = channel(id) else { return Ok(None) };
        let asked = self.bot.get::<Channel>(at::channel(channel)).await;
        match asked {
            Ok(found) => {
                let place = ChannelPlace::of(&found, guild);
                self.bot.places.remember(id, place.clone());
                Ok(Some(place))
            }
            Err(Fault::Gone { .. } | Fault::Forbidden { .. }) => Ok(None),
            // Everything waits, and the state says so.
            Err(Fault::Wait(wait)) => Err(PlaneError::busy("Discord asks to wait", wait)),
            Err(fault) => {
                tracing::warn!(channel = id, %fault, "what a channel is could not be asked for");
                Err(PlaneError::busy("what a channel is could not be asked for", ASK_AGAIN))
            }
        }
    }

    /// Remembers what a channel or thread is.
    pub(crate) fn learn_channel(&self, channel: &Channel, guild: Option<&str>) {
        self.bot.places.remember(&channel.id, ChannelPlace::of(channel, guild));
    }

    /// Remembers what a server tells of itself when a session begins.
    pub(crate) fn learn_guild(&self, guild: &Guild) {
        if guild.unavailable {
            return;
        }
        for channel in guild.channels.iter().chain(&guild.threads) {
            self.learn_channel(channel, Some(&guild.id));
        }
        let me = self.bot.me.id.to_string();
        let ours = guild.roles.iter().find(|role| role.tags.bot_id.as_deref() == Some(&*me));
        self.bot.places.remember_role(&guild.id, ours.map(|role| role.id.clone()));
    }

    pub(crate) fn known_place(&self, channel: &str) -> Option<ChannelPlace> {
        self.bot.places.place(channel)
    }

    /// The server that a channel is known to be of.
    pub(crate) fn known_guild_of(&self, channel: &str) -> Option<String> {
        self.bot.places.place(channel).and_then(|place| place.guild)
    }
}

#[cfg(test)]
#[path = "places_tests.rs"]
mod tests;
