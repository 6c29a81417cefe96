//! Messages of bots: made once for each nonce, edited, deleted.

use std::time::Instant;

use serde_json::{Value, json};

use super::body::Upload;
use super::checks::{self, Allowed};
use super::events;
use super::permissions::{
    ATTACH_FILES, EMBED_LINKS, MANAGE_MESSAGES, READ_MESSAGE_HISTORY, SEND_MESSAGES,
    SEND_MESSAGES_IN_THREADS,
};
use super::rest::{Call, Done, Outcome, Refusal, Wrongs, only};
use super::state::{DM, File, Id, Message, Shared, State};
use super::views;

pub(super) const EPHEMERAL: u64 = 1 << 6;
pub(super) const LOADING: u64 = 1 << 7;
pub(super) const SUPPRESS_EMBEDS: u64 = 1 << 2;
/// Flags that a message may be made with.
const MAY_SET: u64 = SUPPRESS_EMBEDS | 1 << 12;

const CREATE_FIELDS: &[&str] = &[
    "content",
    "nonce",
    "tts",
    "embeds",
    "allowed_mentions",
    "message_reference",
    "components",
    "sticker_ids",
    "attachments",
    "flags",
    "enforce_nonce",
    "poll",
    "payload_json",
];
const EDIT_FIELDS: &[&str] = &[
    "content",
    "embeds",
    "flags",
    "allowed_mentions",
    "components",
    "attachments",
    "payload_json",
];

/// What a message is to be, checked.
pub(super) struct Draft {
    pub(super) content: Option<String>,
    pub(super) embeds: Option<Vec<Value>>,
    pub(super) components: Option<Vec<Value>>,
    pub(super) flags: Option<u64>,
    pub(super) allowed: Allowed,
    pub(super) files: Vec<Upload>,
    /// Attachments of before that stay.
    pub(super) keeps: Option<Vec<Id>>,
}

