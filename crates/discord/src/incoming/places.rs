//! Which channel is what: between one person and the agent, a channel of a server, or a thread in one.

use cloister_kit::PlaneError;
use cloister_protocol::surface::Heard;
use twilight_http::routing::Route;

use super::ASK_AGAIN;
use crate::bot::{Bot, channel};
use crate::rest::Fault;
use crate::wire::{Channel, Guild};

/// What a channel is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Between one person and the agent alone.
    pub(crate) direct: bool,
    pub(crate) guild: Option<String>,
    /// The channel that it is a thread of.
    pub(crate) thread_of: Option<String>,
    pub(crate) name: String,
}

impl Place {
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

impl Bot {
    /// What a channel is; none: it is not there, or not for us. Without a server it is direct, if Discord says
    /// so: what is not known to be direct is shared.
    pub(crate) async fn place(
        &self,
        id: &str,
        guild: Option<&str>,
    ) -> Result<Option<Place>, PlaneError> {
        if let Some(known) = self.incoming.place(id) {
            return Ok(Some(known));
        }
        let Some(channel) = channel(id) else { return Ok(None) };
        let asked = self.get::<Channel>(&Route::GetChannel { channel_id: channel.get() }).await;
        match asked {
            Ok(found) => {
                let place = Place::of(&found, guild);
                self.incoming.remember(id, place.clone());
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
        self.incoming.remember(&channel.id, Place::of(channel, guild));
    }

    /// Remembers what a server tells of itself when a session begins.
    pub(crate) fn learn_guild(&self, guild: &Guild) {
        if guild.unavailable {
            return;
        }
        for channel in guild.channels.iter().chain(&guild.threads) {
            self.learn_channel(channel, Some(&guild.id));
        }
        let me = self.me.id.to_string();
        let ours = guild.roles.iter().find(|role| role.tags.bot_id.as_deref() == Some(&*me));
        self.incoming.remember_role(&guild.id, ours.map(|role| role.id.clone()));
    }

    pub(crate) fn known_place(&self, channel: &str) -> Option<Place> {
        self.incoming.place(channel)
    }

    /// The server that a channel is known to be of.
    pub(crate) fn known_guild_of(&self, channel: &str) -> Option<String> {
        self.incoming.place(channel).and_then(|place| place.guild)
    }
}

#[cfg(test)]
#[path = "places_tests.rs"]
mod tests;
