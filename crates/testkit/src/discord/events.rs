//! What the gateway tells, to whom: by shard, by intent, by what a bot can see.

use serde_json::{Value, json};

use super::permissions::{DIRECT_MESSAGES, GUILD_MESSAGES, GUILDS};
use super::state::{DM, Id, Out, Session, State};
use super::views;

/// Whether a session is the one for a guild, or for what is in none.
fn is_for(session: &Session, guild: Option<Id>) -> bool {
    let (shard, of) = session.shard;
    match guild {
        None => shard == 0,
        Some(guild) => (guild >> 22) % u64::from(of.max(1)) == u64::from(shard),
    }
}

/// Tells a session one event.
pub(super) fn dispatch(session: &mut Session, kind: &str, data: &Value) {
    session.seq += 1;
    let text = json!({"op": 0, "s": session.seq, "t": kind, "d": data}).to_string();
    session.sent.push((session.seq, text.clone()));
    if let Some(line) = &session.line
        && line.try_send(Out::Text(text)).is_err()
    {
        // It reads too slowly or is gone; it resumes, or it does not.
        session.line = None;
    }
}

/// Tells every session it is for; `data` may differ by what the session may know.
pub(super) fn tell(
    state: &mut State,
    kind: &str,
    guild: Option<Id>,
    intent: u64,
    data: impl Fn(&State, Id, u64) -> Option<Value>,
) {
    if state.settings.lose_events {
        return;
    }
    let wanted = |session: &Session| {
        is_for(session, guild) && (intent == 0 || session.intents & intent != 0)
    };
    let told: Vec<Option<Value>> = state
        .sessions
        .iter()
        .map(|session| wanted(session).then(|| data(state, session.bot, session.intents)).flatten())
        .collect();
    for (session, told) in state.sessions.iter_mut().zip(told) {
        if let Some(told) = told {
            dispatch(session, kind, &told);
        }
    }
}

fn guild_of(state: &State, channel: Id) -> Option<Id> {
    state.channels.get(&channel).and_then(|channel| channel.guild)
}

fn message_intent(state: &State, channel: Id) -> u64 {
    let dm = state.channels.get(&channel).is_some_and(|channel| channel.kind == DM);
    if dm { DIRECT_MESSAGES } else { GUILD_MESSAGES }
}

pub(super) fn message(state: &mut State, id: Id, kind: &str) {
    let Some(message) = state.messages.get(&id).cloned() else { return };
    let (guild, intent) =
        (guild_of(state, message.channel), message_intent(state, message.channel));
    tell(state, kind, guild, intent, |state, bot, intents| {
        if !state.can_see(bot, message.channel) {
            return None;
        }
        let content = views::content_shown(state, &message, bot, intents);
        Some(views::told(state, &message, content))
    });
}

pub(super) fn message_gone(state: &mut State, channel: Id, id: Id) {
    let (guild, intent) = (guild_of(state, channel), message_intent(state, channel));
    tell(state, "MESSAGE_DELETE", guild, intent, |state, bot, _| {
        let mut data = json!({"id": id.to_string(), "channel_id": channel.to_string()});
        if let Some(guild) = guild {
            data["guild_id"] = json!(guild.to_string());
        }
        state.can_see(bot, channel).then_some(data)
    });
}

/// A channel or thread was made or changed: `CHANNEL_UPDATE`, `THREAD_CREATE` …
pub(super) fn channel(state: &mut State, id: Id, kind: &str) {
    let guild = guild_of(state, id);
    tell(state, kind, guild, GUILDS, |state, bot, _| {
        let mut view = views::channel(state, id, bot);
        if kind == "THREAD_CREATE" {
            view["newly_created"] = json!(true);
        }
        state.can_see(bot, id).then_some(view)
    });
}

pub(super) fn guild(state: &mut State, guild: Id, bot: Id) {
    tell(state, "GUILD_CREATE", Some(guild), GUILDS, |state, to, _| {
        (to == bot).then(|| views::guild(state, guild, bot))
    });
}

/// A bot is no longer in a guild, or the guild is away for a while.
pub(super) fn guild_gone(state: &mut State, guild: Id, bot: Id, away: bool) {
    tell(state, "GUILD_DELETE", Some(guild), GUILDS, |_, to, _| {
        let mut data = json!({"id": guild.to_string()});
        if away {
            data["unavailable"] = json!(true);
        }
        (to == bot).then_some(data)
    });
}
