//! Interactions: answered once and in time, edited and followed up by their token while it lasts.

use serde_json::{Value, json};

use super::messages::{self, EPHEMERAL, LOADING, SUPPRESS_EMBEDS};
use super::rest::{Call, Done, Outcome, Refusal, Wrongs, id, no_route, only};
use super::state::{Id, Message, Shared, State};
use super::views;

const DATA_FIELDS: &[&str] = &[
    "tts",
    "content",
    "embeds",
    "allowed_mentions",
    "flags",
    "components",
    "attachments",
    "poll",
    "choices",
    "custom_id",
    "title",
];
const WEBHOOK_FIELDS: &[&str] = &[
    "content",
    "tts",
    "embeds",
    "allowed_mentions",
    "components",
    "attachments",
    "flags",
    "payload_json",
    "thread_name",
    "poll",
    "username",
    "avatar_url",
];

pub(super) fn act(shared: &Shared, state: &mut State, call: &Call, segments: &[&str]) -> Outcome {
    match (call.method.as_str(), segments) {
        ("POST", ["interactions", interaction, token, "callback"]) => {
            callback(shared, state, call, id(interaction)?, token)
        }
        ("POST", ["webhooks", application, token]) => {
            let interaction = by_token(state, application, token)?;
            follow_up(shared, state, call, interaction)
        }
        (method, ["webhooks", application, token, "messages", message]) => {
            let interaction = by_token(state, application, token)?;
            let known = state.interactions.get(&interaction);
            let message = if *message == "@original" {
                known.and_then(|known| known.original)
            } else {
                let message = id(message)?;
                known.filter(|known| known.followups.contains(&message)).map(|_| message)
            };
            let message = message.ok_or(Refusal::unknown(10008, "Message"))?;
            on_message(shared, state, call, method, message)
        }
        _ => Err(no_route(state, call)),
    }
}

fn on_message(
    shared: &Shared,
    state: &mut State,
    call: &Call,
    method: &str,
    message: Id,
) -> Outcome {
    match method {
        "GET" => {
            let known = state.messages.get(&message).ok_or(Refusal::unknown(10008, "Message"))?;
            Ok(Done::Json(views::message(state, known, true)))
        }
        "PATCH" => {
            only(state, &call.route, &call.json, WEBHOOK_FIELDS);
            let changed =
                messages::change(shared, state, message, &call.json, &call.files, call.bytes)?;
            Ok(Done::Json(changed))
        }
        "DELETE" => {
            if !state.messages.contains_key(&message) {
                return Err(Refusal::unknown(10008, "Message"));
            }
            messages::remove(state, message);
            Ok(Done::Empty)
        }
        _ => Err(no_route(state, call)),
    }
}

/// The interaction that a webhook's token is of, while it lasts.
fn by_token(state: &mut State, application: &str, token: &str) -> Result<Id, Refusal> {
    let lasts = state.settings.token_lasts;
    let known = state.interactions.values().find(|known| known.token == token);
    let Some(known) = known else {
        state.complain("a webhook whose token nobody knows");
        return Err(Refusal::new(401, 50027, "Invalid Webhook Token"));
    };
    let own = state.bot(known.bot).is_some_and(|bot| bot.application.to_string() == application);
    if !own {
        state.complain(format!("{application} is not the application of this interaction"));
        return Err(Refusal::unknown(10015, "Webhook"));
    }
    if known.made.elapsed() > lasts {
        return Err(Refusal::new(401, 50027, "Invalid Webhook Token"));
    }
    if known.answered.is_none() {
        return Err(Refusal::unknown(10015, "Webhook"));
    }
    Ok(known.id)
}

