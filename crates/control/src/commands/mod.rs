//! The command table: what a person can say that no model needs to understand. Every surface has
//! these, with `/` or `!`.

mod about;
mod agents;
mod chats;
mod deciding;
mod error;
mod files;
mod models;
mod offering;
mod questions;
mod run;
mod spelling;
mod stop;
mod tasks;

use cloister_words::noted;

use crate::control::part;

pub(crate) use chats::{BeingMade, title};
pub use chats::{Branching, Chats};
pub(crate) use deciding::{is_for_agent, of, stored};
pub use error::{CommandError, CommandRefusal};
pub(crate) use spelling::{nearest, spell_commands};

part! {
    /// The commands, carried out.
    pub(crate) struct Commands;
}

/// A command and its help line.
pub struct Command {
    pub name: &'static str,
    pub usage: &'static str,
    pub help: &'static str,
    pub(crate) verb: Verb,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Start,
    Help,
    Status,
    Tasks,
    Task,
    Cancel,
    Retry,
    Undo,
    New,
    Branch,
    Chats,
    Rename,
    Archive,
    Clear,
    Context,
    Model,
    Agent,
    Approve,
    Deny,
    Approvals,
    Grants,
    Revoke,
    Budget,
    Allow,
    Forbid,
    Network,
    Settings,
    Language,
    Pair,
    AdminChannel,
    Stop,
    Release,
}

/// How commands stand together in `/help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    Chats,
    Work,
    Questions,
    Limits,
    You,
    Operators,
}

impl Group {
    pub(crate) const ALL: [Self; 6] =
        [Self::Chats, Self::Work, Self::Questions, Self::Limits, Self::You, Self::Operators];

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Chats => noted!("Chats"),
            Self::Work => noted!("Work"),
            Self::Questions => noted!("What is asked"),
            Self::Limits => noted!("Limits"),
            Self::You => noted!("You"),
            Self::Operators => noted!("Operators"),
        }
    }
}

impl Verb {
    pub(crate) const fn group(self) -> Group {
        match self {
            Self::New
            | Self::Branch
            | Self::Chats
            | Self::Rename
            | Self::Archive
            | Self::Clear
            | Self::Context
            | Self::Model
            | Self::Agent => Group::Chats,
            Self::Status | Self::Tasks | Self::Task | Self::Cancel | Self::Retry | Self::Undo => {
                Group::Work
            }
            Self::Approve | Self::Deny | Self::Approvals | Self::Grants | Self::Revoke => {
                Group::Questions
            }
            Self::Budget | Self::Allow | Self::Forbid | Self::Network => Group::Limits,
            Self::Start | Self::Help | Self::Settings | Self::Language | Self::Pair => Group::You,
            Self::AdminChannel | Self::Stop | Self::Release => Group::Operators,
        }
    }

    /// Whether it must get through when messages do not: what helps against a flood, or what a task waits
    /// for.
    const fn is_urgent(self) -> bool {
        match self {
            Self::Help
            | Self::Status
            | Self::Tasks
            | Self::Cancel
            | Self::Approve
            | Self::Deny
            | Self::Approvals
            | Self::Grants
            | Self::Revoke
            | Self::Stop
            | Self::Release
            | Self::Forbid => true,
            Self::Start
            | Self::Retry
            | Self::Undo
            | Self::New
            | Self::Branch
            | Self::Chats
            | Self::Rename
            | Self::Archive
            | Self::Clear
            | Self::Context
            | Self::Model
            | Self::Agent
            | Self::Budget
            | Self::Allow
            | Self::Network
            | Self::Settings
            | Self::Language
            | Self::Pair
            | Self::Task
            | Self::AdminChannel => false,
        }
    }
}

const fn row(name: &'static str, usage: &'static str, help: &'static str, verb: Verb) -> Command {
    Command { name, usage, help, verb }
}

