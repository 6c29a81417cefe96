//! Application commands: checked as Discord checks them, overwritten all at once.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::rest::{Call, Done, Outcome, Refusal, Wrongs, id, no_route, only};
use super::state::State;

const MOST: usize = 100;
/// All names, descriptions and choices of one command.
const LONGEST: usize = 8000;

const FIELDS: &[&str] = &[
    "id",
    "application_id",
    "guild_id",
    "type",
    "name",
    "name_localizations",
    "description",
    "description_localizations",
    "options",
    "default_member_permissions",
    "dm_permission",
    "contexts",
    "integration_types",
    "nsfw",
    "version",
    "handler",
];
const OPTION_FIELDS: &[&str] = &[
    "type",
    "name",
    "name_localizations",
    "description",
    "description_localizations",
    "required",
    "choices",
    "options",
    "channel_types",
    "min_value",
    "max_value",
    "min_length",
    "max_length",
    "autocomplete",
];

pub(super) fn act(state: &mut State, call: &Call, application: &str, rest: &[&str]) -> Outcome {
    let own = state.bot(call.bot).is_some_and(|bot| bot.application.to_string() == application);
    if !own {
        state.complain(format!("{}: {application} is not the application of this bot", call.route));
        return Err(Refusal::new(
            403,
            20012,
            "You are not authorized to perform this action on this application",
        ));
    }
    let (guild, rest) = match rest {
        ["guilds", guild, rest @ ..] => (Some(id(guild)?), rest),
        rest => (None, rest),
    };
    match (call.method.as_str(), rest) {
        ("GET", ["commands"]) => {
            let commands = state.bot(call.bot).map(|bot| match guild {
                None => bot.commands.clone(),
                Some(guild) => bot.guild_commands.get(&guild).cloned().unwrap_or_default(),
            });
            Ok(Done::Json(commands.unwrap_or_default().into()))
        }
        ("PUT", ["commands"]) => {
            let Some(list) = call.json.as_array() else {
                return Err(Refusal::new(400, 50035, "Invalid Form Body"));
            };
            let commands = checked(state, call, list, application)?;
            if let Some(bot) = state.bot_mut(call.bot) {
                bot.registrations += 1;
                match guild {
                    None => bot.commands = commands.clone(),
                    Some(guild) => {
                        bot.guild_commands.insert(guild, commands.clone());
                    }
                }
            }
            Ok(Done::Json(commands.into()))
        }
        _ => Err(no_route(state, call)),
    }
}

fn checked(
    state: &mut State,
    call: &Call,
    list: &[Value],
    application: &str,
) -> Result<Vec<Value>, Refusal> {
    let mut wrongs = Wrongs::default();
    if list.len() > MOST {
        let why = "Maximum number of application commands reached (100).";
        return Err(Refusal::new(400, 30032, why));
    }
    let mut names = BTreeSet::new();
    for (number, command) in list.iter().enumerate() {
        only(state, &call.route, command, FIELDS);
        let kind = command["type"].as_u64().unwrap_or(1);
        if kind == 1 {
            named(&mut wrongs, &number.to_string(), command);
            options(state, &mut wrongs, &format!("{number}.options"), &command["options"]);
        }
        let name = command["name"].as_str().unwrap_or_default().to_owned();
        if !names.insert((kind, name)) {
            let why = "Application command names must be unique";
            wrongs.add(&number.to_string(), "APPLICATION_COMMANDS_DUPLICATE_NAME", why);
        }
        if size(command) > LONGEST {
            let why = "Command exceeds maximum size (8000)";
            wrongs.add(&number.to_string(), "APPLICATION_COMMAND_TOO_LARGE", why);
        }
    }
    wrongs.done()?;
    let made = list.iter().map(|command| {
        let mut command = command.clone();
        command["id"] = json!(state.next_id().to_string());
        command["version"] = json!(state.next_id().to_string());
        command["application_id"] = json!(application);
        for (field, value) in [
            ("default_member_permissions", Value::Null),
            ("nsfw", json!(false)),
            ("type", json!(1)),
            ("integration_types", json!([0])),
        ] {
            if command.get(field).is_none_or(Value::is_null) {
                command[field] = value;
            }
        }
        command
    });
    Ok(made.collect())
}

/// What counts against the size of a command.
fn size(value: &Value) -> usize {
    let own = ["name", "description", "value"].iter().filter_map(|field| value[*field].as_str());
    let own: usize = own.map(|text| text.chars().count()).sum();
    let within = ["options", "choices"].iter().filter_map(|field| value[*field].as_array());
    own + within.flatten().map(size).sum::<usize>()
}

fn named(wrongs: &mut Wrongs, place: &str, value: &Value) {
    let name = value["name"].as_str().unwrap_or_default();
    let fits = |c: char| c == '-' || c == '_' || c == '\'' || c.is_alphanumeric();
    let good = (1..=32).contains(&name.chars().count())
        && name.chars().all(fits)
        && name.to_lowercase() == name;
    if !good {
        wrongs.add(
            &format!("{place}.name"),
            "APPLICATION_COMMAND_INVALID_NAME",
            "Command name is invalid",
        );
    }
    let description = value["description"].as_str().unwrap_or_default().trim();
    if !(1..=100).contains(&description.chars().count()) {
        let why = "Must be between 1 and 100 in length.";
        wrongs.add(&format!("{place}.description"), "BASE_TYPE_BAD_LENGTH", why);
    }
}

fn options(state: &mut State, wrongs: &mut Wrongs, place: &str, options: &Value) {
    let options = options.as_array().map_or(&[][..], Vec::as_slice);
    if options.len() > 25 {
        wrongs.add(place, "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.");
    }
    let mut optional = false;
    let mut names = BTreeSet::new();
    for (number, option) in options.iter().enumerate() {
        let place = format!("{place}.{number}");
        only(state, &place, option, OPTION_FIELDS);
        named(wrongs, &place, option);
        let kind = option["type"].as_u64().unwrap_or(0);
        if !(1..=11).contains(&kind) {
            wrongs.add(
                &format!("{place}.type"),
                "BASE_TYPE_CHOICES",
                "Value must be one of (1, …, 11).",
            );
        }
        if !names.insert(option["name"].as_str().unwrap_or_default()) {
            let why = "Option names must be unique";
            wrongs.add(&place, "APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS", why);
        }
        if option["required"] == true && optional {
            let why = "Required options must be placed before non-required options";
            wrongs.add(&place, "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", why);
        }
        optional |= kind > 2 && option["required"] != true;
        choices(wrongs, &place, option, kind);
    }
}

fn choices(wrongs: &mut Wrongs, place: &str, option: &Value, kind: u64) {
    let choices = option["choices"].as_array().map_or(&[][..], Vec::as_slice);
    if choices.len() > 25 {
        wrongs.add(
            &format!("{place}.choices"),
            "BASE_TYPE_MAX_LENGTH",
            "Must be 25 or fewer in length.",
        );
    }
    let completes = option["autocomplete"] == true;
    if completes && (!choices.is_empty() || ![3, 4, 10].contains(&kind)) {
        let why = "autocomplete may not be set to true";
        wrongs.add(
            &format!("{place}.autocomplete"),
            "APPLICATION_COMMAND_OPTIONS_AUTOCOMPLETE_INVALID",
            why,
        );
    }
}
