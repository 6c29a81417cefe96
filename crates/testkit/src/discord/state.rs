//! Everything the fake knows: accounts, guilds, channels, messages, interactions and gateway sessions.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::faults::Laid;
use super::limits::Buckets;

/// A snowflake.
pub(super) type Id = u64;

/// What Discord's snowflakes count from, in Unix milliseconds.
const EPOCH_MS: u64 = 1_420_070_400_000;
/// How many requests are remembered.
const REMEMBERED: usize = 50_000;

pub(super) const TEXT_CHANNEL: u8 = 0;
pub(super) const DM: u8 = 1;
pub(super) const PUBLIC_THREAD: u8 = 11;
pub(super) const PRIVATE_THREAD: u8 = 12;

pub(super) struct Shared {
    /// `HOST:PORT`.
    pub(super) address: String,
    state: Mutex<State>,
    /// Something changed that somebody may wait for.
    pub(super) changed: watch::Sender<u64>,
    /// Counts up when every connection is to be cut.
    pub(super) cut: watch::Sender<u64>,
}

impl Shared {
    pub(super) fn new(address: String) -> Self {
        Self {
            address,
            state: Mutex::new(State::default()),
            changed: watch::channel(0).0,
            cut: watch::channel(0).0,
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn stir(&self) {
        self.changed.send_modify(|count| *count = count.wrapping_add(1));
    }
}

#[derive(Default)]
pub(super) struct State {
    last_id: Id,
    pub(super) settings: Settings,
    pub(super) users: BTreeMap<Id, User>,
    pub(super) bots: Vec<Bot>,
    pub(super) guilds: BTreeMap<Id, Guild>,
    pub(super) channels: BTreeMap<Id, Channel>,
    pub(super) messages: BTreeMap<Id, Message>,
    pub(super) interactions: BTreeMap<Id, Interaction>,
    pub(super) files: HashMap<Id, File>,
    pub(super) sessions: Vec<Session>,
    pub(super) typing: Vec<(Id, Id, Instant)>,
    pub(super) laid: Vec<Laid>,
    pub(super) buckets: Buckets,
    pub(super) requests: VecDeque<Request>,
    pub(super) complaints: Vec<String>,
    pub(super) identifies: Vec<(Id, Instant)>,
    pub(super) resumes: usize,
    pub(super) resumed_elsewhere: usize,
    pub(super) closes: Vec<u16>,
}

/// How the service behaves; a test may change it at any time.
pub(super) struct Settings {
    pub(super) heartbeat: Duration,
    pub(super) acks: bool,
    /// No connection is taken.
    pub(super) down: bool,
    /// The gateway takes no connection; REST works.
    pub(super) gateway_down: bool,
    pub(super) answer_within: Duration,
    pub(super) token_lasts: Duration,
    pub(super) nonce_lasts: Duration,
    /// Least time between two identifies of a bot.
    pub(super) identify_every: Duration,
    pub(super) largest_upload: usize,
    /// Events reach no session: neither now nor by a replay.
    pub(super) lose_events: bool,
    /// A resume replays this many events more than were missed.
    pub(super) replay_again: usize,
    pub(super) refuse_resumes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_millis(41_250),
            acks: true,
            down: false,
            gateway_down: false,
            answer_within: Duration::from_secs(3),
            token_lasts: Duration::from_secs(15 * 60),
            nonce_lasts: Duration::from_secs(5 * 60),
            identify_every: Duration::ZERO,
            largest_upload: 10 << 20,
            lose_events: false,
            replay_again: 0,
            refuse_resumes: 0,
        }
    }
}

#[derive(Clone)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) bot: bool,
    /// Takes no direct messages.
    pub(super) closed: bool,
}

pub(super) struct Bot {
    pub(super) user: Id,
    pub(super) application: Id,
    pub(super) token: String,
    /// Privileged intents that are switched on in the portal.
    pub(super) privileged: u64,
    pub(super) shards: u32,
    pub(super) starts_left: u32,
    pub(super) commands: Vec<Value>,
    pub(super) guild_commands: BTreeMap<Id, Vec<Value>>,
    /// How often commands were written.
    pub(super) registrations: usize,
}

