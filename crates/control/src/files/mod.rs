//! Host-side access to a workspace's files.
//!
//! A cell may have planted anything there: symlinks, devices, pipes, and may swap them while we look.
//! So every path is opened once, beneath the workspace's own directory descriptor, with `openat2`
//! refusing links and mount crossings; what was opened is then judged by its descriptor. Nothing is
//! checked by name and opened afterwards.

mod copying;
mod data;
mod inventory;
mod listing;
mod name;
mod removing;
mod unnamed;
mod usage;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

pub(crate) use data::copy_data;
pub use inventory::Inventory;
pub use name::safe_name;
pub(crate) use name::{is_invisible, numbered};
pub(crate) use removing::remove_tree;
pub use unnamed::Unnamed;
pub use usage::Usage;

/// The longest relative path that is accepted.
const MAX_PATH_BYTES: usize = 1024;
/// How many names are tried before a directory is called full.
const MAX_NAME_TRIES: u32 = 10_000;

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{path:?} is not a path inside the workspace: {reason}")]
    BadPath { path: String, reason: &'static str },
    #[error("{path:?} is refused: {reason}")]
    Refused { path: String, reason: &'static str },
    #[error("there is no file {path:?} in the workspace")]
    NotFound { path: String },
    #[error("{path:?} could not be used")]
    Io { path: String, source: io::Error },
}

impl FileError {
    fn from_errno(path: &str, errno: Errno) -> Self {
        let path = shown(path);
        match errno {
            Errno::NOENT | Errno::NOTDIR => Self::NotFound { path },
            Errno::LOOP => Self::Refused { path, reason: "it goes through a symbolic link" },
            Errno::XDEV => Self::Refused { path, reason: "it leaves the workspace" },
            other => Self::Io { path, source: other.into() },
        }
    }
}

/// A path beneath the workspace, made of plain names only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelPath(String);

impl RelPath {
    pub fn parse(path: &str) -> Result<Self, FileError> {
        let bad = |reason| FileError::BadPath { path: shown(path), reason };
        if path.len() > MAX_PATH_BYTES {
            return Err(bad("it is too long"));
        }
        if path.contains('\0') {
            return Err(bad("it holds a NUL"));
        }
        if path.starts_with('/') {
            return Err(bad("it is absolute"));
        }
        let mut parts = Vec::new();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => return Err(bad("it goes up")),
                part if part.len() > 255 => return Err(bad("a name in it is too long")),
                part => parts.push(part),
            }
        }
        if parts.is_empty() {
            return Err(bad("it is empty"));
        }
        Ok(Self(parts.join("/")))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The folders that it is in, the outermost first.
    pub(crate) fn folders(&self) -> Vec<Self> {
        let ends = self.0.match_indices('/').map(|(end, _)| end);
        ends.filter_map(|end| self.0.get(..end)).map(|path| Self(path.to_owned())).collect()
    }

    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }
}

/// A directory tree that belongs to a workspace, held by its descriptor.
#[derive(Debug)]
pub struct Tree {
    root: OwnedFd,
}

const RESOLVE: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);

