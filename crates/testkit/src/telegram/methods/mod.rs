//! The methods of the Bot API that this server has, by name.

mod callbacks;
mod files;
mod messages;
mod profile;
mod topics;
pub(super) mod updates;

use serde_json::Value;

pub(super) use files::keep as keep_file;
pub(super) use topics::{begin as begin_topic, remove as remove_topic, service};

use super::pacing::Pace;
use super::params::Params;
use super::refusal::{Answer, Refusal};
use super::state::{Chat, ChatKey, Standing, State};

type Method = fn(&mut State, i64, &mut Params) -> Answer;

const METHODS: [(&str, Method); 31] = [
    ("answerCallbackQuery", callbacks::answer),
    ("closeForumTopic", topics::close),
    ("createForumTopic", topics::create),
    ("deleteForumTopic", topics::delete),
    ("deleteMessage", messages::delete),
    ("deleteMyCommands", profile::delete_commands),
    ("deleteWebhook", updates::delete_webhook),
    ("editForumTopic", topics::edit),
    ("editMessageCaption", messages::edit_caption),
    ("editMessageReplyMarkup", messages::edit_markup),
    ("editMessageText", messages::edit_text),
    ("getChat", profile::get_chat),
    ("getFile", files::get_file),
    ("getMe", profile::get_me),
    ("getMyCommands", profile::get_commands),
    ("getWebhookInfo", updates::webhook_info),
    ("leaveChat", profile::leave),
    ("reopenForumTopic", topics::reopen),
    ("sendAnimation", files::send_animation),
    ("sendAudio", files::send_audio),
    ("sendChatAction", messages::action),
    ("sendDocument", files::send_document),
    ("sendMediaGroup", files::send_group),
    ("sendMessage", messages::send),
    ("sendMessageDraft", messages::draft),
    ("sendPhoto", files::send_photo),
    ("sendVideo", files::send_video),
    ("sendVoice", files::send_voice),
    ("setMyCommands", profile::set_commands),
    ("setMyDescription", profile::set_description),
    ("setMyShortDescription", profile::set_short_description),
];

/// Does what a method does; `setWebhook` and `getUpdates` are done by who can wait.
pub(super) fn call(state: &mut State, bot: i64, method: &str, params: &mut Params) -> Answer {
    let Some((_, done)) = METHODS.iter().find(|(name, _)| *name == method) else {
        state.complain(format!("the method {method} is not known to this server"));
        return Err(Refusal::new(404, "Not Found: method not found"));
    };
    let answer = done(state, bot, params);
    let unread = params.unread();
    if answer.is_ok() && !unread.is_empty() {
        state.complain(format!("{method} was sent with unknown fields: {}", unread.join(", ")));
    }
    answer
}

/// Where a message goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) key: ChatKey,
    pub(super) thread: Option<i64>,
}

/// The chat that a bot means, if it may write there.
fn chat(state: &State, bot: i64, params: &mut Params) -> Result<ChatKey, Refusal> {
    let id = match params.take("chat_id") {
        Some(Value::Number(id)) => id.as_i64(),
        Some(Value::String(id)) => id.trim().parse().ok(),
        Some(_) => None,
        None => return Err(Refusal::bad("chat_id is empty")),
    };
    let id = id.ok_or_else(|| Refusal::bad("chat not found"))?;
    let key = if id > 0 { ChatKey::Private { bot, person: id } } else { ChatKey::Group(id) };
    let known = state.chats.get(&key).ok_or_else(|| Refusal::bad("chat not found"))?;
    if let Some(to) = known.migrated_to {
        return Err(Refusal::migrated(to));
    }
    let private = matches!(key, ChatKey::Private { .. });
    let group = known.kind;
    match known.bots.get(&bot).copied().unwrap_or(Standing::Unknown) {
        Standing::Member | Standing::Admin => Ok(key),
        Standing::Unknown if private && state.people.contains_key(&id) => {
            Err(Refusal::forbidden("bot can't initiate conversation with a user"))
        }
        Standing::Unknown => Err(Refusal::bad("chat not found")),
        Standing::Left => {
            Err(Refusal::forbidden(&format!("bot is not a member of the {group} chat")))
        }
        Standing::Out if private => Err(Refusal::forbidden("bot was blocked by the user")),
        Standing::Out => Err(Refusal::forbidden(&format!("bot was kicked from the {group} chat"))),
        Standing::Gone if private => Err(Refusal::forbidden("user is deactivated")),
        Standing::Gone => Err(Refusal::forbidden("the group chat was deleted")),
    }
}

/// The chat and the topic that a bot means.
fn target(state: &State, bot: i64, params: &mut Params) -> Result<Target, Refusal> {
    let key = chat(state, bot, params)?;
    let thread = params.int("message_thread_id")?.filter(|thread| *thread != 0);
    if let (Some(thread), Some(chat)) = (thread, state.chats.get(&key)) {
        open_topic(chat, bot, thread)?;
    }
    Ok(Target { key, thread })
}

fn open_topic(chat: &Chat, bot: i64, thread: i64) -> Result<(), Refusal> {
    match chat.topics.get(&thread) {
        // Topics were switched off for the bot.
        Some(_) if chat.kind == "private" && !chat.forum => {
            Err(Refusal::bad("message thread not found"))
        }
        Some(topic) if topic.deleted => Err(Refusal::bad("message thread not found")),
        Some(topic) if topic.closed && chat.bots.get(&bot) != Some(&Standing::Admin) => {
            Err(Refusal::bad("TOPIC_CLOSED"))
        }
        Some(_) => Ok(()),
        None => Err(Refusal::bad("message thread not found")),
    }
}

/// One more message: too many are refused, and not waiting is complained about.
fn paced(state: &mut State, bot: i64, key: ChatKey, method: &str) -> Result<(), Refusal> {
    match state.paces.send(bot, key) {
        Pace::Fine => Ok(()),
        Pace::TooFast { retry_after, ignored } => {
            if ignored {
                state.complain(format!("{method} in {key:?} did not wait as it was told"));
            }
            Err(Refusal::too_many(retry_after))
        }
    }
}