pub(super) struct Guild {
    pub(super) id: Id,
    pub(super) name: String,
    pub(super) owner: Id,
    pub(super) members: BTreeSet<Id>,
}

pub(super) struct Channel {
    pub(super) id: Id,
    pub(super) kind: u8,
    pub(super) guild: Option<Id>,
    pub(super) parent: Option<Id>,
    pub(super) name: String,
    pub(super) owner: Option<Id>,
    pub(super) recipients: Vec<Id>,
    pub(super) archived: bool,
    pub(super) locked: bool,
    /// Who has joined a thread.
    pub(super) joined: BTreeSet<Id>,
    /// Permissions that are taken from somebody here.
    pub(super) denied: BTreeMap<Id, u64>,
    pub(super) renamed: Vec<Instant>,
}

impl Channel {
    pub(super) fn is_thread(&self) -> bool {
        matches!(self.kind, PUBLIC_THREAD | PRIVATE_THREAD)
    }
}

#[derive(Clone)]
pub(super) struct Message {
    pub(super) id: Id,
    pub(super) channel: Id,
    pub(super) author: Id,
    pub(super) kind: u8,
    pub(super) flags: u64,
    pub(super) content: String,
    pub(super) embeds: Vec<Value>,
    pub(super) components: Vec<Value>,
    pub(super) attachments: Vec<Value>,
    pub(super) stickers: Vec<Value>,
    pub(super) nonce: Option<(Value, Instant)>,
    pub(super) reply_to: Option<Id>,
    /// What this repeats from elsewhere.
    pub(super) forwarded: Option<String>,
    pub(super) mentions: Vec<Id>,
    pub(super) everyone: bool,
    pub(super) edited: Option<Id>,
    /// What it said before each edit.
    pub(super) earlier: Vec<String>,
    /// An ephemeral message: nobody else sees it.
    pub(super) only_for: Option<Id>,
    pub(super) interaction: Option<Id>,
    pub(super) webhook: bool,
}

pub(super) struct Interaction {
    pub(super) id: Id,
    pub(super) token: String,
    pub(super) bot: Id,
    pub(super) by: Id,
    /// 2 command, 3 component, 4 autocomplete.
    pub(super) kind: u8,
    pub(super) channel: Id,
    pub(super) name: String,
    /// The message whose component was used.
    pub(super) on: Option<Id>,
    pub(super) made: Instant,
    /// The kind of the callback, once there is one.
    pub(super) answered: Option<u8>,
    /// The message that is the original response.
    pub(super) original: Option<Id>,
    pub(super) followups: Vec<Id>,
    pub(super) choices: Vec<(String, String)>,
}

#[derive(Clone)]
pub(super) struct File {
    pub(super) mime: String,
    pub(super) bytes: Vec<u8>,
}

/// What a gateway connection is to send or do.
#[derive(Debug)]
pub(super) enum Out {
    Text(String),
    Close(u16, &'static str),
    Cut,
}

pub(super) struct Session {
    pub(super) id: String,
    pub(super) bot: Id,
    pub(super) shard: (u32, u32),
    pub(super) intents: u64,
    pub(super) seq: u64,
    pub(super) sent: Vec<(u64, String)>,
    pub(super) line: Option<mpsc::Sender<Out>>,
}

/// A request that came.
#[derive(Clone, Debug)]
pub struct Request {
    pub at: Instant,
    /// `METHOD /path` with `:id` and `:token` in place of ids and tokens.
    pub route: String,
    pub path: String,
    pub status: u16,
    pub body: Value,
}

impl State {
    /// A new snowflake, greater than any before.
    pub(super) fn next_id(&mut self) -> Id {
        let now = now_ms().saturating_sub(EPOCH_MS) << 22;
        self.last_id = now.max(self.last_id + 1);
        self.last_id
    }

    pub(super) fn complain(&mut self, what: impl Into<String>) {
        self.complaints.push(what.into());
    }

