//! The command table: what a person can say that no model needs to understand. Every surface has
//! these, with `/` or `!`.

mod questions;
mod run;
mod stop;

/// A command and its help line.
pub struct Command {
    pub name: &'static str,
    pub usage: &'static str,
    pub help: &'static str,
    pub(crate) verb: Verb,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Help,
    Status,
    Tasks,
    Cancel,
    Retry,
    New,
    Chats,
    Rename,
    Archive,
    Clear,
    Approve,
    Deny,
    Approvals,
    Grants,
    Revoke,
    Budget,
    Allow,
    Forbid,
    Network,
    Stop,
    Release,
}

const fn row(name: &'static str, usage: &'static str, help: &'static str, verb: Verb) -> Command {
    Command { name, usage, help, verb }
}

pub const COMMANDS: &[Command] = &[
    row("help", "/help", "what you can say", Verb::Help),
    row("status", "/status", "what is going on", Verb::Status),
    row("tasks", "/tasks", "the tasks of this workspace", Verb::Tasks),
    row("cancel", "/cancel [T1 | all]", "stop one task, or every task of this chat", Verb::Cancel),
    row("retry", "/retry T1", "try a task again that failed or was cancelled", Verb::Retry),
    row("new", "/new [title]", "start another chat", Verb::New),
    row("chats", "/chats", "list your chats", Verb::Chats),
    row("rename", "/rename TITLE", "name this chat", Verb::Rename),
    row("archive", "/archive", "put this chat away", Verb::Archive),
    row("clear", "/clear", "forget this conversation; the next message starts afresh", Verb::Clear),
    row("yes", "/yes", "allow what this chat's agent asks", Verb::Approve),
    row("no", "/no", "refuse what this chat's agent asks", Verb::Deny),
    row(
        "approve",
        "/approve [A1] [task | always]",
        "allow what is asked: once, for its task, or always",
        Verb::Approve,
    ),
    row(
        "deny",
        "/deny [A1] [stop]",
        "refuse what is asked; stop ends its task as well",
        Verb::Deny,
    ),
    row("approvals", "/approvals", "what waits for an answer, in full", Verb::Approvals),
    row("grants", "/grants", "what you have allowed for longer than once", Verb::Grants),
    row("revoke", "/revoke G1", "take back what you have allowed", Verb::Revoke),
    row(
        "budget",
        "/budget [USD]",
        "what was spent; the owner can set the daily limit",
        Verb::Budget,
    ),
    row("allow", "/allow HOST", "let your agent's tasks reach a host", Verb::Allow),
    row("forbid", "/forbid HOST", "take that back", Verb::Forbid),
    row("network", "/network", "where your agent's tasks may go", Verb::Network),
    row(
        "stop",
        "/stop all [reason]",
        "emergency: stop every agent here; for operators",
        Verb::Stop,
    ),
    row(
        "release",
        "/release",
        "let everything go on after /stop all; for overlords",
        Verb::Release,
    ),
];

/// Whether a text is a command that must get through when messages do not: what helps against a flood,
/// or what a task waits for.
pub(crate) fn is_urgent(text: &str) -> bool {
    let verb = parse(text).and_then(|typed| typed.verb);
    verb.is_some_and(|verb| match verb {
        Verb::Help
        | Verb::Status
        | Verb::Tasks
        | Verb::Cancel
        | Verb::Approve
        | Verb::Deny
        | Verb::Approvals
        | Verb::Grants
        | Verb::Revoke
        | Verb::Stop
        | Verb::Release
        | Verb::Forbid => true,
        Verb::Retry
        | Verb::New
        | Verb::Chats
        | Verb::Rename
        | Verb::Archive
        | Verb::Clear
        | Verb::Budget
        | Verb::Allow
        | Verb::Network => false,
    })
}

/// A command as it was typed.
pub(crate) struct Typed {
    pub(crate) name: String,
    pub(crate) verb: Option<Verb>,
    pub(crate) rest: String,
}

/// The command in a message, if it is one: a single line that starts with `/` or `!` and a word. A
/// path such as `/etc/hosts` is no command.
pub(crate) fn parse(text: &str) -> Option<Typed> {
    let line = text.trim();
    let body = line.strip_prefix(['/', '!'])?;
    if line.contains('\n') {
        return None;
    }
    let (name, rest) = body.split_once(char::is_whitespace).unwrap_or((body, ""));
    let word =
        !name.is_empty() && name.len() <= 24 && name.bytes().all(|b| b.is_ascii_alphabetic());
    if !word {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let verb = COMMANDS.iter().find(|command| command.name == name).map(|command| command.verb);
    Some(Typed { name, verb, rest: rest.trim().to_owned() })
}

#[cfg(test)]
#[path = "commands_tests.rs"]
mod tests;