fn callback(
    shared: &Shared,
    state: &mut State,
    call: &Call,
    interaction: Id,
    token: &str,
) -> Outcome {
    only(state, &call.route, &call.json, &["type", "data"]);
    let data = &call.json["data"];
    only(state, &call.route, data, DATA_FIELDS);
    let within = state.settings.answer_within;
    let known = state.interactions.get(&interaction).filter(|known| known.token == token);
    let known = known.ok_or(Refusal::unknown(10062, "interaction"))?;
    if known.answered.is_some() {
        return Err(Refusal::new(400, 40060, "Interaction has already been acknowledged."));
    }
    if known.made.elapsed() > within {
        return Err(Refusal::unknown(10062, "interaction"));
    }
    let kind = u8::try_from(call.json["type"].as_u64().unwrap_or(0)).unwrap_or(0);
    let may: &[u8] = match known.kind {
        2 => &[4, 5, 9],
        3 => &[4, 5, 6, 7, 9],
        _ => &[8],
    };
    if !may.contains(&kind) {
        let mut wrongs = Wrongs::default();
        let why = format!("Value must be one of {may:?}.");
        wrongs.add("type", "BASE_TYPE_CHOICES", &why);
        wrongs.done()?;
    }
    let (bot, by, channel, on) = (known.bot, known.by, known.channel, known.on);
    let flags = data["flags"].as_u64().unwrap_or(0);
    let mut original = None;
    let mut choices = Vec::new();
    match kind {
        4 => {
            let message =
                respond(shared, state, call, data, (interaction, bot, by, channel), flags)?;
            original = Some(message);
        }
        5 => {
            let id = state.next_id();
            let mut message = Message::new(id, channel, bot);
            message.kind = 20;
            message.flags = LOADING | flags & EPHEMERAL;
            message.only_for = (flags & EPHEMERAL != 0).then_some(by);
            message.interaction = Some(interaction);
            messages::publish(state, message);
            original = Some(id);
        }
        6 => original = on,
        7 => {
            let on = on.ok_or(Refusal::unknown(10008, "Message"))?;
            messages::change(shared, state, on, data, &call.files, call.bytes)?;
            original = Some(on);
        }
        8 => choices = offered(data)?,
        _ => state.complain(format!("{}: a response of the type {kind}", call.route)),
    }
    if let Some(known) = state.interactions.get_mut(&interaction) {
        known.answered = Some(kind);
        known.original = original;
        known.choices = choices;
    }
    if call.query.get("with_response").is_some_and(|asked| asked == "true") {
        let message = original.and_then(|id| state.messages.get(&id));
        let message = message.map(|message| views::message(state, message, true));
        return Ok(Done::Json(json!({
            "interaction": {"id": interaction.to_string(), "type": 2},
            "resource": {"type": kind, "message": message},
        })));
    }
    Ok(Done::Empty)
}

/// Makes the message of a response.
fn respond(
    shared: &Shared,
    state: &mut State,
    call: &Call,
    data: &Value,
    (interaction, bot, by, channel): (Id, Id, Id, Id),
    flags: u64,
) -> Result<Id, Refusal> {
    let draft = messages::draft(state, data, &call.files, call.bytes)?;
    if draft.is_empty() {
        return Err(Refusal::new(400, 50006, "Cannot send an empty message"));
    }
    let id = state.next_id();
    let mut message = Message::new(id, channel, bot);
    message.kind = 20;
    message.flags = flags & (EPHEMERAL | SUPPRESS_EMBEDS);
    message.only_for = (flags & EPHEMERAL != 0).then_some(by);
    message.interaction = Some(interaction);
    message.webhook = true;
    draft.put(shared, state, &mut message);
    messages::publish(state, message);
    Ok(id)
}

fn offered(data: &Value) -> Result<Vec<(String, String)>, Refusal> {
    let choices = data["choices"].as_array().cloned().unwrap_or_default();
    let mut wrongs = Wrongs::default();
    if choices.len() > 25 {
        wrongs.add("data.choices", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.");
    }
    let mut offered = Vec::new();
    for (number, choice) in choices.iter().enumerate() {
        let name = choice["name"].as_str().unwrap_or_default();
        let value = &choice["value"];
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        for (field, text) in [("name", name), ("value", &value)] {
            if !(1..=100).contains(&text.chars().count()) {
                let place = format!("data.choices.{number}.{field}");
                wrongs.add(&place, "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.");
            }
        }
        offered.push((name.to_owned(), value));
    }
    wrongs.done()?;
    Ok(offered)
}

/// The first after a deferred answer is that answer; the others are messages of their own.
fn follow_up(shared: &Shared, state: &mut State, call: &Call, interaction: Id) -> Outcome {
    only(state, &call.route, &call.json, WEBHOOK_FIELDS);
    let Some(known) = state.interactions.get(&interaction) else {
        return Err(Refusal::unknown(10015, "Webhook"));
    };
    let (bot, by, channel) = (known.bot, known.by, known.channel);
    let waiting = known
        .original
        .filter(|id| state.messages.get(id).is_some_and(|message| message.flags & LOADING != 0));
    if let Some(original) = waiting {
        let view = messages::change(shared, state, original, &call.json, &call.files, call.bytes)?;
        return Ok(Done::Json(view));
    }
    let flags = call.json["flags"].as_u64().unwrap_or(0);
    let told = (interaction, bot, by, channel);
    let id = respond(shared, state, call, &call.json, told, flags)?;
    if let Some(known) = state.interactions.get_mut(&interaction) {
        known.followups.push(id);
    }
    let known = state.messages.get(&id).ok_or(Refusal::unknown(10008, "Message"))?;
    Ok(Done::Json(views::message(state, known, true)))
}
