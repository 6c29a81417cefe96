//! Where an executor's files are, and what their errors mean.

use std::io;
use std::path::{Component, Path, PathBuf};

use cloister_protocol::link::{CHAT_PATH, Outcome};
use rustix::io::Errno;

use super::failed;
use crate::files;

/// Said where a write is refused because nothing there may be changed.
const READ_ONLY: &str =
    "What the person sent stays as it is: copy it to your own files and change the copy.";
/// Said wherever a write is refused for lack of room.
pub(super) const NO_ROOM: &str = "The workspace is over its quota, or the file is over the size limit: \
    writes are refused, reads and deletes still work. Delete what is not needed, or tell the person.";

/// The folder of the chat.
#[derive(Clone, Debug)]
pub(crate) struct ChatFolder {
    chat: PathBuf,
}

impl ChatFolder {
    pub(crate) fn new(chat: PathBuf) -> Self {
        Self { chat }
    }

    pub(super) fn chat(&self) -> &Path {
        &self.chat
    }

    /// The file meant by a path the model wrote. The sandbox protects; this only helps with clear
    /// words before a confusing error does.
    pub(super) fn resolve(&self, path: &str) -> Result<PathBuf, Outcome> {
        let seen = files::as_seen(path);
        let from = match Path::new(&seen).strip_prefix(CHAT_PATH) {
            Ok(inside) => self.chat.join(inside),
            Err(_elsewhere) => self.chat.join(path),
        };
        let mut plain = PathBuf::new();
        for part in from.components() {
            match part {
                Component::ParentDir => {
                    plain.pop();
                }
                Component::CurDir => {}
                Component::RootDir | Component::Normal(_) | Component::Prefix(_) => {
                    plain.push(part)
                }
            }
        }
        if path.is_empty() || path.contains('\0') {
            return Err(failed("path is empty or holds a NUL character"));
        }
        if plain.starts_with(&self.chat) || plain.starts_with("/tmp") {
            Ok(plain)
        } else {
            Err(failed(format!("{path:?} is outside {CHAT_PATH} and /tmp: files are only there")))
        }
    }

    /// Whether a file was sent by somebody, and not written in this chat.
    pub(super) fn came_in(&self, path: &Path) -> bool {
        path.starts_with(self.chat.join("incoming"))
    }

    /// A path as the model knows it: relative to the chat.
    pub(super) fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.chat).unwrap_or(path).display().to_string()
    }
}

/// A failed file operation in words.
pub(super) fn trouble(tried: &str, path: &str, error: &io::Error) -> Outcome {
    let no_room = [Errno::FBIG, Errno::NOSPC, Errno::DQUOT];
    let hint = match Errno::from_io_error(error) {
        Some(errno) if no_room.contains(&errno) => format!(" {NO_ROOM}"),
        Some(Errno::ROFS) => format!(" {READ_ONLY}"),
        _ => String::new(),
    };
    failed(format!("can't {tried} {path:?}: {error}.{hint}"))
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
