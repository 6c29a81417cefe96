//! Messages: sent, edited, deleted, drafted, and that one is being written.

use std::time::Instant;

use serde_json::{Map, Value, json};

use super::super::markup;
use super::super::params::Params;
use super::super::refusal::{Answer, Refusal};
use super::super::state::{ChatKey, Draft, NewMessage, State, now, said};
use super::super::text::{self, CAPTION, TEXT};
use super::{Target, chat, paced, target};

const ACTIONS: [&str; 11] = [
    "typing",
    "upload_photo",
    "record_video",
    "upload_video",
    "record_voice",
    "upload_voice",
    "upload_document",
    "choose_sticker",
    "find_location",
    "record_video_note",
    "upload_video_note",
];

/// What every sending method takes beside what it sends.
pub(super) struct Envelope {
    pub(super) target: Target,
    pub(super) reply_to: Option<i64>,
    pub(super) markup: Option<Value>,
}

pub(super) fn envelope(
    state: &mut State,
    bot: i64,
    params: &mut Params,
) -> Result<Envelope, Refusal> {
    let target = target(state, bot, params)?;
    let reply_to = reply(state, target.key, params)?;
    let keyboard = params.json("reply_markup")?;
    let markup = markup::inline(state, keyboard)?;
    params.flag("disable_notification");
    params.flag("protect_content");
    Ok(Envelope { target, reply_to, markup })
}

fn reply(state: &State, key: ChatKey, params: &mut Params) -> Result<Option<i64>, Refusal> {
    let Some(reply) = params.json("reply_parameters")? else { return Ok(None) };
    let message = reply["message_id"].as_i64();
    let found = message.filter(|id| {
        let known = state.chats.get(&key).and_then(|chat| chat.messages.get(id));
        known.is_some_and(|message| !message.deleted)
    });
    match found {
        Some(id) => Ok(Some(id)),
        None if reply["allow_sending_without_reply"] == true => Ok(None),
        None => Err(Refusal::bad("message to be replied not found")),
    }
}

/// Stores what was sent, once its pace is fine.
pub(super) fn deliver(
    state: &mut State,
    bot: i64,
    envelope: Envelope,
    content: Map<String, Value>,
) -> Answer {
    let Envelope { target: Target { key, thread }, reply_to, markup } = envelope;
    paced(state, bot, key, "a message")?;
    let new = NewMessage { from: bot, by_bot: true, thread, reply_to, content, markup };
    let id = state.store(key, new);
    Ok(state.message_json(key, id, true))
}

pub(super) fn send(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    let envelope = envelope(state, bot, params)?;
    let given = params.take("text");
    let empty = match &given {
        None => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(_) => false,
    };
    if empty {
        state.complain("a message without text");
        return Err(Refusal::bad("message text is empty"));
    }
    params.restore("text", given);
    params.take("link_preview_options");
    let content = text::read(state, params, TEXT)?;
    if content.is_empty() {
        return Err(Refusal::bad("text must be non-empty"));
    }
    deliver(state, bot, envelope, content)
}

/// The message of its own that a bot wants to change.
fn own(state: &State, bot: i64, params: &mut Params) -> Result<(ChatKey, i64), Refusal> {
    let key = chat(state, bot, params)?;
    let id = params.required_int("message_id")?;
    let message = state.chats.get(&key).and_then(|chat| chat.messages.get(&id));
    match message {
        Some(message) if message.deleted => Err(Refusal::bad("message to edit not found")),
        Some(message) if message.from != bot => Err(Refusal::bad("message can't be edited")),
        Some(_) => Ok((key, id)),
        None => Err(Refusal::bad("message to edit not found")),
    }
}

