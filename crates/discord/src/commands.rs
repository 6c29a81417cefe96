//! Slash commands: what Discord offers while somebody types, and what they typed in the words of the command table.
//! Which commands there are is the control plane's to say.
//!
//! A command has the options of this table, in the order in which they would be typed. What the table does not know
//! takes its words as one option, so that a new command works before anybody thinks of Discord.

use std::collections::BTreeMap;

use cloister_kit::Commands;
use cloister_protocol::surface::{ChoiceKind, MenuItem, SendError};
use serde_json::{Value, json};

use super::bot::Bot;
use super::outgoing::meaning;
use super::rest::{Request, at};

const STRING: u8 = 3;
const BOOLEAN: u8 = 5;
const MAX_DESCRIPTION: usize = 100;
/// As many commands as an application may have.
const MOST_COMMANDS: usize = 100;

/// An option of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Opt {
    name: &'static str,
    help: &'static str,
    required: bool,
    takes: Takes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Words,
    /// Words, of which some are offered.
    Choice(ChoiceKind),
    /// One of these.
    OneOf(&'static [&'static str]),
    /// Yes adds this word.
    Word(&'static str),
}

const fn opt(name: &'static str, help: &'static str, takes: Takes) -> Opt {
    Opt { name, help, required: false, takes }
}

const fn must(name: &'static str, help: &'static str, takes: Takes) -> Opt {
    Opt { name, help, required: true, takes }
}

const CHATS: Takes = Takes::Choice(ChoiceKind::Chats);
const TO_ARCHIVE: Takes = Takes::Choice(ChoiceKind::ToArchive);
const TASKS: Takes = Takes::Choice(ChoiceKind::Tasks);
const APPROVALS: Takes = Takes::Choice(ChoiceKind::Approvals);

/// The options of each command that has any.
const OPTIONS: &[(&str, &[Opt])] = &[
    ("help", &[opt("command", "which command", Takes::Words)]),
    ("new", &[opt("title", "what it is about", Takes::Words)]),
    ("chats", &[opt("chat", "show this one here", CHATS)]),
    ("rename", &[must("title", "its new name", Takes::Words)]),
    (
        "archive",
        &[
            opt("chat", "which chat; this one unless you say", TO_ARCHIVE),
            opt("undo", "take it out again", Takes::Word("undo")),
        ],
    ),
    ("task", &[must("what", "what is to be done, or the task to show", TASKS)]),
    ("cancel", &[opt("task", "which task, or all; everything of this chat unless you say", TASKS)]),
    ("retry", &[must("task", "which task", TASKS)]),
    ("undo", &[opt("task", "which task; the last one unless you say", TASKS)]),
    (
        "approve",
        &[
            opt("question", "which question", APPROVALS),
            opt("how", "for how long; once unless you say", Takes::OneOf(&["task", "always"])),
        ],
    ),
    (
        "deny",
        &[
            opt("question", "which question", APPROVALS),
            opt("stop", "end its task as well", Takes::Word("stop")),
        ],
    ),
    ("revoke", &[must("grant", "which grant, such as G1", Takes::Words)]),
    ("budget", &[opt("usd", "the new daily limit", Takes::Words)]),
    ("allow", &[must("host", "which host", Takes::Words)]),
    ("forbid", &[must("host", "which host", Takes::Words)]),
    ("admin_channel", &[must("state", "on or off", Takes::OneOf(&["enable", "disable"]))]),
    (
        "stop",
        &[
            must("what", "everything, everywhere", Takes::OneOf(&["all"])),
            opt("reason", "what people are told", Takes::Words),
        ],
    ),
];

const ANY: &[Opt] = &[opt("words", "what comes after it", Takes::Words)];
const SOME: &[Opt] = &[must("words", "what comes after it", Takes::Words)];

fn options_of(item: &MenuItem) -> &'static [Opt] {
    if let Some((_, options)) = OPTIONS.iter().find(|(name, _)| *name == item.name) {
        return options;
    }
    match item.usage.split_once(' ') {
        Some((_, rest)) if rest.trim_start().starts_with('[') => ANY,
        Some(_) => SOME,
        None => &[],
    }
}

/// What a command is called here: as people type it, which not every surface takes.
fn shown(item: &MenuItem) -> String {
    item.name.replace('_', "-")
}

fn known<'a>(commands: &'a Commands, name: &str) -> Option<&'a MenuItem> {
    let name = name.replace('-', "_");
    commands.menu.iter().find(|item| item.name == name)
}