/// Reads what is common to messages wherever they are made.
pub(super) fn draft(
    state: &mut State,
    json: &Value,
    files: &[Upload],
    bytes: usize,
) -> Result<Draft, Refusal> {
    let mut wrongs = Wrongs::default();
    checks::content(&mut wrongs, json);
    checks::embeds(state, &mut wrongs, json);
    checks::components(state, &mut wrongs, json);
    let allowed = Allowed::read(state, &mut wrongs, json);
    if files.len() > 10 {
        wrongs.add("attachments", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.");
    }
    let named = json["attachments"].as_array().cloned().unwrap_or_default();
    for named in &named {
        let known = ["id", "filename", "title", "description", "duration_secs", "waveform"];
        only(state, "attachments", named, &known);
    }
    for file in files {
        // Each file is described, by its number.
        let described = named.iter().any(|named| text_of(&named["id"]) == file.number);
        if !named.is_empty() && !described {
            wrongs.required(&format!("attachments.{}", file.number));
        }
    }
    wrongs.done()?;
    if bytes > state.settings.largest_upload + (64 << 10) {
        return Err(Refusal::new(413, 40005, "Request entity too large"));
    }
    let list =
        |field: &str| json.get(field).map(|list| list.as_array().cloned().unwrap_or_default());
    let kept = named.iter().filter_map(|named| text_of(&named["id"]).parse::<Id>().ok());
    Ok(Draft {
        content: json.get("content").map(|text| text.as_str().unwrap_or_default().to_owned()),
        embeds: list("embeds"),
        components: list("components"),
        flags: json["flags"].as_u64(),
        allowed,
        files: files.to_vec(),
        keeps: json.get("attachments").map(|_| kept.collect()),
    })
}

fn text_of(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

impl Draft {
    pub(super) fn is_empty(&self) -> bool {
        let none = |list: &Option<Vec<Value>>| list.as_ref().is_none_or(Vec::is_empty);
        self.content.as_deref().unwrap_or_default().trim().is_empty()
            && none(&self.embeds)
            && none(&self.components)
            && self.files.is_empty()
    }

    /// Writes it into a message.
    pub(super) fn put(self, shared: &Shared, state: &mut State, message: &mut Message) {
        if let Some(content) = self.content {
            (message.mentions, message.everyone) = self.allowed.rung(state, &content);
            // White space around a text is not kept.
            content.trim().clone_into(&mut message.content);
        }
        if let Some(embeds) = self.embeds {
            message.embeds = embeds;
        }
        if let Some(components) = self.components {
            message.components = components;
        }
        if let Some(keeps) = self.keeps {
            let kept = |id: &Value| text_of(id).parse().is_ok_and(|id| keeps.contains(&id));
            message.attachments.retain(|attachment| kept(&attachment["id"]));
        }
        for file in self.files {
            let mime = mime_of(&file.name);
            let view = attach(shared, state, message.channel, &file.name, mime, file.bytes);
            message.attachments.push(view);
        }
    }
}

fn mime_of(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "txt" | "md" => "text/plain; charset=utf-8",
        "pdf" => "application/pdf",
        "ogg" => "audio/ogg",
        _ => "application/octet-stream",
    }
}

/// Keeps a file and says how it is shown.
pub(super) fn attach(
    shared: &Shared,
    state: &mut State,
    channel: Id,
    name: &str,
    mime: &str,
    bytes: Vec<u8>,
) -> Value {
    let id = state.next_id();
    let plain = |c: char| if c == ' ' { '_' } else { c };
    let kept = |c: &char| c.is_ascii_alphanumeric() || "._-".contains(*c);
    let shown: String = name.chars().map(plain).filter(kept).collect();
    let query = "ex=6553f100&is=65417c00&hm=0000";
    let url = format!("http://{}/attachments/{channel}/{id}/{shown}?{query}", shared.address);
    let mut view = json!({
        "id": id.to_string(), "filename": shown, "size": bytes.len(), "url": url, "proxy_url": url,
        "content_type": mime,
    });
    if shown != name {
        view["title"] = json!(name.rsplit_once('.').map_or(name, |(stem, _)| stem));
    }
    state.files.insert(id, File { mime: mime.to_owned(), bytes });
    view
}

/// Whether a bot may write in a channel.
fn may_write(state: &State, call: &Call, channel: Id) -> Result<(), Refusal> {
    let known = state.channels.get(&channel).ok_or(Refusal::unknown(10003, "Channel"))?;
    if !state.can_see(call.bot, channel) {
        return Err(Refusal::missing_access());
    }
    if known.kind == DM {
        let other = known.recipients.iter().find(|other| **other != call.bot);
        let closed = other.and_then(|other| state.users.get(other)).is_some_and(|user| user.closed);
        return if closed {
            Err(Refusal::new(403, 50007, "Cannot send messages to this user"))
        } else {
            Ok(())
        };
    }
    let needed = if known.is_thread() { SEND_MESSAGES_IN_THREADS } else { SEND_MESSAGES };
    if state.is_denied(call.bot, channel, needed) {
        return Err(Refusal::missing_permissions());
    }
    if known.is_thread() && known.locked {
        return Err(Refusal::new(400, 50083, "Thread is archived"));
    }
    Ok(())
}

pub(super) fn create(shared: &Shared, state: &mut State, call: &Call, channel: Id) -> Outcome {
    may_write(state, call, channel)?;
    let json = &call.json;
    only(state, &call.route, json, CREATE_FIELDS);
    let draft = draft(state, json, &call.files, call.bytes)?;
    let nonce = nonce_of(json)?;
    if let Some(same) = nonce.as_ref().and_then(|nonce| same_nonce(state, call, nonce)) {
        let same = same.clone();
        return Ok(Done::Json(views::message(state, &same, true)));
    }
    if draft.is_empty() {
        return Err(Refusal::new(400, 50006, "Cannot send an empty message"));
    }
    if !draft.files.is_empty() && state.is_denied(call.bot, channel, ATTACH_FILES) {
        return Err(Refusal::missing_permissions());
    }
    let flags = draft.flags.unwrap_or(0);
    if flags & !MAY_SET != 0 {
        state.complain(format!("{}: flags {flags}", call.route));
    }
    let reply_to = reply_of(state, call, channel)?;
    let id = state.next_id();
    let mut message = Message::new(id, channel, call.bot);
    message.nonce = nonce.map(|nonce| (nonce, Instant::now()));
    message.flags = flags & MAY_SET;
    let replied = draft.allowed.replied;
    let no_embeds = state.is_denied(call.bot, channel, EMBED_LINKS);
    draft.put(shared, state, &mut message);
    if no_embeds {
        // Without the permission they are taken off without a word.
        message.embeds.clear();
    }
    if let Some(to) = reply_to {
        message.kind = 19;
        message.reply_to = Some(to);
        let author = state.messages.get(&to).map(|to| to.author);
        message.mentions.extend(author.filter(|_| replied));
    }
    Ok(Done::Json(publish(state, message)))
}

/// Puts a message where it belongs and tells who listens; how it looks.
pub(super) fn publish(state: &mut State, message: Message) -> Value {
    if let Some(channel) = state.channels.get_mut(&message.channel) {
        channel.archived = false;
        channel.joined.insert(message.author);
    }
    let view = views::message(state, &message, true);
    let (id, hidden) = (message.id, message.only_for.is_some());
    state.messages.insert(id, message);
    if !hidden {
        events::message(state, id, "MESSAGE_CREATE");
    }
    view
}

fn nonce_of(json: &Value) -> Result<Option<Value>, Refusal> {
    let nonce = &json["nonce"];
    let length = text_of(nonce).chars().count();
    if nonce.is_null() {
        return Ok(None);
    }
    if length > 25 {
        let mut wrongs = Wrongs::default();
        wrongs.too_long("nonce", 25);
        wrongs.done()?;
    }
    Ok(Some(nonce.clone()))
}

/// The message of the last minutes that has the same nonce, if that is to be looked at.
fn same_nonce<'a>(state: &'a State, call: &Call, nonce: &Value) -> Option<&'a Message> {
    if call.json["enforce_nonce"] != true {
        return None;
    }
    let lasts = state.settings.nonce_lasts;
    let same = |message: &&Message| {
        message.author == call.bot
            && message.nonce.as_ref().is_some_and(|(n, at)| n == nonce && at.elapsed() < lasts)
    };
    state.messages.values().rev().find(same)
}

