//! Events of the gateway, as far as they concern us. Pure.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::wire::{self, snowflake};

/// What comes over the connection.
#[derive(Debug, Deserialize)]
pub(super) struct Packet {
    pub(super) op: u8,
    #[serde(default)]
    pub(super) s: Option<u64>,
    #[serde(default)]
    pub(super) t: Option<String>,
    #[serde(default)]
    pub(super) d: Value,
}

impl Packet {
    pub(super) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The session that begins with this, and where it is resumed.
    pub(super) fn begun(&self) -> Option<(String, Option<String>)> {
        let text = |name: &str| self.d.get(name)?.as_str().map(str::to_owned);
        let begins = self.t.as_deref() == Some("READY");
        begins.then(|| Some((text("session_id")?, text("resume_gateway_url")))).flatten()
    }
}

/// Something that happened on Discord.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A new session, with the servers that it will tell of: what happened since the last one is not told by
    /// itself.
    Ready(Vec<String>),
    /// The session goes on, and all that was missed has been told.
    Resumed,
    Guild(Box<wire::Guild>),
    /// The bot was taken off a server.
    GuildGone(String),
    Said(Box<wire::Message>),
    Edited(Box<wire::Message>),
    Deleted(wire::Deleted),
    /// A channel or a thread is there, or is not as it was.
    Channel(Box<wire::Channel>),
    ChannelGone(String),
    Threads(wire::ThreadList),
    Interaction(Box<wire::Interaction>),
    /// Nothing that concerns us.
    Nothing,
}

impl Event {
    /// Reads an event; what can't be read is nothing, and logged by its name.
    pub(super) fn read(name: &str, data: Value) -> Self {
        let read = match name {
            "READY" => Some(Self::Ready(servers(&data))),
            "RESUMED" => Some(Self::Resumed),
            "GUILD_CREATE" => of(data, |guild| Self::Guild(Box::new(guild))),
            "GUILD_DELETE" => of(data, |guild: wire::Guild| {
                // A server that is out of order is still ours.
                if guild.unavailable { Self::Nothing } else { Self::GuildGone(guild.id) }
            }),
            "MESSAGE_CREATE" => of(data, |message| Self::Said(Box::new(message))),
            "MESSAGE_UPDATE" => of(data, |message| Self::Edited(Box::new(message))),
            "MESSAGE_DELETE" | "MESSAGE_DELETE_BULK" => of(data, Self::Deleted),
            "THREAD_CREATE" | "THREAD_UPDATE" | "CHANNEL_CREATE" | "CHANNEL_UPDATE" => {
                of(data, |channel| Self::Channel(Box::new(channel)))
            }
            "THREAD_DELETE" | "CHANNEL_DELETE" => {
                of(data, |channel: wire::Channel| Self::ChannelGone(channel.id))
            }
            "THREAD_LIST_SYNC" => of(data, Self::Threads),
            "INTERACTION_CREATE" => of(data, |asked| Self::Interaction(Box::new(asked))),
            _ => Some(Self::Nothing),
        };
        read.unwrap_or_else(|| {
            tracing::warn!(event = name, "an event of Discord could not be read");
            Self::Nothing
        })
    }

    /// Where it happened: what happens in one place is handed over in order.
    pub(super) fn place(&self) -> &str {
        match self {
            Self::Said(message) | Self::Edited(message) => &message.channel_id,
            Self::Deleted(deleted) => &deleted.channel_id,
            Self::Channel(channel) => &channel.id,
            Self::ChannelGone(id) | Self::GuildGone(id) => id,
            Self::Guild(guild) => &guild.id,
            Self::Interaction(asked) => &asked.id,
            Self::Ready(_) | Self::Resumed | Self::Threads(_) | Self::Nothing => "",
        }
    }

    /// What the audit log knows it by, where it is no message.
    pub(crate) fn name(&self) -> String {
        let kind = match self {
            Self::Said(_) | Self::Edited(_) => "a message in",
            Self::Deleted(_) => "a deletion in",
            Self::Channel(_) => "the state of channel",
            Self::ChannelGone(_) => "the end of channel",
            Self::Guild(_) => "the state of server",
            Self::GuildGone(_) => "the end of server",
            Self::Interaction(_) => "interaction",
            Self::Ready(_) | Self::Resumed | Self::Threads(_) | Self::Nothing => "an event",
        };
        format!("{kind} {}", self.place())
    }

    /// The snowflake that says how far messages were heard.
    pub(super) fn mark(&self) -> Option<u64> {
        match self {
            Self::Said(message) => snowflake(&message.id),
            _ => None,
        }
    }
}

/// The servers that a session begins with.
fn servers(ready: &Value) -> Vec<String> {
    let listed = ready.get("guilds").and_then(Value::as_array).into_iter().flatten();
    listed.filter_map(|guild| guild.get("id")?.as_str().map(str::to_owned)).collect()
}

fn of<T: DeserializeOwned>(data: Value, event: impl FnOnce(T) -> Event) -> Option<Event> {
    serde_json::from_value(data).ok().map(event)
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