    pub(super) fn remember(&mut self, request: Request) {
        if self.requests.len() >= REMEMBERED {
            self.requests.pop_front();
        }
        self.requests.push_back(request);
    }

    pub(super) fn bot_by_token(&self, token: &str) -> Option<&Bot> {
        self.bots.iter().find(|bot| bot.token == token)
    }

    pub(super) fn bot(&self, user: Id) -> Option<&Bot> {
        self.bots.iter().find(|bot| bot.user == user)
    }

    pub(super) fn bot_mut(&mut self, user: Id) -> Option<&mut Bot> {
        self.bots.iter_mut().find(|bot| bot.user == user)
    }

    pub(super) fn name_of(&self, user: Id) -> String {
        self.users.get(&user).map_or_else(|| user.to_string(), |user| user.name.clone())
    }

    /// The direct channel of two, made if there is none.
    pub(super) fn dm_of(&mut self, one: Id, other: Id) -> Id {
        let both = |channel: &&Channel| {
            channel.kind == DM
                && channel.recipients.contains(&one)
                && channel.recipients.contains(&other)
        };
        if let Some(channel) = self.channels.values().find(both) {
            return channel.id;
        }
        let id = self.next_id();
        let mut channel = Channel::new(id, DM);
        channel.recipients = vec![one, other];
        self.channels.insert(id, channel);
        id
    }

    /// Who can read a channel.
    pub(super) fn can_see(&self, user: Id, channel: Id) -> bool {
        let Some(known) = self.channels.get(&channel) else { return false };
        let Some(guild) = known.guild else { return known.recipients.contains(&user) };
        let member = self.guilds.get(&guild).is_some_and(|guild| guild.members.contains(&user));
        let private = known.kind == PRIVATE_THREAD
            && !known.joined.contains(&user)
            && known.owner != Some(user);
        member && !private && !self.is_denied(user, channel, super::permissions::VIEW_CHANNEL)
    }

    /// Whether a permission is taken from somebody in a channel or in the one it is in.
    pub(super) fn is_denied(&self, user: Id, channel: Id, permission: u64) -> bool {
        let Some(known) = self.channels.get(&channel) else { return true };
        if permission & super::permissions::NOT_GIVEN != 0 {
            return true;
        }
        let here = known.denied.get(&user).is_some_and(|denied| denied & permission != 0);
        here || known.parent.is_some_and(|parent| self.is_denied(user, parent, permission))
    }
}

impl Channel {
    pub(super) fn new(id: Id, kind: u8) -> Self {
        Self {
            id,
            kind,
            guild: None,
            parent: None,
            name: String::new(),
            owner: None,
            recipients: Vec::new(),
            archived: false,
            locked: false,
            joined: BTreeSet::new(),
            denied: BTreeMap::new(),
            renamed: Vec::new(),
        }
    }
}

impl Message {
    pub(super) fn new(id: Id, channel: Id, author: Id) -> Self {
        Self {
            id,
            channel,
            author,
            kind: 0,
            flags: 0,
            content: String::new(),
            embeds: Vec::new(),
            components: Vec::new(),
            attachments: Vec::new(),
            stickers: Vec::new(),
            nonce: None,
            reply_to: None,
            forwarded: None,
            mentions: Vec::new(),
            everyone: false,
            edited: None,
            earlier: Vec::new(),
            only_for: None,
            interaction: None,
            webhook: false,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a fake of the outside has the time of the outside")]
pub(super) fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The time in a snowflake, as Discord writes it.
pub(super) fn time_of(id: Id) -> String {
    timestamp((id >> 22) + EPOCH_MS)
}

/// `2026-11-15T18:00:00.000000+00:00`.
pub(super) fn timestamp(unix_ms: u64) -> String {
    let (seconds, ms) = (unix_ms / 1000, unix_ms % 1000);
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days to a date, counted in eras of 400 years that begin on the first of March.
    let z = days + 719_468;
    let (era, doe) = (z / 146_097, z % 146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest % 3600 / 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}000+00:00")
}
