//! The open databases, and what to do with a damaged one.

use std::io;
use std::path::{Path, PathBuf};

use cloister_protocol::{ChatId, with_causes};

use super::{ChatDb, JournalError};
use crate::log;

/// So many chats are open at once; the one used longest ago makes room. More than turns that run at
/// once: opening and closing one costs more than a turn.
const MAX_OPEN: usize = 64;
const FILES: [&str; 3] = ["history.db", "history.db-wal", "history.db-shm"];

pub(super) struct Shelf {
    workspace: PathBuf,
    /// Last used last.
    open: Vec<(ChatId, ChatDb)>,
}

impl Shelf {
    pub(super) fn new(workspace: PathBuf) -> Self {
        Self { workspace, open: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Closing puts on disk what was written.
    pub(super) fn close_all(&mut self) {
        self.open.clear();
    }

    pub(super) fn is_loose(&self) -> bool {
        self.open.iter().any(|(_, db)| db.is_loose())
    }

    /// Puts on disk what has ended in any chat.
    pub(super) fn settle(&self) {
        for (chat, db) in self.open.iter().filter(|(_, db)| db.is_loose()) {
            if let Err(error) = db.settle() {
                // The control plane has it, and the next step that is written takes it along.
                log::line(format_args!(
                    "what ended in chat {chat} may not be on disk: {}",
                    with_causes(&error)
                ));
            }
        }
    }

    pub(super) fn with<T>(
        &mut self,
        chat: ChatId,
        work: impl Fn(&ChatDb) -> rusqlite::Result<T>,
    ) -> Result<T, JournalError> {
        match self.open(chat).and_then(&work) {
            Err(error) if is_damage(&error) => {
                log::line(format_args!(
                    "the journal of chat {chat} is damaged: {}",
                    with_causes(&error)
                ));
                self.open.retain(|(open, _)| *open != chat);
                let aside = set_aside(&self.folder(chat))
                    .map_err(|source| JournalError::SetAside { chat, source })?;
                self.open(chat).and_then(|db| {
                    db.add_notice(&notice(chat, &aside))?;
                    work(db)
                })
            }
            result => result,
        }
        .map_err(|source| JournalError::Database { chat, source })
    }

    fn folder(&self, chat: ChatId) -> PathBuf {
        self.workspace.join("chats").join(chat.to_string())
    }

    fn open(&mut self, chat: ChatId) -> rusqlite::Result<&ChatDb> {
        let db = match self.open.iter().position(|(open, _)| *open == chat) {
            Some(place) => self.open.remove(place).1,
            None => {
                if self.open.len() >= MAX_OPEN {
                    self.open.remove(0);
                }
                ChatDb::open(&self.folder(chat))?
            }
        };
        self.open.push((chat, db));
        self.open.last().map(|(_, db)| db).ok_or(rusqlite::Error::InvalidQuery)
    }
}

fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode as Sqlite;
    match error.sqlite_error_code() {
        Some(code) => matches!(code, Sqlite::DatabaseCorrupt | Sqlite::NotADatabase),
        // A row that does not hold what we write.
        None => matches!(
            error,
            rusqlite::Error::FromSqlConversionFailure(..) | rusqlite::Error::InvalidColumnType(..)
        ),
    }
}

/// Moves the database and what belongs to it to the first free `….corrupt-N`; its new name is returned.
fn set_aside(folder: &Path) -> io::Result<String> {
    let free = (1u32..)
        .map(|number| format!("history.db.corrupt-{number}"))
        .find(|name| !folder.join(name).exists())
        .ok_or(io::ErrorKind::AlreadyExists)?;
    // The database itself goes last: a crash in between finds it still damaged and moves it again.
    for file in FILES.iter().rev() {
        let suffix = file.strip_prefix("history.db").unwrap_or_default();
        match std::fs::rename(folder.join(file), folder.join(format!("{free}{suffix}"))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(free)
}

fn notice(chat: ChatId, aside: &str) -> String {
    format!(
        "Note: the record of this chat was damaged and could not be read. It is kept as \
         chats/{chat}/{aside}; I began a new one, so I no longer know what was said before."
    )
}