/// Changes a message; what changes nothing is refused.
fn change(
    state: &mut State,
    bot: i64,
    (key, id): (ChatKey, i64),
    words: Option<(Map<String, Value>, [&str; 2])>,
    markup: Option<Value>,
) -> Answer {
    let message = state.chats.get(&key).and_then(|chat| chat.messages.get(&id));
    let Some(mut changed) = message.cloned() else {
        return Err(Refusal::bad("message to edit not found"));
    };
    let before = (changed.content.clone(), changed.markup.clone());
    if let Some((words, fields)) = words {
        for field in fields {
            changed.content.remove(field);
        }
        changed.content.extend(words);
    }
    changed.markup = markup;
    if before == (changed.content.clone(), changed.markup.clone()) {
        let what = "message is not modified: specified new message content and reply markup are exactly \
                    the same as a current content and reply markup of the message";
        return Err(Refusal::bad(what));
    }
    paced(state, bot, key, "an edit")?;
    changed.edited = Some(now());
    changed.history.push(said(&changed.content));
    if let Some(chat) = state.chats.get_mut(&key) {
        chat.messages.insert(id, changed);
    }
    Ok(state.message_json(key, id, true))
}

pub(super) fn edit_text(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    let place = own(state, bot, params)?;
    let is_text = state
        .chats
        .get(&place.0)
        .and_then(|chat| chat.messages.get(&place.1))
        .is_some_and(|message| message.content.contains_key("text"));
    if !is_text {
        return Err(Refusal::bad("there is no text in the message to edit"));
    }
    params.take("link_preview_options");
    let keyboard = params.json("reply_markup")?;
    let markup = markup::inline(state, keyboard)?;
    let words = text::read(state, params, TEXT)?;
    if words.is_empty() {
        return Err(Refusal::bad("message text is empty"));
    }
    change(state, bot, place, Some((words, [TEXT.text, TEXT.entities])), markup)
}

pub(super) fn edit_caption(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    let place = own(state, bot, params)?;
    let keyboard = params.json("reply_markup")?;
    let markup = markup::inline(state, keyboard)?;
    let words = text::read(state, params, CAPTION)?;
    change(state, bot, place, Some((words, [CAPTION.text, CAPTION.entities])), markup)
}

pub(super) fn edit_markup(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    let place = own(state, bot, params)?;
    let keyboard = params.json("reply_markup")?;
    let markup = markup::inline(state, keyboard)?;
    change(state, bot, place, None, markup)
}

pub(super) fn delete(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    let key = chat(state, bot, params)?;
    let id = params.required_int("message_id")?;
    let message = state.chats.get_mut(&key).and_then(|chat| chat.messages.get_mut(&id));
    match message {
        Some(message) if !message.deleted => {
            let private = matches!(key, ChatKey::Private { .. });
            if message.from != bot && !private {
                return Err(Refusal::bad("message can't be deleted"));
            }
            message.deleted = true;
            Ok(json!(true))
        }
        Some(_) | None => Err(Refusal::bad("message to delete not found")),
    }
}

pub(super) fn draft(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    let Target { key, thread } = target(state, bot, params)?;
    if !matches!(key, ChatKey::Private { .. }) {
        state.complain("a draft outside of a private chat");
        return Err(Refusal::bad("method is available only in private chats"));
    }
    let id = params.required_int("draft_id")?;
    if id == 0 {
        state.complain("a draft with the id 0");
        return Err(Refusal::bad("DRAFT_ID_INVALID"));
    }
    let can_stop = params.flag("can_stop");
    params.flag("keep_on_stop");
    let words = said(&text::read(state, params, TEXT)?);
    if let Some(chat) = state.chats.get_mut(&key) {
        let at = Instant::now();
        chat.drafts.push(Draft { thread, id, text: words, can_stop, at, over: false });
    }
    Ok(json!(true))
}

pub(super) fn action(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    let Target { key, thread } = target(state, bot, params)?;
    let action = params.text("action").unwrap_or_default();
    if !ACTIONS.contains(&action.as_str()) {
        return Err(Refusal::bad("wrong parameter action in request"));
    }
    if let Some(chat) = state.chats.get_mut(&key) {
        chat.actions.push((thread, action, Instant::now()));
    }
    Ok(json!(true))
}
