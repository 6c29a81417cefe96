//! Channels and threads: looked at, named, begun, joined, closed.

use std::time::Instant;

use serde_json::{Value, json};

use super::events;
use super::permissions::{
    CREATE_PUBLIC_THREADS, GUILDS, MANAGE_CHANNELS, MANAGE_THREADS, SEND_MESSAGES,
};
use super::rest::{Call, Done, Outcome, Refusal, Wrongs, id, no_route, only};
use super::state::{Channel, DM, Id, PRIVATE_THREAD, PUBLIC_THREAD, Shared, State};
use super::views;

pub(super) fn act(
    _shared: &Shared,
    state: &mut State,
    call: &Call,
    channel: Id,
    rest: &[&str],
) -> Outcome {
    if !state.channels.contains_key(&channel) {
        return Err(Refusal::unknown(10003, "Channel"));
    }
    if !state.can_see(call.bot, channel) {
        return Err(Refusal::missing_access());
    }
    match (call.method.as_str(), rest) {
        ("GET", []) => Ok(Done::Json(views::channel(state, channel, call.bot))),
        ("PATCH", []) => modify(state, call, channel),
        ("DELETE", []) => {
            let known = state.channels.get(&channel);
            let is_dm = known.is_some_and(|known| known.kind == DM);
            let thread = known.is_some_and(Channel::is_thread);
            let needed = if thread { MANAGE_THREADS } else { MANAGE_CHANNELS };
            if !is_dm && state.is_denied(call.bot, channel, needed) {
                return Err(Refusal::missing_permissions());
            }
            let view = views::channel(state, channel, call.bot);
            if !is_dm {
                delete(state, channel);
            }
            Ok(Done::Json(view))
        }
        ("POST", ["typing"]) => {
            if state.is_denied(call.bot, channel, SEND_MESSAGES) {
                return Err(Refusal::missing_permissions());
            }
            state.typing.push((channel, call.bot, Instant::now()));
            Ok(Done::Empty)
        }
        ("POST", ["threads"]) => start(state, call, channel, None),
        ("POST", ["messages", message, "threads"]) => {
            let message = id(message)?;
            let there = state.messages.get(&message).is_some_and(|known| known.channel == channel);
            if !there {
                return Err(Refusal::unknown(10008, "Message"));
            }
            if state.channels.contains_key(&message) {
                let why = "A thread has already been created for this message";
                return Err(Refusal::new(400, 160_004, why));
            }
            start(state, call, channel, Some(message))
        }
        ("PUT", ["thread-members", "@me"]) => {
            if let Some(thread) = state.channels.get_mut(&channel) {
                thread.joined.insert(call.bot);
            }
            Ok(Done::Empty)
        }
        _ => Err(no_route(state, call)),
    }
}

