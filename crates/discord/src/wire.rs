//! What Discord sends, as far as it concerns us. Lenient: a field of a kind that did not exist when this was
//! written costs that field, never the message.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Messages that somebody wrote.
const DEFAULT: u64 = 0;
const REPLY: u64 = 19;
/// A reference that brings another message along instead of answering it.
const FORWARD: u64 = 1;
/// Recorded, not uploaded.
const IS_VOICE: u64 = 1 << 13;
/// The second before the first snowflake, in Unix milliseconds.
const EPOCH_MS: i64 = 1_420_070_400_000;
/// From the first of March of the year 0, the first day being 1.
const DAYS_TO_1970: i64 = 719_469;

/// What can be read of something, or nothing of it.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// What can be read of a list; what can't be is left out.
fn lenient_list<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let Value::Array(values) = value else { return Ok(Vec::new()) };
    Ok(values.into_iter().filter_map(|value| serde_json::from_value(value).ok()).collect())
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) channel_id: String,
    #[serde(default)]
    pub(super) guild_id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) author: Account,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) webhook_id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) content: String,
    #[serde(rename = "type", default)]
    pub(super) kind: u64,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) flags: u64,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) edited_timestamp: Option<String>,
    #[serde(default, deserialize_with = "lenient_list")]
    pub(super) mentions: Vec<Account>,
    #[serde(default, deserialize_with = "lenient_list")]
    pub(super) mention_roles: Vec<String>,
    #[serde(default, deserialize_with = "lenient_list")]
    pub(super) attachments: Vec<Attachment>,
    #[serde(default, deserialize_with = "lenient_list")]
    pub(super) sticker_items: Vec<Named>,
    #[serde(default, deserialize_with = "lenient_list")]
    pub(super) embeds: Vec<Embed>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) poll: Option<Poll>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) message_reference: Option<Reference>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) referenced_message: Option<Box<Message>>,
    #[serde(default, deserialize_with = "lenient_list")]
    pub(super) message_snapshots: Vec<Snapshot>,
}

impl Message {
    /// Whether a person wrote it: no bot, no webhook, nothing that Discord says itself.
    pub(super) fn is_by_a_person(&self) -> bool {
        let nobody = self.author.bot || self.author.system || self.webhook_id.is_some();
        !nobody && !self.author.id.is_empty() && matches!(self.kind, DEFAULT | REPLY)
    }

    pub(super) fn is_forward(&self) -> bool {
        self.message_reference.as_ref().is_some_and(|reference| reference.kind == FORWARD)
    }

    pub(super) const fn is_voice(&self) -> bool {
        self.flags & IS_VOICE != 0
    }

    /// The message that it answers, if it answers one.
    pub(super) fn replies_to(&self) -> Option<&Reference> {
        self.message_reference.as_ref().filter(|_| self.kind == REPLY && !self.is_forward())
    }
}

/// Somebody's account, as Discord vouches for it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Account {
    pub(super) id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) username: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) global_name: Option<String>,
    /// The old kind of names had four digits after them.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) discriminator: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) bot: bool,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) system: bool,
}

impl Account {
    /// What others see of it. Anybody calls themselves what they like: it is for people to read.
    pub(super) fn shown(&self) -> &str {
        let shown = self.global_name.as_deref().filter(|name| !name.trim().is_empty());
        shown.unwrap_or(&self.username)
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Attachment {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) filename: String,
    /// What it was called before Discord made a name fit for an address of it.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) title: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) content_type: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) size: u64,
    pub(super) url: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Named {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) name: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Embed {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) title: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) description: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Poll {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) question: Text,
    #[serde(default, deserialize_with = "lenient_list")]
    pub(super) answers: Vec<PollAnswer>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct PollAnswer {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) poll_media: Text,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Text {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) text: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Reference {
    #[serde(rename = "type", default, deserialize_with = "lenient")]
    pub(super) kind: u64,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) message_id: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Snapshot {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) message: Forwarded,
}

/// A message that was brought along from elsewhere; nobody says whose it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Forwarded {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) content: String,
    #[serde(default, deserialize_with = "lenient_list")]
    pub(super) attachments: Vec<Attachment>,
    #[serde(default, deserialize_with = "lenient_list")]
    pub(super) sticker_items: Vec<Named>,
    #[serde(default, deserialize_with = "lenient_list")]
    pub(super) embeds: Vec<Embed>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Deleted {
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default, deserialize_with = "lenient_list")]
    pub(super) ids: Vec<String>,
    pub(super) channel_id: String,
}

/// A channel or a thread; a direct conversation is one too.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Channel {
    pub(super) id: String,
    #[serde(rename = "type", default, deserialize_with = "lenient")]
    pub(super) kind: u64,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) guild_id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) parent_id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) name: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) last_message_id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) thread_metadata: Option<ThreadState>,
}

impl Channel {
    pub(super) const fn is_thread(&self) -> bool {
        matches!(self.kind, 10..=12)
    }

    pub(super) const fn is_direct(&self) -> bool {
        self.kind == 1
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct ThreadState {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) archived: bool,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) locked: bool,
}

