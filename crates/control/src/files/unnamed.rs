//! Files that have no name until they are whole: killed on the way, nothing is left that looks like one.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use cloister_protocol::with_causes;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use super::{FileError, MAX_NAME_TRIES, RelPath, Tree, name, safe_name, shown};

/// A file that is being written in a directory. Dropped without a name, it is gone.
#[derive(Debug)]
pub struct Unnamed {
    pub file: File,
    dir: OwnedFd,
    path: RelPath,
    /// Where the filesystem has no files without a name: the one it has meanwhile.
    hidden: Option<String>,
}

impl Tree {
    /// A new file that is going to be in a directory.
    pub fn create_unnamed(&self, dir: &RelPath) -> Result<Unnamed, FileError> {
        let path = dir.clone();
        let dir = self.open_beneath(dir, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        let mode = Mode::from_raw_mode(0o600);
        let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
        match rustix::fs::openat(&dir, ".", flags, mode) {
            Ok(file) => Ok(Unnamed { file: File::from(file), dir, path, hidden: None }),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
                let hidden = hidden_name()
                    .map_err(|source| FileError::Io { path: shown(path.as_str()), source })?;
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
                let file = rustix::fs::openat(&dir, &hidden, flags | OFlags::CLOEXEC, mode)
                    .map_err(|errno| FileError::from_errno(path.as_str(), errno))?;
                Ok(Unnamed { file: File::from(file), dir, path, hidden: Some(hidden) })
            }
            Err(errno) => Err(FileError::from_errno(path.as_str(), errno)),
        }
    }
}

impl Unnamed {
    /// Gives it a safe, unique name close to the wanted one; whatever has that name stays.
    pub fn name(&mut self, wanted: &str) -> Result<RelPath, FileError> {
        let wanted = safe_name(wanted);
        for number in 1..=MAX_NAME_TRIES {
            let name = name::numbered(&wanted, number);
            match self.link(&name) {
                Ok(()) => {
                    self.forget_hidden();
                    return Ok(RelPath(format!("{}/{name}", self.path.as_str())));
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(FileError::from_errno(self.path.as_str(), errno)),
            }
        }
        let reason = "too many files of that name";
        Err(FileError::Refused { path: shown(self.path.as_str()), reason })
    }

    fn link(&self, name: &str) -> Result<(), Errno> {
        if let Some(hidden) = &self.hidden {
            return rustix::fs::linkat(&self.dir, hidden, &self.dir, name, AtFlags::empty());
        }
        let by_number = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let follow = AtFlags::SYMLINK_FOLLOW;
        match rustix::fs::linkat(CWD, by_number, &self.dir, name, follow) {
            // Without /proc, only who may read everything can.
            Err(Errno::NOENT) => {
                rustix::fs::linkat(&self.file, "", &self.dir, name, AtFlags::EMPTY_PATH)
            }
            done => done,
        }
    }

    fn forget_hidden(&mut self) {
        if let Some(hidden) = self.hidden.take()
            && let Err(error) = rustix::fs::unlinkat(&self.dir, &hidden, AtFlags::empty())
        {
            tracing::warn!(error = with_causes(&error), "an unfinished file could not be removed");
        }
    }
}

impl Drop for Unnamed {
    fn drop(&mut self) {
        self.forget_hidden();
    }
}

fn hidden_name() -> io::Result<String> {
    let mut number = [0; 8];
    getrandom::fill(&mut number).map_err(io::Error::other)?;
    Ok(format!(".{:016x}.part", u64::from_ne_bytes(number)))
}

#[cfg(test)]
#[path = "unnamed_tests.rs"]
mod tests;