fn name_of(json: &Value, wrongs: &mut Wrongs) -> Option<String> {
    let name = json.get("name")?.as_str().unwrap_or_default().trim().to_owned();
    if !(1..=100).contains(&name.chars().count()) {
        wrongs.add("name", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.");
    }
    Some(name)
}

fn archive_time(json: &Value, wrongs: &mut Wrongs) {
    let time = &json["auto_archive_duration"];
    if !time.is_null() && ![60, 1440, 4320, 10_080].iter().any(|known| *time == *known) {
        let why = "Value must be one of {60, 1440, 4320, 10080}.";
        wrongs.add("auto_archive_duration", "BASE_TYPE_CHOICES", why);
    }
}

fn modify(state: &mut State, call: &Call, channel: Id) -> Outcome {
    let known = [
        "name",
        "archived",
        "auto_archive_duration",
        "locked",
        "topic",
        "flags",
        "invitable",
        "rate_limit_per_user",
    ];
    only(state, &call.route, &call.json, &known);
    let mut wrongs = Wrongs::default();
    let name = name_of(&call.json, &mut wrongs);
    archive_time(&call.json, &mut wrongs);
    wrongs.done()?;
    let Some(before) = state.channels.get(&channel) else {
        return Err(Refusal::unknown(10003, "Channel"));
    };
    if before.kind == DM {
        return Err(Refusal::new(400, 50024, "Cannot execute action on this channel type"));
    }
    let thread = before.is_thread();
    let own = thread && before.owner == Some(call.bot);
    let needed = if thread { MANAGE_THREADS } else { MANAGE_CHANNELS };
    if !own && state.is_denied(call.bot, channel, needed) {
        return Err(Refusal::missing_permissions());
    }
    let mut renamed = before.renamed.clone();
    let changes = name.as_ref().is_some_and(|name| *name != before.name);
    let wait = changes.then(|| state.buckets.rename(&mut renamed)).flatten();
    if let Some(wait) = wait {
        state.complain(format!("{}: renamed more often than may be", call.route));
        let mut refusal =
            Refusal::new(429, 20028, "The channel you are writing has hit the write rate limit.");
        refusal.retry_after = Some(wait.as_secs_f64());
        return Err(refusal);
    }
    if let Some(known) = state.channels.get_mut(&channel) {
        known.renamed = renamed;
        if let Some(name) = name {
            known.name = name;
        }
        known.archived = call.json["archived"].as_bool().unwrap_or(known.archived);
        known.locked = call.json["locked"].as_bool().unwrap_or(known.locked);
    }
    events::channel(state, channel, if thread { "THREAD_UPDATE" } else { "CHANNEL_UPDATE" });
    Ok(Done::Json(views::channel(state, channel, call.bot)))
}

fn start(state: &mut State, call: &Call, channel: Id, from: Option<Id>) -> Outcome {
    let known = ["name", "auto_archive_duration", "rate_limit_per_user", "type", "invitable"];
    only(state, &call.route, &call.json, &known);
    let mut wrongs = Wrongs::default();
    let name = name_of(&call.json, &mut wrongs);
    if name.is_none() {
        wrongs.required("name");
    }
    archive_time(&call.json, &mut wrongs);
    wrongs.done()?;
    if state.is_denied(call.bot, channel, CREATE_PUBLIC_THREADS) {
        return Err(Refusal::missing_permissions());
    }
    let kind = match (from, call.json["type"].as_u64()) {
        (None, None | Some(12)) => PRIVATE_THREAD,
        _ => PUBLIC_THREAD,
    };
    let thread = begin(state, call.bot, channel, from, &name.unwrap_or_default(), kind);
    Ok(Done::Json(views::channel(state, thread, call.bot)))
}

/// Begins a thread; one from a message has its id.
pub(super) fn begin(
    state: &mut State,
    by: Id,
    channel: Id,
    from: Option<Id>,
    name: &str,
    kind: u8,
) -> Id {
    let id = from.unwrap_or_else(|| state.next_id());
    let mut thread = Channel::new(id, kind);
    thread.guild = state.channels.get(&channel).and_then(|parent| parent.guild);
    thread.parent = Some(channel);
    thread.owner = Some(by);
    name.clone_into(&mut thread.name);
    thread.joined.insert(by);
    state.channels.insert(id, thread);
    events::channel(state, id, "THREAD_CREATE");
    id
}

/// A channel with all that is in it, or a thread.
pub(super) fn delete(state: &mut State, id: Id) {
    let Some(known) = state.channels.get(&id) else { return };
    let (thread, guild) = (known.is_thread(), known.guild);
    let (parent, kind) = (known.parent.map(|parent| parent.to_string()), known.kind);
    if thread {
        events::tell(state, "THREAD_DELETE", guild, GUILDS, |state, bot, _| {
            state.can_see(bot, id).then(|| {
                json!({"id": id.to_string(), "guild_id": guild.map(|guild| guild.to_string()),
                       "parent_id": parent, "type": kind})
            })
        });
    } else {
        events::channel(state, id, "CHANNEL_DELETE");
    }
    let gone: Vec<Id> =
        state.channels.values().filter(|known| known.parent == Some(id)).map(|c| c.id).collect();
    for id in gone.into_iter().chain([id]) {
        state.channels.remove(&id);
        state.messages.retain(|_, message| message.channel != id);
    }
}