/// A slash command as it would be typed; none if there is no such command. Values come as Discord hands them over:
/// of a switch, `true` or `false`.
pub(crate) fn typed(commands: &Commands, name: &str, values: &[(&str, &str)]) -> Option<String> {
    let item = known(commands, name)?;
    let mut text = format!("/{}", shown(item));
    for option in options_of(item) {
        let value = values.iter().find(|(name, _)| *name == option.name).map(|(_, value)| *value);
        let word = match (option.takes, value) {
            (_, None) => continue,
            (Takes::Word(word), Some("true")) => word.to_owned(),
            (Takes::Word(_), Some(_)) => continue,
            (Takes::Words | Takes::Choice(_) | Takes::OneOf(_), Some(value)) => {
                // A command is one line.
                value.replace(['\n', '\r'], " ").trim().to_owned()
            }
        };
        if !word.is_empty() {
            text.push(' ');
            text.push_str(&word);
        }
    }
    Some(text)
}

/// What is offered while somebody types an option.
pub(crate) fn choices_of(commands: &Commands, command: &str, option: &str) -> Option<ChoiceKind> {
    let item = known(commands, command)?;
    let option = options_of(item).iter().find(|known| known.name == option)?;
    match option.takes {
        Takes::Choice(kind) => Some(kind),
        Takes::Words | Takes::OneOf(_) | Takes::Word(_) => None,
    }
}

/// Tells Discord which commands there are, unless it knows them so.
pub(crate) async fn register(bot: &Bot) -> Result<(), SendError> {
    let commands = at::commands(bot.application());
    let there: Vec<Value> = bot.get(commands.clone()).await.map_err(meaning)?;
    let wanted = all(bot.plane.commands());
    if is_same(&there, &wanted) {
        return Ok(());
    }
    let request = Request::put(commands).saying(&wanted);
    let set: Vec<Value> = bot.read(request.map_err(meaning)?).await.map_err(meaning)?;
    tracing::info!(commands = set.len(), "Discord was told which commands there are");
    Ok(())
}

/// Every command, as Discord wants to be told.
fn all(commands: &Commands) -> Vec<Value> {
    commands.menu.iter().take(MOST_COMMANDS).map(command).collect()
}

fn command(item: &MenuItem) -> Value {
    let options: Vec<Value> = options_of(item).iter().map(option).collect();
    json!({
        "type": 1,
        "name": shown(item),
        "description": description(&item.help),
        "options": options,
        // In servers that have the bot, and in direct messages with it.
        "contexts": [0, 1],
        "integration_types": [0],
    })
}

fn option(option: &Opt) -> Value {
    let mut told = json!({
        "type": if matches!(option.takes, Takes::Word(_)) { BOOLEAN } else { STRING },
        "name": option.name,
        "description": description(option.help),
        "required": option.required,
    });
    match option.takes {
        Takes::Choice(_) => told["autocomplete"] = json!(true),
        Takes::OneOf(words) => {
            let choices: Vec<Value> =
                words.iter().map(|word| json!({ "name": word, "value": word })).collect();
            told["choices"] = json!(choices);
        }
        Takes::Words | Takes::Word(_) => {}
    }
    told
}

fn description(help: &str) -> String {
    help.chars().take(MAX_DESCRIPTION).collect()
}

/// Whether Discord knows these commands and no others. What it adds by itself, and leaves out because it is usual,
/// makes no difference.
fn is_same(there: &[Value], wanted: &[Value]) -> bool {
    let by_name = |commands: &[Value]| -> BTreeMap<String, Value> {
        commands.iter().map(|command| (text(command, "name"), plain_command(command))).collect()
    };
    there.len() == wanted.len() && by_name(there) == by_name(wanted)
}

fn plain_command(command: &Value) -> Value {
    let options = list(command, "options").iter().map(plain_option).collect::<Vec<_>>();
    let mut contexts: Vec<u64> =
        list(command, "contexts").iter().filter_map(Value::as_u64).collect();
    contexts.sort_unstable();
    json!({
        "type": command.get("type").and_then(Value::as_u64).unwrap_or(1),
        "description": text(command, "description"),
        "contexts": contexts,
        "options": options,
    })
}

fn plain_option(option: &Value) -> Value {
    let yes = |name: &str| option.get(name).and_then(Value::as_bool).unwrap_or(false);
    let choices: Vec<(String, String)> = list(option, "choices")
        .iter()
        .map(|choice| (text(choice, "name"), text(choice, "value")))
        .collect();
    json!({
        "type": option.get("type").and_then(Value::as_u64),
        "name": text(option, "name"),
        "description": text(option, "description"),
        "required": yes("required"),
        "autocomplete": yes("autocomplete"),
        "choices": choices,
    })
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
#[path = "commands_tests.rs"]
mod tests;
