//! Who somebody is: users, the application, guilds, and where the gateway is.

use serde_json::{Value, json};

use super::permissions::{GUILD_MEMBERS, GUILD_PRESENCES, MESSAGE_CONTENT};
use super::rest::{Call, Done, Outcome, Refusal, id, no_route, only};
use super::state::{Bot, Shared, State};
use super::views;

pub(super) fn act(shared: &Shared, state: &mut State, call: &Call, segments: &[&str]) -> Outcome {
    let bot = call.bot;
    match (call.method.as_str(), segments) {
        ("GET", ["gateway"]) => Ok(Done::Json(json!({"url": gateway_url(shared)}))),
        ("GET", ["gateway", "bot"]) => {
            let bot = state.bot(bot).ok_or_else(Refusal::missing_access)?;
            Ok(Done::Json(json!({
                "url": gateway_url(shared),
                "shards": bot.shards,
                "session_start_limit": {
                    "total": 1000, "remaining": bot.starts_left,
                    "reset_after": 14_400_000, "max_concurrency": bot.shards,
                },
            })))
        }
        ("GET", ["users", "@me"]) => Ok(Done::Json(views::current_user(state, bot))),
        ("GET", ["users", user]) => {
            let user = id(user)?;
            let known = state.users.contains_key(&user);
            known
                .then(|| Done::Json(views::user(state, user)))
                .ok_or(Refusal::unknown(10013, "User"))
        }
        ("GET", ["users", "@me", "guilds"]) => {
            let guilds = state.guilds.values().filter(|guild| guild.members.contains(&bot));
            let guilds = guilds.map(|guild| {
                json!({"id": guild.id.to_string(), "name": guild.name, "icon": null, "owner": false,
                       "permissions": views::everyone(), "features": []})
            });
            Ok(Done::Json(guilds.collect()))
        }
        ("POST", ["users", "@me", "channels"]) => open_dm(state, call),
        ("GET", ["applications", "@me"] | ["oauth2", "applications", "@me"]) => {
            let known = state.bot(bot).ok_or_else(Refusal::missing_access)?;
            Ok(Done::Json(application(state, known)))
        }
        ("GET", ["guilds", guild, rest @ ..]) => in_guild(state, call, guild, rest),
        _ => Err(no_route(state, call)),
    }
}

pub(super) fn gateway_url(shared: &Shared) -> String {
    format!("ws://{}", shared.address)
}

fn open_dm(state: &mut State, call: &Call) -> Outcome {
    only(state, &call.route, &call.json, &["recipient_id"]);
    let with = id(call.json["recipient_id"].as_str().unwrap_or_default())?;
    let user = state.users.get(&with).ok_or(Refusal::unknown(10013, "User"))?;
    if user.bot {
        return Err(Refusal::new(400, 50007, "Cannot send messages to this user"));
    }
    let channel = state.dm_of(call.bot, with);
    Ok(Done::Json(views::channel(state, channel, call.bot)))
}

pub(super) fn flags(bot: &Bot) -> u64 {
    let bit = |intent: u64, flag: u64| if bot.privileged & intent == 0 { 0 } else { flag };
    // The flags of a bot in few guilds: the limited kind of each.
    bit(GUILD_PRESENCES, 1 << 13) | bit(GUILD_MEMBERS, 1 << 15) | bit(MESSAGE_CONTENT, 1 << 19)
}

fn application(state: &State, bot: &Bot) -> Value {
    json!({
        "id": bot.application.to_string(),
        "name": state.name_of(bot.user),
        "icon": null,
        "description": "",
        "bot_public": true,
        "bot_require_code_grant": false,
        "bot": views::user(state, bot.user),
        "flags": flags(bot),
        "verify_key": "0".repeat(64),
        "team": null,
        "summary": "",
        "type": null,
        "rpc_origins": [],
        "approximate_guild_count": state.guilds.len(),
        "integration_types_config": {"0": {}},
    })
}

fn in_guild(state: &mut State, call: &Call, guild: &str, rest: &[&str]) -> Outcome {
    let guild = id(guild)?;
    let known = state.guilds.get(&guild).ok_or(Refusal::unknown(10004, "Guild"))?;
    if !known.members.contains(&call.bot) {
        return Err(Refusal::missing_access());
    }
    let of_guild = |threads: bool| {
        let channels = state.channels.values().filter(move |channel| {
            channel.guild == Some(guild) && channel.is_thread() == threads && !channel.archived
        });
        let seen = channels.filter(|channel| state.can_see(call.bot, channel.id));
        seen.map(|channel| views::channel(state, channel.id, call.bot)).collect::<Vec<Value>>()
    };
    match rest {
        [] => Ok(Done::Json(views::guild(state, guild, call.bot))),
        ["channels"] => Ok(Done::Json(of_guild(false).into())),
        ["threads", "active"] => Ok(Done::Json(json!({"threads": of_guild(true), "members": []}))),
        ["members", user] => {
            let user = if *user == "@me" { call.bot } else { id(user)? };
            if known.members.contains(&user) {
                return Ok(Done::Json(views::member(state, user, true)));
            }
            Err(Refusal::unknown(10007, "Member"))
        }
        _ => Err(no_route(state, call)),
    }
}
