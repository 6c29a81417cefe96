//! Topics: in forums, and in private chats of bots that have them on.

use serde_json::{Map, Value, json};

use super::super::params::Params;
use super::super::refusal::{Answer, Refusal};
use super::super::state::{ChatKey, NewMessage, Standing, State, Topic};
use super::chat;

const COLORS: [i64; 6] = [0x6F_B9_F0, 0xFF_D6_7E, 0xCB_86_DB, 0x8E_EE_98, 0xFF_93_B2, 0xFB_6F_5F];

/// A forum in which the bot may do this; closing is for supergroups alone.
fn forum(
    state: &State,
    bot: i64,
    params: &mut Params,
    in_private: bool,
) -> Result<ChatKey, Refusal> {
    let key = chat(state, bot, params)?;
    let known = state.chats.get(&key).ok_or_else(|| Refusal::bad("chat not found"))?;
    let private = matches!(key, ChatKey::Private { .. });
    if !known.forum || (private && !in_private) {
        return Err(Refusal::bad("the chat is not a forum"));
    }
    if !private && known.bots.get(&bot) != Some(&Standing::Admin) {
        return Err(Refusal::bad("not enough rights to create a topic"));
    }
    Ok(key)
}

fn name(params: &mut Params) -> Result<Option<String>, Refusal> {
    let Some(name) = params.text("name") else { return Ok(None) };
    let name = name.trim().to_owned();
    if name.chars().count() > 128 {
        return Err(Refusal::bad("TOPIC_TITLE_TOO_LONG"));
    }
    Ok(Some(name))
}

pub(super) fn create(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    let key = forum(state, bot, params, true)?;
    let color = params.int("icon_color")?;
    if color.is_some_and(|color| !COLORS.contains(&color)) {
        return Err(Refusal::bad("TOPIC_ICON_COLOR_INVALID"));
    }
    let name = name(params)?.filter(|name| !name.is_empty());
    let Some(name) = name else {
        state.complain("a topic without a name");
        return Err(Refusal::bad("TOPIC_TITLE_EMPTY"));
    };
    let thread = begin(state, key, bot, &name);
    Ok(json!({"message_thread_id": thread, "name": name, "icon_color": color.unwrap_or(COLORS[0])}))
}

/// Opens a topic; the message that says so is its beginning.
pub(in super::super) fn begin(state: &mut State, key: ChatKey, by: i64, name: &str) -> i64 {
    let made = json!({"name": name, "icon_color": COLORS[0]});
    let thread = service(state, key, by, None, "forum_topic_created", made);
    if let Some(chat) = state.chats.get_mut(&key) {
        if let Some(message) = chat.messages.get_mut(&thread) {
            message.thread = Some(thread);
        }
        let topic = Topic { name: name.to_owned(), by, closed: false, deleted: false };
        chat.topics.insert(thread, topic);
    }
    thread
}

/// A message of the service: something happened to a topic or a chat.
pub(in super::super) fn service(
    state: &mut State,
    key: ChatKey,
    by: i64,
    thread: Option<i64>,
    kind: &str,
    content: Value,
) -> i64 {
    let content = Map::from_iter([(kind.to_owned(), content)]);
    let by_bot = state.is_bot(by);
    let new = NewMessage { from: by, by_bot, thread, reply_to: None, content, markup: None };
    state.store(key, new)
}

/// The topic that a bot means.
fn topic(state: &State, key: ChatKey, params: &mut Params) -> Result<(i64, Topic), Refusal> {
    let thread = params.required_int("message_thread_id")?;
    let topic = state.chats.get(&key).and_then(|chat| chat.topics.get(&thread));
    match topic {
        Some(topic) if !topic.deleted => Ok((thread, topic.clone())),
        Some(_) | None => Err(Refusal::bad("message thread not found")),
    }
}

fn put(state: &mut State, key: ChatKey, thread: i64, topic: Topic) {
    if let Some(chat) = state.chats.get_mut(&key) {
        chat.topics.insert(thread, topic);
    }
}

pub(super) fn edit(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    let key = forum(state, bot, params, true)?;
    let (thread, mut topic) = topic(state, key, params)?;
    let Some(name) = name(params)?.filter(|name| !name.is_empty() && *name != topic.name) else {
        return Err(Refusal::bad("TOPIC_NOT_MODIFIED"));
    };
    topic.name.clone_from(&name);
    put(state, key, thread, topic);
    service(state, key, bot, Some(thread), "forum_topic_edited", json!({"name": name}));
    Ok(json!(true))
}

fn toggle(state: &mut State, bot: i64, params: &mut Params, closed: bool) -> Answer {
    let key = forum(state, bot, params, false)?;
    let (thread, mut topic) = topic(state, key, params)?;
    if topic.closed == closed {
        return Err(Refusal::bad("TOPIC_NOT_MODIFIED"));
    }
    topic.closed = closed;
    put(state, key, thread, topic);
    let kind = if closed { "forum_topic_closed" } else { "forum_topic_reopened" };
    service(state, key, bot, Some(thread), kind, json!({}));
    Ok(json!(true))
}

pub(super) fn close(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    toggle(state, bot, params, true)
}

pub(super) fn reopen(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    toggle(state, bot, params, false)
}

pub(super) fn delete(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    let key = forum(state, bot, params, true)?;
    let (thread, _) = topic(state, key, params)?;
    remove(state, key, thread);
    Ok(json!(true))
}

/// A topic goes with everything in it.
pub(in super::super) fn remove(state: &mut State, key: ChatKey, thread: i64) {
    let Some(chat) = state.chats.get_mut(&key) else { return };
    if let Some(topic) = chat.topics.get_mut(&thread) {
        topic.deleted = true;
    }
    let within = chat.messages.values_mut().filter(|message| message.thread == Some(thread));
    within.for_each(|message| message.deleted = true);
}
