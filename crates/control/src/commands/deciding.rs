//! Which messages are commands: decided once, when they come in, and kept with them.

use cloister_protocol::link::Cause;
use cloister_store::inbox::{InboxItem, Meant, TypedCommand};

use super::{COMMANDS, Typed, Verb, parse};

impl Typed {
    /// For whom a message is, as the inbox keeps it.
    pub(crate) fn meant(typed: Option<&Self>) -> Meant {
        typed.map_or(Meant::Words, |typed| {
            let (name, rest) = (typed.name.clone(), typed.rest.clone());
            Meant::Command(TypedCommand { name, rest })
        })
    }

    /// Whether it must get through when messages do not.
    pub(crate) fn is_urgent(&self) -> bool {
        self.verb.is_some_and(Verb::is_urgent)
    }
}

/// The command of a name.
pub(super) fn verb(name: &str) -> Option<Verb> {
    COMMANDS.iter().find(|command| command.name == name).map(|command| command.verb)
}

/// The command that was stored, if it is one.
pub(crate) fn of(row: &InboxItem) -> Option<Typed> {
    match &row.cause {
        Cause::Message { text, .. } => stored(&row.meant, text),
        Cause::TasksEnded { .. } | Cause::Clear => None,
    }
}

/// Whether it is for the agent: neither a command nor a clear, which the control plane answers itself.
pub(crate) fn is_for_agent(row: &InboxItem) -> bool {
    !matches!(row.cause, Cause::Clear) && of(row).is_none()
}

/// The same of a message's text, and of for whom it was found to be.
pub(crate) fn stored(meant: &Meant, text: &str) -> Option<Typed> {
    match meant {
        Meant::Words => None,
        Meant::Command(TypedCommand { name, rest }) => {
            Some(Typed { verb: verb(name), name: name.clone(), rest: rest.clone() })
        }
        Meant::Undecided => parse(text),
    }
}

#[cfg(test)]
#[path = "deciding_tests.rs"]
mod tests;
