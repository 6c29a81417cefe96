//! How things look on the wire.

use serde_json::{Value, json};

use super::accounts;
use super::permissions::{EVERYONE, MESSAGE_CONTENT};
use super::state::{DM, Id, Message, State, time_of};

pub(super) fn everyone() -> String {
    EVERYONE.to_string()
}

pub(super) fn user(state: &State, id: Id) -> Value {
    let (name, bot) =
        state.users.get(&id).map_or(("deleted", false), |user| (user.name.as_str(), user.bot));
    let mut view = json!({
        "id": id.to_string(),
        "username": name,
        "global_name": if bot { Value::Null } else { json!(name) },
        "discriminator": if bot { "4242" } else { "0" },
        "avatar": null,
        "avatar_decoration_data": null,
        "public_flags": 0,
        "primary_guild": null,
    });
    if bot {
        view["bot"] = json!(true);
    }
    view
}

pub(super) fn current_user(state: &State, id: Id) -> Value {
    let mut view = user(state, id);
    for (field, value) in [
        ("mfa_enabled", json!(true)),
        ("verified", json!(true)),
        ("email", Value::Null),
        ("locale", json!("en-US")),
        ("flags", json!(0)),
        ("banner", Value::Null),
        ("accent_color", Value::Null),
    ] {
        view[field] = value;
    }
    view
}

pub(super) fn member(state: &State, id: Id, with_user: bool) -> Value {
    let mut view = json!({
        "avatar": null, "banner": null, "communication_disabled_until": null, "deaf": false,
        "flags": 0, "joined_at": time_of(id), "mute": false, "nick": null, "pending": false,
        "premium_since": null, "roles": [],
    });
    if with_user {
        view["user"] = user(state, id);
    }
    view
}

pub(super) fn channel(state: &State, id: Id, viewer: Id) -> Value {
    let Some(known) = state.channels.get(&id) else { return Value::Null };
    let last = state.messages.values().rev().find(|message| message.channel == id);
    let last = last.map(|message| message.id.to_string());
    let mut view =
        json!({"id": id.to_string(), "type": known.kind, "last_message_id": last, "flags": 0});
    if known.kind == DM {
        let others = known.recipients.iter().filter(|other| **other != viewer);
        view["recipients"] = others.map(|other| user(state, *other)).collect();
        return view;
    }
    view["guild_id"] = json!(known.guild.map(|guild| guild.to_string()));
    view["name"] = json!(known.name);
    view["parent_id"] = json!(known.parent.map(|parent| parent.to_string()));
    view["rate_limit_per_user"] = json!(0);
    if known.is_thread() {
        view["owner_id"] = json!(known.owner.map(|owner| owner.to_string()));
        view["message_count"] = json!(0);
        view["member_count"] = json!(known.joined.len());
        view["total_message_sent"] = json!(0);
        view["thread_metadata"] = json!({
            "archived": known.archived, "archive_timestamp": time_of(id),
            "auto_archive_duration": 1440, "locked": known.locked, "create_timestamp": time_of(id),
        });
        if known.joined.contains(&viewer) {
            view["member"] = json!({
                "id": id.to_string(), "user_id": viewer.to_string(),
                "join_timestamp": time_of(id), "flags": 1,
            });
        }
        return view;
    }
    view["position"] = json!(0);
    view["nsfw"] = json!(false);
    view["topic"] = Value::Null;
    let overwrites = known.denied.iter().map(|(who, denied)| {
        json!({"id": who.to_string(), "type": 1, "allow": "0", "deny": denied.to_string()})
    });
    view["permission_overwrites"] = overwrites.collect();
    view
}

/// A guild as a bot gets to know it.
pub(super) fn guild(state: &State, id: Id, viewer: Id) -> Value {
    let Some(known) = state.guilds.get(&id) else { return Value::Null };
    let seen = state.channels.values().filter(|channel| channel.guild == Some(id));
    let seen: Vec<_> = seen.filter(|channel| state.can_see(viewer, channel.id)).collect();
    let of = |threads: bool| -> Vec<Value> {
        let of = seen.iter().filter(|channel| channel.is_thread() == threads && !channel.archived);
        of.map(|seen| channel(state, seen.id, viewer)).collect()
    };
    let mut view = json!({
        "id": id.to_string(), "name": known.name, "icon": null, "splash": null,
        "discovery_splash": null, "owner_id": known.owner.to_string(), "afk_channel_id": null,
        "afk_timeout": 300, "verification_level": 0, "default_message_notifications": 0,
        "explicit_content_filter": 0, "emojis": [], "features": [], "mfa_level": 0,
        "application_id": null, "system_channel_id": null, "system_channel_flags": 0,
        "rules_channel_id": null, "vanity_url_code": null, "description": null, "banner": null,
        "premium_tier": 0, "premium_subscription_count": 0, "preferred_locale": "en-US",
        "public_updates_channel_id": null, "nsfw_level": 0, "premium_progress_bar_enabled": false,
    });
    let more = json!({
        "safety_alerts_channel_id": null, "max_members": 500_000, "max_video_channel_users": 25,
        "max_stage_video_channel_users": 50, "stickers": [], "stage_instances": [],
        "guild_scheduled_events": [], "soundboard_sounds": [], "voice_states": [], "presences": [],
        "joined_at": time_of(id), "large": false, "unavailable": false,
        "member_count": known.members.len(),
        "members": [member(state, viewer, true)],
        "roles": roles(state, id, viewer),
        "channels": of(false), "threads": of(true),
    });
    if let (Some(view), Value::Object(more)) = (view.as_object_mut(), more) {
        view.extend(more);
    }
    view
}