/// A server, as it is told of when a session begins.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Guild {
    pub(super) id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) unavailable: bool,
    /// Since when the bot is there, as Discord writes times.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) joined_at: Option<String>,
    #[serde(default, deserialize_with = "lenient_list")]
    pub(super) channels: Vec<Channel>,
    #[serde(default, deserialize_with = "lenient_list")]
    pub(super) threads: Vec<Channel>,
    #[serde(default, deserialize_with = "lenient_list")]
    pub(super) roles: Vec<Role>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Role {
    pub(super) id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) tags: RoleTags,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct RoleTags {
    /// The bot that this role was made for.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) bot_id: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct ThreadList {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) guild_id: Option<String>,
    #[serde(default, deserialize_with = "lenient_list")]
    pub(super) threads: Vec<Channel>,
}

/// A command of the menu, what is typed into one, or a button.
#[derive(Clone, Default, Deserialize)]
pub(super) struct Interaction {
    pub(super) id: String,
    /// Whoever has it can answer in the bot's name for a quarter of an hour.
    pub(super) token: String,
    #[serde(rename = "type", default)]
    pub(super) kind: u64,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) guild_id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) channel_id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) channel: Option<Channel>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) member: Option<Member>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) user: Option<Account>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) data: InteractionData,
}

impl std::fmt::Debug for Interaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interaction")
            .field("id", &self.id)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

impl Interaction {
    /// Whose account it is, as Discord vouches for: in a server it is a member's.
    pub(super) fn by(&self) -> Option<&Account> {
        let by = self.member.as_ref().map(|member| &member.user).or(self.user.as_ref());
        by.filter(|account| !account.id.is_empty())
    }

    pub(super) fn place(&self) -> Option<&str> {
        let channel = self.channel.as_ref().map(|channel| channel.id.as_str());
        channel.or(self.channel_id.as_deref()).filter(|id| !id.is_empty())
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Member {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) user: Account,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct InteractionData {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) name: String,
    #[serde(default, deserialize_with = "lenient_list")]
    pub(super) options: Vec<CommandOption>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) custom_id: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct CommandOption {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) name: String,
    #[serde(default)]
    pub(super) value: Value,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) focused: bool,
}

impl CommandOption {
    /// As it would be typed.
    pub(super) fn text(&self) -> String {
        match &self.value {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        }
    }
}

/// How to reach the gateway, and how often a session may be begun.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct GatewayInfo {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) url: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) shards: u32,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) session_start_limit: StartLimit,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct StartLimit {
    pub(super) remaining: u32,
    /// In milliseconds.
    pub(super) reset_after: u64,
    pub(super) max_concurrency: u16,
}

impl Default for StartLimit {
    fn default() -> Self {
        Self { remaining: 1000, reset_after: 0, max_concurrency: 1 }
    }
}

/// The number that a snowflake is; none if it is none.
pub(super) fn snowflake(id: &str) -> Option<u64> {
    (id.len() <= 20 && id.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| id.parse().ok())
        .flatten()
        .filter(|id| *id > 0)
}

/// The first snowflake of a time.
pub(super) fn snowflake_at(unix_ms: i64) -> u64 {
    let since = u64::try_from(unix_ms.saturating_sub(EPOCH_MS)).unwrap_or(0);
    (since.min(u64::MAX >> 22) << 22).max(1)
}

/// What was made before a time, as Discord writes it, has a smaller snowflake than this.
pub(super) fn snowflake_since(time: &str) -> Option<u64> {
    Some(snowflake_at(unix_ms(time)?))
}

/// The Unix milliseconds of `2021-01-01T01:01:01.010000+00:00`.
fn unix_ms(time: &str) -> Option<i64> {
    let (date, rest) = time.split_once('T')?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let zone = rest.find(['Z', '+', '-'])?;
    let (clock, zone) = rest.split_at_checked(zone)?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let minutes = |clock: &str| {
        let (hours, minutes) = clock.split_once(':')?;
        Some(hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?)
    };
    let (hour_and_minute, second) = clock.rsplit_once(':')?;
    let second = second.parse::<i64>().ok()?;
    let fraction: String = fraction.chars().chain("000".chars()).take(3).collect();
    let offset = match zone.split_at_checked(1)? {
        ("Z", "") => 0,
        ("+", offset) => minutes(offset)?,
        ("-", offset) => -minutes(offset)?,
        _ => return None,
    };
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(1970..=9999).contains(&year) {
        return None;
    }
    // Years begin in March here, so that a day more comes at the end of one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day;
    let days = days - DAYS_TO_1970;
    let minutes = days * 24 * 60 + minutes(hour_and_minute)? - offset;
    Some((minutes * 60 + second) * 1000 + fraction.parse::<i64>().ok()?)
}

/// When a snowflake was made, in Unix milliseconds.
pub(super) fn made_at(snowflake: u64) -> i64 {
    i64::try_from(snowflake >> 22).unwrap_or(i64::MAX).saturating_add(EPOCH_MS)
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
