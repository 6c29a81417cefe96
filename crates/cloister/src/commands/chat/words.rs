//! What the agent sends besides its answers, in words for a terminal.

use cloister_protocol::{Ask, SendFile, TaskState, Update};

/// The note for an update, if it is worth one.
pub(super) fn of_update(update: &Update) -> Option<String> {
    match update {
        Update::Task { task, title, state, .. } if *state != TaskState::Queued => {
            Some(format!("[{task} {title}: {}]", state.as_str()))
        }
        Update::Notice { text } => Some(text.clone()),
        Update::Blocked { host, reason, allow, .. } => {
            let allow = allow.as_ref().map(|command| format!(" Allow it with {command}"));
            Some(format!("[{host} was not reached: {reason}.{}]", allow.unwrap_or_default()))
        }
        Update::Restart { .. }
        | Update::Task { .. }
        | Update::Progress { .. }
        | Update::Todos { .. } => None,
    }
}

pub(super) fn of_question(ask: &Ask) -> String {
    let id = ask.approval;
    format!("{}\n{}\nAnswer with /yes or /no (or /approve {id}, /deny {id}).", ask.title, ask.text)
}

pub(super) fn of_file(file: &SendFile, how: &str) -> String {
    format!("[file: {} ({} bytes); {how}]", file.name, file.size)
}
