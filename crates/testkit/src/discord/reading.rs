//! What was said before, as a bot may read it.

use serde_json::Value;

use super::permissions::READ_MESSAGE_HISTORY;
use super::rest::{Call, Done, Outcome, Refusal, Wrongs};
use super::state::{Id, Message, Shared, State};
use super::views;

fn may_read(state: &State, call: &Call, channel: Id) -> Result<(), Refusal> {
    if !state.channels.contains_key(&channel) {
        return Err(Refusal::unknown(10003, "Channel"));
    }
    if !state.can_see(call.bot, channel) {
        return Err(Refusal::missing_access());
    }
    Ok(())
}

fn shown(state: &State, call: &Call, message: &Message) -> Value {
    let privileged = state.bot(call.bot).map_or(0, |bot| bot.privileged);
    let content = views::content_shown(state, message, call.bot, privileged);
    views::message(state, message, content)
}

/// The newest first, whatever was asked for.
pub(super) fn list(_shared: &Shared, state: &mut State, call: &Call, channel: Id) -> Outcome {
    may_read(state, call, channel)?;
    for name in call.query.keys() {
        if !["limit", "after", "before", "around"].contains(&name.as_str()) {
            state.complaints.push(format!("{}: there is no {name:?}", call.route));
        }
    }
    let limit = call.query.get("limit").map_or(Ok(50), |limit| limit.parse::<usize>());
    let limit = limit.ok().filter(|limit| (1..=100).contains(limit));
    let Some(limit) = limit else {
        let mut wrongs = Wrongs::default();
        wrongs.add("limit", "NUMBER_TYPE_MAX", "int value should be less than or equal to 100.");
        return wrongs.done().map(|()| Done::Empty);
    };
    if state.is_denied(call.bot, channel, READ_MESSAGE_HISTORY) {
        return Ok(Done::Json(Value::Array(Vec::new())));
    }
    let bound = |name: &str| call.query.get(name).and_then(|id| id.parse::<Id>().ok());
    let (after, before) = (bound("after"), bound("before"));
    let there = state.messages.values().filter(|message| {
        message.channel == channel
            && message.only_for.is_none()
            && after.is_none_or(|after| message.id > after)
            && before.is_none_or(|before| message.id < before)
    });
    let there: Vec<&Message> = there.collect();
    // The oldest after something, the newest otherwise.
    let mut chosen: Vec<&Message> = if after.is_some() {
        there.into_iter().take(limit).collect()
    } else {
        there.into_iter().rev().take(limit).collect()
    };
    chosen.sort_by_key(|message| std::cmp::Reverse(message.id));
    let views = chosen.into_iter().map(|message| shown(state, call, message)).collect();
    Ok(Done::Json(views))
}

pub(super) fn one(
    _shared: &Shared,
    state: &mut State,
    call: &Call,
    channel: Id,
    message: Id,
) -> Outcome {
    may_read(state, call, channel)?;
    let known = state.messages.get(&message).filter(|known| known.channel == channel);
    let known = known.filter(|known| known.only_for.is_none());
    let known = known.ok_or(Refusal::unknown(10008, "Message"))?;
    Ok(Done::Json(shown(state, call, known)))
}