impl Tree {
    /// Opens the tree at a path that only the control plane writes to.
    pub fn open(root: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self { root: rustix::fs::open(root, flags, Mode::empty())? })
    }

    /// The tree below a folder of this one.
    pub(crate) fn below(&self, folder: &RelPath) -> Result<Self, FileError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        Ok(Self { root: self.open_beneath(folder, flags, Mode::empty())? })
    }

    fn open_beneath(
        &self,
        path: &RelPath,
        flags: OFlags,
        mode: Mode,
    ) -> Result<OwnedFd, FileError> {
        // EAGAIN: a rename raced with the lookup. Bounded, because a cell can rename for ever.
        for _ in 0..64 {
            let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            match rustix::fs::openat2(&self.root, path.as_str(), flags, mode, RESOLVE) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(errno) => return Err(FileError::from_errno(path.as_str(), errno)),
                Ok(fd) => return Ok(fd),
            }
        }
        Err(FileError::Refused { path: shown(path.as_str()), reason: "it keeps being moved" })
    }

    /// Opens a regular file for reading.
    pub fn read(&self, path: &RelPath) -> Result<File, FileError> {
        // NONBLOCK: a pipe planted under the name must not hold us.
        let fd = self.open_beneath(path, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty())?;
        let file = File::from(fd);
        let refuse = |reason| FileError::Refused { path: shown(path.as_str()), reason };
        let meta = file
            .metadata()
            .map_err(|source| FileError::Io { path: shown(path.as_str()), source })?;
        if !meta.is_file() {
            return Err(refuse("it is not a regular file"));
        }
        if std::os::unix::fs::MetadataExt::nlink(&meta) > 1 {
            return Err(refuse("it has a second hard link"));
        }
        Ok(file)
    }

    /// Makes a directory and those above it, as far as they are missing, and opens it.
    pub fn make_dir(&self, path: &RelPath) -> Result<File, FileError> {
        let mut done = String::new();
        for part in path.as_str().split('/') {
            let above = if done.is_empty() { None } else { Some(RelPath(done.clone())) };
            if !done.is_empty() {
                done.push('/');
            }
            done.push_str(part);
            let parent;
            let at = match above {
                None => &self.root,
                Some(above) => {
                    parent = self.open_beneath(
                        &above,
                        OFlags::RDONLY | OFlags::DIRECTORY,
                        Mode::empty(),
                    )?;
                    &parent
                }
            };
            match rustix::fs::mkdirat(at, part, Mode::from_raw_mode(0o700)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(FileError::from_errno(&done, errno)),
            }
        }
        self.open_beneath(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).map(File::from)
    }

    /// Creates a new file in a directory under a safe, unique name close to the wanted one.
    pub fn create_unique(&self, dir: &RelPath, wanted: &str) -> Result<(File, RelPath), FileError> {
        let name = safe_name(wanted);
        for number in 1..=MAX_NAME_TRIES {
            let path = RelPath(format!("{}/{}", dir.as_str(), name::numbered(&name, number)));
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
            match self.open_beneath(&path, flags, Mode::from_raw_mode(0o600)) {
                Ok(fd) => return Ok((File::from(fd), path)),
                Err(FileError::Io { source, .. })
                    if source.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(FileError::Refused { path: shown(dir.as_str()), reason: "too many files of that name" })
    }

    /// Puts a file with this content in the place of whatever has the name: a link there is replaced,
    /// never followed.
    pub fn replace(&self, path: &RelPath, content: &[u8]) -> Result<File, FileError> {
        let failed = |source| FileError::Io { path: shown(path.as_str()), source };
        let (dir, name) = path.as_str().rsplit_once('/').unwrap_or((".", path.as_str()));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let dir = self.open_beneath(&RelPath(dir.to_owned()), flags, Mode::empty())?;
        // Its own name for each, as several may write the same file at once.
        let mut number = [0; 8];
        getrandom::fill(&mut number).map_err(|error| failed(io::Error::other(error)))?;
        let fresh = format!(".{name}.{:016x}.new", u64::from_ne_bytes(number));
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&dir, &fresh, flags, Mode::from_raw_mode(0o600))
            .map_err(|errno| FileError::from_errno(path.as_str(), errno))?;
        let mut file = File::from(fd);
        io::Write::write_all(&mut file, content).and_then(|()| file.sync_all()).map_err(failed)?;
        rustix::fs::renameat(&dir, &fresh, &dir, name)
            .map_err(|errno| FileError::from_errno(path.as_str(), errno))?;
        Ok(file)
    }

    /// Removes a file that we made and could not fill.
    pub fn remove(&self, path: &RelPath) -> Result<(), FileError> {
        let (dir, name) = path.as_str().rsplit_once('/').unwrap_or((".", path.as_str()));
        let dir = self.open_beneath(
            &RelPath(dir.to_owned()),
            OFlags::RDONLY | OFlags::DIRECTORY,
            Mode::empty(),
        )?;
        rustix::fs::unlinkat(&dir, name, rustix::fs::AtFlags::empty())
            .map_err(|errno| FileError::from_errno(path.as_str(), errno))
    }

    /// The regular files of the whole tree.
    pub fn inventory(&self) -> io::Result<Inventory> {
        inventory::take(&self.root)
    }

    /// What the whole tree takes on disk.
    pub fn usage(&self) -> io::Result<Usage> {
        usage::measure(&self.root)
    }
}

/// A path as it may stand in a message: bounded.
fn shown(path: &str) -> String {
    path.chars().take(120).collect()
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
