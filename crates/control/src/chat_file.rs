//! A file of one chat, as an agent names it: beneath `files/` or `incoming/` of that chat, and nothing else.
//!
//! What says who the agent is, the journal of a chat (`history.db` and what belongs to it) and everything of
//! another chat have no name here, whoever asks.

use cloister_protocol::ChatId;
use cloister_protocol::link::{CHAT_PATH, WORKSPACE_PATH};

use crate::files::{FileError, RelPath};

/// What of a chat its people may be sent.
const FOLDERS: [&str; 2] = ["files/", "incoming/"];

/// A path beneath the workspace, in a chat's own folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChatFile(RelPath);

impl ChatFile {
    /// As a coordinator names it: beneath the workspace, or as its executors do.
    pub(crate) fn of_coordinator(chat: ChatId, said: &str) -> Result<Self, FileError> {
        let path = inside(WORKSPACE_PATH, said).unwrap_or(said);
        let Some(in_chats) = path.strip_prefix("chats/") else {
            return Self::of_executor(chat, path);
        };
        match in_chats.split_once('/') {
            Some((named, inside)) if named == chat.to_string() => Self::within(chat, inside, said),
            Some(_) | None => Err(refused(said, "it is not of this chat")),
        }
    }

    /// As an executor names it: beneath its chat, where `files/` is the chat itself.
    pub(crate) fn of_executor(chat: ChatId, said: &str) -> Result<Self, FileError> {
        let path = inside(CHAT_PATH, said).unwrap_or(said).trim_start_matches("./");
        if path.starts_with('/') {
            return Err(refused(said, "it is not of this chat"));
        }
        let folder = if path.starts_with("incoming/") { "" } else { "files/" };
        Self::within(chat, &format!("{folder}{path}"), said)
    }

    fn within(chat: ChatId, inside: &str, said: &str) -> Result<Self, FileError> {
        let path = RelPath::parse(inside)?;
        if !FOLDERS.iter().any(|folder| path.as_str().starts_with(folder)) {
            return Err(refused(said, "only what is in the chat's files and incoming can be sent"));
        }
        RelPath::parse(&format!("chats/{chat}/{}", path.as_str())).map(Self)
    }

    pub(crate) const fn path(&self) -> &RelPath {
        &self.0
    }
}

fn inside<'a>(folder: &str, path: &'a str) -> Option<&'a str> {
    path.strip_prefix(folder)?.strip_prefix('/')
}

fn refused(said: &str, reason: &'static str) -> FileError {
    FileError::Refused { path: said.chars().take(120).collect(), reason }
}

#[cfg(test)]
#[path = "chat_file_tests.rs"]
mod tests;
