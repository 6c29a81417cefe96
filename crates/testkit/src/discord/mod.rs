//! A fake Discord: REST v10 and gateway v10 in the real wire format, on loopback and without TLS.
//!
//! It checks what it receives as Discord does, and what Discord would let pass but a careful bot does not do
//! (fields nobody knows, asking again before it may, the token where it does not belong) it keeps as a
//! complaint: a test ends with `assert_no_complaints`. People in tests see only what their client would show
//! them. Faults can be laid on every address and on the gateway.

mod accounts;
mod body;
mod channels;
mod checks;
mod commands;
mod controls;
mod events;
mod faults;
mod gateway;
mod interactions;
mod limits;
mod messages;
mod people;
pub mod permissions;
mod person;
mod reading;
mod rest;
mod seen;
mod serve;
mod state;
mod views;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

pub use controls::SessionView;
pub use faults::{Fault, Scope};
pub use limits::Rate;
pub use people::Letter;
pub use person::{Person, Reacted};
pub use seen::{Button, Seen, SeenFile};
pub use state::Request;

use permissions::MESSAGE_CONTENT;
use state::{Bot, Channel, Guild, Id, Shared, TEXT_CHANNEL, User};

/// A bot that was made in the developer portal.
#[derive(Clone, Debug)]
pub struct BotAccount {
    pub name: String,
    pub token: String,
    pub user_id: u64,
    pub application_id: u64,
}

impl BotAccount {
    /// How it is mentioned.
    pub fn mention(&self) -> String {
        format!("<@{}>", self.user_id)
    }
}

/// A running service; dropping it stops it.
pub struct Discord {
    shared: Arc<Shared>,
    _serving: JoinSet<()>,
}