pub(super) fn ready(
    state: &State,
    bot: Id,
    session: &str,
    shard: (u32, u32),
    resume: &str,
) -> Value {
    let Some(known) = state.bot(bot) else { return Value::Null };
    let guilds = state.guilds.values().filter(|guild| {
        guild.members.contains(&bot) && (guild.id >> 22) % u64::from(shard.1) == u64::from(shard.0)
    });
    let guilds: Vec<Value> =
        guilds.map(|guild| json!({"id": guild.id.to_string(), "unavailable": true})).collect();
    json!({
        "v": 10, "user": current_user(state, bot), "guilds": guilds, "session_id": session,
        "session_type": "normal", "resume_gateway_url": resume, "shard": [shard.0, shard.1],
        "application": {"id": known.application.to_string(), "flags": accounts::flags(known)},
        "private_channels": [], "relationships": [], "presences": [], "user_settings": {},
        "geo_ordered_rtc_regions": [], "guild_join_requests": [], "auth": {},
        "_trace": ["[\"fake\"]"],
    })
}

/// Whether a bot is shown what a message says.
pub(super) fn content_shown(state: &State, message: &Message, bot: Id, intents: u64) -> bool {
    let dm = state.channels.get(&message.channel).is_some_and(|channel| channel.kind == DM);
    intents & MESSAGE_CONTENT != 0
        || dm
        || message.author == bot
        || message.mentions.contains(&bot)
        || message.interaction.is_some()
}

/// A message as REST answers with it.
pub(super) fn message(state: &State, message: &Message, with_content: bool) -> Value {
    let mut view = plain(state, message, with_content);
    let reply = message.reply_to;
    if let Some(to) = reply {
        let target = state.messages.get(&to);
        view["message_reference"] = json!({
            "type": 0, "message_id": to.to_string(), "channel_id": message.channel.to_string(),
        });
        view["referenced_message"] =
            target.map_or(Value::Null, |target| plain(state, target, with_content));
    }
    view
}

/// Everybody's, and the one that was made for the bot when it came.
fn roles(state: &State, guild: Id, bot: Id) -> Value {
    let role = |id: Id, name: &str, managed: bool| {
        json!({
            "id": id.to_string(), "name": name, "color": 0, "hoist": false, "icon": null,
            "unicode_emoji": null, "position": u8::from(managed), "permissions": everyone(),
            "managed": managed, "mentionable": false, "flags": 0,
            "colors": {"primary_color": 0, "secondary_color": null, "tertiary_color": null},
        })
    };
    let name = state.users.get(&bot).map(|user| user.name.clone()).unwrap_or_default();
    let mut ours = role(role_of(guild, bot), &name, true);
    ours["tags"] = json!({"bot_id": bot.to_string()});
    json!([role(guild, "@everyone", false), ours])
}

/// The role that a guild has for a bot.
pub(super) fn role_of(guild: Id, bot: Id) -> Id {
    guild.wrapping_add(bot) >> 1
}

/// The roles that a text names.
fn named_roles(content: &str) -> Vec<&str> {
    let after = content.split("<@&").skip(1);
    after.filter_map(|rest| Some(rest.split_once('>')?.0)).collect()
}

fn plain(state: &State, message: &Message, with_content: bool) -> Value {
    let hide = |shown: Value, hidden: Value| if with_content { shown } else { hidden };
    let mentions: Vec<Value> = message.mentions.iter().map(|who| user(state, *who)).collect();
    let mut view = json!({
        "id": message.id.to_string(), "channel_id": message.channel.to_string(),
        "type": message.kind, "flags": message.flags,
        "author": user(state, message.author), "timestamp": time_of(message.id),
        "edited_timestamp": message.edited.map(time_of),
        "content": hide(json!(message.content), json!("")),
        "embeds": hide(json!(message.embeds), json!([])),
        "components": hide(json!(message.components), json!([])),
        "attachments": hide(json!(message.attachments), json!([])),
        "mentions": mentions, "mention_roles": named_roles(&message.content),
        "mention_everyone": message.everyone,
        "pinned": false, "tts": false,
    });
    if !message.stickers.is_empty() {
        view["sticker_items"] = json!(message.stickers);
    }
    if let Some((nonce, _)) = &message.nonce {
        view["nonce"] = nonce.clone();
    }
    if let Some(text) = &message.forwarded {
        view["message_reference"] = json!({"type": 1, "message_id": "1", "channel_id": "1"});
        view["message_snapshots"] = json!([{"message": {
            "content": hide(json!(text), json!("")), "embeds": [], "attachments": [], "mentions": [],
            "mention_roles": [], "timestamp": time_of(message.id), "edited_timestamp": null,
            "flags": 0, "type": 0, "components": [],
        }}]);
    }
    if let Some(bot) = state.bot(message.author)
        && (message.interaction.is_some() || message.webhook)
    {
        view["application_id"] = json!(bot.application.to_string());
        view["webhook_id"] = json!(bot.application.to_string());
    }
    if let Some(made) = message.interaction.and_then(|id| state.interactions.get(&id)) {
        view["interaction_metadata"] = json!({
            "id": made.id.to_string(), "type": made.kind, "user": user(state, made.by),
            "authorizing_integration_owners": {"0": made.channel.to_string()}, "name": made.name,
        });
    }
    view
}

/// A message as the gateway tells it.
pub(super) fn told(state: &State, known: &Message, with_content: bool) -> Value {
    let mut view = message(state, known, with_content);
    view["channel_type"] = json!(state.channels.get(&known.channel).map(|channel| channel.kind));
    if let Some(guild) = state.channels.get(&known.channel).and_then(|channel| channel.guild) {
        view["guild_id"] = json!(guild.to_string());
        view["member"] = member(state, known.author, false);
    }
    view
}
