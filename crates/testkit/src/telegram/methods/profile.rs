//! What a bot says of itself: who it is, its commands, its description.

use serde_json::{Value, json};

use super::super::params::Params;
use super::super::refusal::{Answer, Refusal};
use super::super::state::{Standing, State};
use super::chat;

const SCOPES: [&str; 7] = [
    "default",
    "all_private_chats",
    "all_group_chats",
    "all_chat_administrators",
    "chat",
    "chat_administrators",
    "chat_member",
];

pub(super) fn get_me(state: &mut State, bot: i64, _params: &mut Params) -> Answer {
    state.paces.starts(bot);
    let bot = state.bots.get(&bot).ok_or_else(|| Refusal::new(401, "Unauthorized"))?;
    let mut me = bot.user();
    let more = json!({
        "can_join_groups": true, "can_read_all_group_messages": bot.settings.reads_everything,
        "supports_inline_queries": false, "can_connect_to_business": false, "has_main_web_app": false,
        "has_topics_enabled": bot.settings.topics,
        "allows_users_to_create_topics": bot.settings.topics && bot.settings.people_open_topics,
    });
    if let (Value::Object(me), Value::Object(more)) = (&mut me, more) {
        me.extend(more);
    }
    Ok(me)
}

pub(super) fn get_chat(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    let key = chat(state, bot, params)?;
    let mut told = state.chat_json(key);
    told["accent_color_id"] = json!(0);
    told["max_reaction_count"] = json!(11);
    told["accepted_gift_types"] = json!({
        "unlimited_gifts": false, "limited_gifts": false, "unique_gifts": false,
        "premium_subscription": false, "gifts_from_channels": false,
    });
    Ok(told)
}

pub(super) fn leave(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    let key = chat(state, bot, params)?;
    if let Some(chat) = state.chats.get_mut(&key) {
        chat.bots.insert(bot, Standing::Left);
    }
    Ok(json!(true))
}

/// The scope and the language that commands are for.
fn place(params: &mut Params) -> Result<(String, String), Refusal> {
    let scope = params.json("scope")?.unwrap_or_else(|| json!({"type": "default"}));
    let kind = scope["type"].as_str().unwrap_or_default();
    if !SCOPES.contains(&kind) {
        return Err(Refusal::bad("can't parse BotCommandScope: Unsupported type specified"));
    }
    let language = params.text("language_code").unwrap_or_default();
    let two_letters = language.len() == 2 && language.bytes().all(|b| b.is_ascii_lowercase());
    if !language.is_empty() && !two_letters {
        return Err(Refusal::bad("invalid language code specified"));
    }
    let scope = match scope.get("chat_id") {
        Some(chat) => format!("{kind}:{chat}"),
        None => kind.to_owned(),
    };
    Ok((scope, language))
}

pub(super) fn set_commands(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    let place = place(params)?;
    let commands = params.json("commands")?.unwrap_or_default();
    let list =
        commands.as_array().ok_or_else(|| Refusal::bad("can't parse commands JSON object"))?;
    if list.len() > 100 {
        return Err(Refusal::bad("BOT_COMMANDS_TOO_MUCH"));
    }
    for command in list {
        let name = command["command"].as_str().unwrap_or_default();
        let description = command["description"].as_str().unwrap_or_default();
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if name.is_empty() || name.len() > 32 || !name.chars().all(fits) {
            state.complain(format!("a command named {name:?}"));
            return Err(Refusal::bad("BOT_COMMAND_INVALID"));
        }
        if description.trim().is_empty() || description.chars().count() > 256 {
            state.complain(format!("/{name} is described as {description:?}"));
            return Err(Refusal::bad("BOT_COMMAND_DESCRIPTION_INVALID"));
        }
    }
    if let Some(bot) = state.bots.get_mut(&bot) {
        bot.commands.insert(place, commands);
    }
    Ok(json!(true))
}

pub(super) fn delete_commands(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    let place = place(params)?;
    if let Some(bot) = state.bots.get_mut(&bot) {
        bot.commands.remove(&place);
    }
    Ok(json!(true))
}

pub(super) fn get_commands(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    let place = place(params)?;
    let commands = state.bots.get(&bot).and_then(|bot| bot.commands.get(&place).cloned());
    Ok(commands.unwrap_or_else(|| json!([])))
}

fn describe(state: &mut State, bot: i64, params: &mut Params, field: &str, most: usize) -> Answer {
    let text = params.text(field).unwrap_or_default();
    let language = params.text("language_code").unwrap_or_default();
    if text.chars().count() > most {
        return Err(Refusal::bad("BOT_DESCRIPTION_TOO_LONG"));
    }
    if let Some(bot) = state.bots.get_mut(&bot) {
        bot.descriptions.insert((field.to_owned(), language), text);
    }
    Ok(json!(true))
}

pub(super) fn set_description(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    describe(state, bot, params, "description", 512)
}

pub(super) fn set_short_description(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    describe(state, bot, params, "short_description", 120)
}