pub const COMMANDS: &[Command] = &[
    row("start", "/start", noted!("who I am and how to begin"), Verb::Start),
    row("help", "/help [COMMAND]", noted!("what you can say"), Verb::Help),
    row(
        "settings",
        "/settings [second HOW]",
        noted!("how you are set up, and what changes it"),
        Verb::Settings,
    ),
    row("config", "/config", noted!("the same as /settings"), Verb::Settings),
    row(
        "language",
        "/language [LANGUAGE]",
        noted!("which language I speak with you, or another"),
        Verb::Language,
    ),
    row("pair", "/pair", noted!("a code that links your account here to a user"), Verb::Pair),
    row("new", "/new [title]", noted!("start another chat"), Verb::New),
    row(
        "branch",
        "/branch [title]",
        noted!("start another chat that begins with this conversation"),
        Verb::Branch,
    ),
    row(
        "chats",
        "/chats [C1]",
        noted!("list your chats and where each is shown, or show one"),
        Verb::Chats,
    ),
    row("rename", "/rename TITLE", noted!("name this chat"), Verb::Rename),
    row(
        "archive",
        "/archive [C1] [undo]",
        noted!("put a chat away, or take it out again"),
        Verb::Archive,
    ),
    row(
        "clear",
        "/clear",
        noted!("forget this conversation; the next message starts afresh"),
        Verb::Clear,
    ),
    row(
        "context",
        "/context",
        noted!("which chat this is, its limits, and how much is in it"),
        Verb::Context,
    ),
    row(
        "model",
        "/model [NAME | default] [always]",
        noted!("which model answers in this chat, or choose another for it or for all"),
        Verb::Model,
    ),
    row(
        "agent",
        "/agent [NAME | new NAME [what it is] | rename [NAME] NAME | rm NAME [undo]]",
        noted!("which agents you have; go to one, make, rename or remove one"),
        Verb::Agent,
    ),
    row("status", "/status", noted!("what is going on"), Verb::Status),
    row("tasks", "/tasks", noted!("the tasks of this workspace"), Verb::Tasks),
    row(
        "task",
        "/task TEXT | T1 | diff T1 | keep T1",
        noted!("start a task at once, show one, its files, or keep them though it failed"),
        Verb::Task,
    ),
    row(
        "cancel",
        "/cancel [T1 | all]",
        noted!("stop one task, or everything that runs in this chat"),
        Verb::Cancel,
    ),
    row("retry", "/retry T1", noted!("try a task again that failed or was cancelled"), Verb::Retry),
    row(
        "undo",
        "/undo [T1]",
        noted!("take back what a task did to the files of this chat, or bring it back"),
        Verb::Undo,
    ),
    row("yes", "/yes", noted!("allow what you are asked in this chat"), Verb::Approve),
    row("no", "/no", noted!("refuse what you are asked in this chat"), Verb::Deny),
    row(
        "approve",
        "/approve [A1] [task | always]",
        noted!("allow what is asked: once, for its task, or always"),
        Verb::Approve,
    ),
    row(
        "deny",
        "/deny [A1] [stop]",
        noted!("refuse what is asked; stop ends its task as well"),
        Verb::Deny,
    ),
    row("approvals", "/approvals", noted!("what waits for an answer, in full"), Verb::Approvals),
    row("grants", "/grants", noted!("what you have allowed for longer than once"), Verb::Grants),
    row("revoke", "/revoke G1", noted!("take back what you have allowed"), Verb::Revoke),
    row(
        "budget",
        "/budget [USD]",
        noted!("what was spent; the owner can set the daily limit"),
        Verb::Budget,
    ),
    row("allow", "/allow HOST", noted!("let your agent's tasks reach a host"), Verb::Allow),
    row("forbid", "/forbid HOST", noted!("take that back"), Verb::Forbid),
    row("network", "/network", noted!("where your agent's tasks may go"), Verb::Network),
    row(
        "admin-channel",
        "/admin-channel enable | disable",
        noted!("have operators told here what they should know; for who manages connectors"),
        Verb::AdminChannel,
    ),
    row(
        "stop",
        "/stop all [reason]",
        noted!("emergency: stop every agent here; for operators"),
        Verb::Stop,
    ),
    row(
        "release",
        "/release",
        noted!("let everything go on after /stop all; for overlords"),
        Verb::Release,
    ),
];

/// A command as a surface may offer it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MenuItem {
    /// As it is typed after the sign: small letters, digits and `_`.
    pub name: &'static str,
    pub usage: &'static str,
    pub help: &'static str,
    /// Whether it must get through when messages do not.
    pub urgent: bool,
    /// Whether it is for those who run the platform.
    pub for_operators: bool,
}

/// The commands that a surface may offer, in the order of `/help`.
pub fn menu() -> impl Iterator<Item = MenuItem> {
    let of_group =
        |group: Group| COMMANDS.iter().filter(move |command| command.verb.group() == group);
    Group::ALL.into_iter().flat_map(of_group).map(|command| MenuItem {
        name: match command.name {
            "admin-channel" => "admin_channel",
            plain => plain,
        },
        usage: command.usage,
        help: command.help,
        urgent: command.verb.is_urgent(),
        for_operators: command.verb.group() == Group::Operators,
    })
}

/// A command as it was typed.
pub(crate) struct Typed {
    pub(crate) name: String,
    pub(crate) verb: Option<Verb>,
    pub(crate) rest: String,
}

/// The command in a message, if it is one: a single line that starts with `/` or `!` and a word, in which `_`
/// stands for `-`. A path such as `/etc/hosts` is no command. For who takes messages in: what was stored, [`of`] knows.
pub(crate) fn parse(text: &str) -> Option<Typed> {
    let line = text.trim();
    let body = line.strip_prefix(['/', '!'])?;
    let (name, rest) = body.split_once(char::is_whitespace).unwrap_or((body, ""));
    let name = name.to_ascii_lowercase().replace('_', "-");
    let verb = deciding::verb(&name);
    let word =
        !name.is_empty() && name.len() <= 24 && name.bytes().all(|b| b.is_ascii_alphabetic());
    // Only what is to be done may take several lines.
    if verb.is_none() && !word || line.contains('\n') && verb != Some(Verb::Task) {
        return None;
    }
    Some(Typed { name, verb, rest: rest.trim().to_owned() })
}

#[cfg(test)]
#[path = "commands_tests.rs"]
mod tests;
