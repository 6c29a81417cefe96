//! The two names of a file of a chat: beneath the workspace, and as an executor sees it.
//!
//! The models are told the second, so that what the coordinator writes into instructions is right.

use cloister_protocol::ChatId;
use cloister_protocol::link::{CHAT_PATH, WORKSPACE_PATH};

/// A path beneath the workspace as an executor of its chat sees it; any other path as it is.
pub(crate) fn as_seen(path: &str) -> String {
    match of_chat(path) {
        Some(inside) => format!("{CHAT_PATH}/{inside}"),
        None => path.to_owned(),
    }
}

/// A path as an executor of the chat sees it as a path beneath the workspace.
pub(crate) fn in_workspace(chat: ChatId, path: &str) -> String {
    let path = inside(WORKSPACE_PATH, path).unwrap_or(path);
    if path.starts_with("chats/") {
        return path.to_owned();
    }
    let path = inside(CHAT_PATH, path).unwrap_or(path).trim_start_matches("./");
    let folder = if path.starts_with("incoming/") { "" } else { "files/" };
    format!("chats/{chat}/{folder}{path}")
}

/// What follows `chats/C1/` (and `files/`, which executors see as the chat itself).
pub(crate) fn of_chat(path: &str) -> Option<&str> {
    let (chat, inside) = path.strip_prefix("chats/")?.split_once('/')?;
    chat.parse::<ChatId>().ok()?;
    Some(inside.strip_prefix("files/").unwrap_or(inside))
}

/// What follows a folder.
pub(crate) fn inside<'a>(folder: &str, path: &'a str) -> Option<&'a str> {
    path.strip_prefix(folder)?.strip_prefix('/')
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