fn reply_of(state: &mut State, call: &Call, channel: Id) -> Result<Option<Id>, Refusal> {
    let reference = call.json["message_reference"].clone();
    if reference.is_null() {
        return Ok(None);
    }
    let known = ["type", "message_id", "channel_id", "guild_id", "fail_if_not_exists"];
    only(state, "message_reference", &reference, &known);
    let to: Id = text_of(&reference["message_id"]).parse().unwrap_or_default();
    let there =
        state.messages.get(&to).is_some_and(|to| to.channel == channel && to.only_for.is_none());
    if !there {
        if reference["fail_if_not_exists"] == false {
            return Ok(None);
        }
        let mut wrongs = Wrongs::default();
        wrongs.add("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message");
        return wrongs.done().map(|()| None);
    }
    if state.is_denied(call.bot, channel, READ_MESSAGE_HISTORY) {
        let mut wrongs = Wrongs::default();
        let why = "Cannot reply without permission to read message history";
        wrongs.add("message_reference", "REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE", why);
        return wrongs.done().map(|()| None);
    }
    Ok(Some(to))
}

pub(super) fn edit(
    shared: &Shared,
    state: &mut State,
    call: &Call,
    channel: Id,
    id: Id,
) -> Outcome {
    if !state.channels.contains_key(&channel) {
        return Err(Refusal::unknown(10003, "Channel"));
    }
    if !state.can_see(call.bot, channel) {
        return Err(Refusal::missing_access());
    }
    let known = state.messages.get(&id).filter(|known| known.channel == channel);
    let known = known.filter(|known| known.only_for.is_none());
    let author = known.map(|known| known.author).ok_or(Refusal::unknown(10008, "Message"))?;
    if author != call.bot {
        return Err(Refusal::new(403, 50005, "Cannot edit a message authored by another user"));
    }
    only(state, &call.route, &call.json, EDIT_FIELDS);
    Ok(Done::Json(change(shared, state, id, &call.json, &call.files, call.bytes)?))
}

/// Puts other words in the place of what a message said.
pub(super) fn change(
    shared: &Shared,
    state: &mut State,
    id: Id,
    json: &Value,
    files: &[Upload],
    bytes: usize,
) -> Result<Value, Refusal> {
    let draft = draft(state, json, files, bytes)?;
    let mut message = state.messages.get(&id).cloned().ok_or(Refusal::unknown(10008, "Message"))?;
    let before = message.content.clone();
    if let Some(flags) = draft.flags {
        message.flags = message.flags & !SUPPRESS_EMBEDS | flags & SUPPRESS_EMBEDS;
    }
    draft.put(shared, state, &mut message);
    let empty = message.content.is_empty()
        && message.embeds.is_empty()
        && message.attachments.is_empty()
        && message.components.is_empty();
    if empty {
        return Err(Refusal::new(400, 50006, "Cannot send an empty message"));
    }
    let thinking = message.flags & LOADING != 0;
    message.flags &= !LOADING;
    if !thinking {
        message.earlier.push(before);
        message.edited = Some(state.next_id());
    }
    let view = views::message(state, &message, true);
    let hidden = message.only_for.is_some();
    state.messages.insert(id, message);
    if !hidden {
        events::message(state, id, "MESSAGE_UPDATE");
    }
    Ok(view)
}

pub(super) fn delete(state: &mut State, call: &Call, channel: Id, id: Id) -> Outcome {
    let known = state.messages.get(&id).filter(|known| known.channel == channel);
    let author = known.map(|known| known.author).ok_or(Refusal::unknown(10008, "Message"))?;
    let dm = state.channels.get(&channel).is_some_and(|channel| channel.kind == DM);
    if author != call.bot {
        if dm {
            return Err(Refusal::new(403, 50003, "Cannot execute action on a DM channel"));
        }
        if state.is_denied(call.bot, channel, MANAGE_MESSAGES) {
            return Err(Refusal::missing_permissions());
        }
    }
    remove(state, id);
    Ok(Done::Empty)
}

pub(super) fn remove(state: &mut State, id: Id) {
    let Some(gone) = state.messages.remove(&id) else { return };
    if gone.only_for.is_none() {
        events::message_gone(state, gone.channel, id);
    }
}