impl Discord {
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let shared = Arc::new(Shared::new(address));
        let mut serving = JoinSet::new();
        serving.spawn(serve::serve(listener, Arc::clone(&shared)));
        Ok(Self { shared, _serving: serving })
    }

    /// Where REST is.
    pub fn url(&self) -> String {
        format!("http://{}", self.shared.address)
    }

    /// Where the gateway is.
    pub fn gateway_url(&self) -> String {
        format!("ws://{}", self.shared.address)
    }

    /// A new application with a bot that may read what is said.
    pub fn bot(&self, name: &str) -> BotAccount {
        let mut state = self.shared.state();
        // The application and its user are not the same.
        let application = state.next_id();
        let user = state.next_id();
        let token = new_token(user, state.next_id());
        let account = User { name: name.to_owned(), bot: true, closed: false };
        state.users.insert(user, account);
        state.bots.push(Bot {
            user,
            application,
            token: token.clone(),
            privileged: MESSAGE_CONTENT,
            shards: 1,
            starts_left: 1000,
            commands: Vec::new(),
            guild_commands: BTreeMap::new(),
            registrations: 0,
        });
        let name = name.to_owned();
        BotAccount { name, token, user_id: user, application_id: application }
    }

    /// Somebody with an account.
    pub fn person(&self, name: &str) -> Person {
        let mut state = self.shared.state();
        let id = state.next_id();
        let user = User { name: name.to_owned(), bot: false, closed: false };
        state.users.insert(id, user);
        drop(state);
        Person::new(Arc::clone(&self.shared), id)
    }

    /// A guild with these people and bots in it.
    pub fn guild(&self, name: &str, people: &[&Person], bots: &[&BotAccount]) -> u64 {
        let mut state = self.shared.state();
        let id = state.next_id();
        let members = people.iter().map(|person| person.id()).chain(bots.iter().map(|b| b.user_id));
        let members = members.collect();
        let owner = people.first().map_or(id, |person| person.id());
        state.guilds.insert(id, Guild { id, name: name.to_owned(), owner, members });
        for bot in bots {
            events::guild(&mut state, id, bot.user_id);
        }
        id
    }

    /// A text channel in a guild.
    pub fn channel(&self, guild: u64, name: &str) -> u64 {
        let mut state = self.shared.state();
        let id = state.next_id();
        let mut channel = Channel::new(id, TEXT_CHANNEL);
        channel.guild = Some(guild);
        name.clone_into(&mut channel.name);
        state.channels.insert(id, channel);
        events::channel(&mut state, id, "CHANNEL_CREATE");
        id
    }

    /// How the role is mentioned that a guild has for a bot.
    pub fn role_mention(&self, guild: u64, bot: &BotAccount) -> String {
        format!("<@&{}>", views::role_of(guild, bot.user_id))
    }

    /// Somebody comes into a guild.
    pub fn join(&self, guild: u64, who: &Person) {
        if let Some(guild) = self.shared.state().guilds.get_mut(&guild) {
            guild.members.insert(who.id());
        }
    }

    /// A bot is removed from a guild.
    pub fn kick(&self, guild: u64, bot: &BotAccount) {
        let mut state = self.shared.state();
        events::guild_gone(&mut state, guild, bot.user_id, false);
        if let Some(guild) = state.guilds.get_mut(&guild) {
            guild.members.remove(&bot.user_id);
        }
    }

    /// A bot is put on a guild again.
    pub fn invite(&self, guild: u64, bot: &BotAccount) {
        let mut state = self.shared.state();
        if let Some(guild) = state.guilds.get_mut(&guild) {
            guild.members.insert(bot.user_id);
        }
        events::guild(&mut state, guild, bot.user_id);
    }

    /// A guild that is away for a while, and comes back.
    pub fn outage(&self, guild: u64, bot: &BotAccount) {
        let mut state = self.shared.state();
        events::guild_gone(&mut state, guild, bot.user_id, true);
        events::guild(&mut state, guild, bot.user_id);
    }

    /// A channel or a thread is deleted, with all that is in it.
    pub fn delete_channel(&self, channel: u64) {
        channels::delete(&mut self.shared.state(), channel);
        self.shared.stir();
    }

    /// The name of a channel or thread.
    pub fn name_of(&self, channel: u64) -> Option<String> {
        self.shared.state().channels.get(&channel).map(|channel| channel.name.clone())
    }

    /// Takes permissions from somebody in a channel.
    pub fn deny(&self, channel: u64, who: u64, permissions: u64) {
        let mut state = self.shared.state();
        if let Some(channel) = state.channels.get_mut(&channel) {
            *channel.denied.entry(who).or_default() |= permissions;
        }
        events::channel(&mut state, channel, "CHANNEL_UPDATE");
    }

    /// Gives everything back.
    pub fn allow(&self, channel: u64, who: u64) {
        let mut state = self.shared.state();
        if let Some(channel) = state.channels.get_mut(&channel) {
            channel.denied.remove(&who);
        }
        events::channel(&mut state, channel, "CHANNEL_UPDATE");
    }

    /// Which privileged intents are switched on in the portal.
    pub fn privileged(&self, bot: &BotAccount, intents: u64) {
        if let Some(bot) = self.shared.state().bot_mut(bot.user_id) {
            bot.privileged = intents;
        }
    }

    /// How many shards the gateway recommends, and how many sessions may still be begun.
    pub fn starts(&self, bot: &BotAccount, shards: u32, left: u32) {
        if let Some(bot) = self.shared.state().bot_mut(bot.user_id) {
            (bot.shards, bot.starts_left) = (shards, left);
        }
    }

    /// Resets the token in the portal: the old one is worth nothing from now on.
    pub fn reset_token(&self, bot: &mut BotAccount) {
        let mut state = self.shared.state();
        let token = new_token(bot.user_id, state.next_id());
        if let Some(known) = state.bot_mut(bot.user_id) {
            token.clone_into(&mut known.token);
        }
        bot.token = token;
        let own = bot.user_id;
        state.sessions.retain(|session| {
            if session.bot == own
                && let Some(line) = &session.line
            {
                line.try_send(state::Out::Close(4004, "Authentication failed.")).ok();
            }
            session.bot != own
        });
    }

    /// The commands a bot has registered.
    pub fn commands(&self, bot: &BotAccount) -> Vec<serde_json::Value> {
        let state = self.shared.state();
        state.bot(bot.user_id).map(|bot| bot.commands.clone()).unwrap_or_default()
    }

    /// How often a bot wrote its commands.
    pub fn registrations(&self, bot: &BotAccount) -> usize {
        self.shared.state().bot(bot.user_id).map_or(0, |bot| bot.registrations)
    }
}

/// A token in the shape of a real one.
fn new_token(user: Id, seed: Id) -> String {
    let mixed = |round: u64| {
        (seed ^ round).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).to_be_bytes()
    };
    let secret: Vec<u8> = (1..=4).flat_map(|round| mixed(round * 7919)).collect();
    let (first, last) = (user.to_string(), URL_SAFE_NO_PAD.encode(secret));
    format!("{}.GfAkE1.{last}", URL_SAFE_NO_PAD.encode(first))
}

#[cfg(test)]
#[path = "discord_tests.rs"]
mod tests;
