//! Working on a copy of the chat's files, where folders can't be laid over one another: what there was when it was made is
//! noted, and what is otherwise afterwards is what the task did.
//!
//! Promises: a copy says what the files said at one moment, shares their room where the file system can, and is no larger
//! than the quota leaves room for; a change is known by what the kernel alone sets.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use cloister_store::layers::LayerFolder;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::place::LayerPlace;
use super::scan::{INCOMING, MAX_DEPTH, MAX_ENTRIES, named};
use crate::files::{copy_data, remove_tree};
use crate::layout::replace_private;

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What a copy had of a path when it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Copied {
    Folder,
    /// A file or a link: its number, and when anything of it was last changed. Nobody sets that but the kernel.
    File(u64, i64, i64),
}

impl Copied {
    pub(super) fn of(stat: &Stat) -> Self {
        let nanoseconds = i64::try_from(stat.st_ctime_nsec).unwrap_or_default();
        Self::File(stat.st_ino, stat.st_ctime, nanoseconds)
    }
}

/// Everything that a copy had when it was made.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) all: BTreeMap<String, Copied>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum CopyError {
    #[error("a copy of the chat's files takes more than the workspace has room for")]
    NoRoom,
    #[error("the chat has more files than are copied")]
    TooMany,
    #[error("the files of the chat could not be copied")]
    Io(#[from] io::Error),
}

impl From<Errno> for CopyError {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

/// Makes the copy of a folder that a task works on, unless it is there.
pub(super) fn make(
    place: &LayerPlace,
    folder: LayerFolder,
    (from, most): (OwnedFd, u64),
    give: &dyn Fn(&File) -> io::Result<()>,
) -> Result<(), CopyError> {
    if fs::exists(place.seen(folder))? {
        return Ok(());
    }
    // One that a kill has left half.
    match remove_tree(&place.copy(folder)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        removed => removed?,
    }
    crate::layout::private_dir(&place.copy(folder))?;
    let to = rustix::fs::open(place.copy(folder), FOLDER, Mode::empty())?;
    give(&File::from(to.try_clone()?))?;
    let mut copying = Copying { give, seen: Seen::default(), left: most };
    copying.all(from, to.try_clone()?)?;
    rustix::fs::syncfs(&to)?;
    // What was copied is not the task's: it does not count as that.
    let size = crate::files::Tree::open(&place.copy(folder))?.usage()?.bytes;
    replace_private(&place.size(folder), size.to_string().as_bytes())?;
    let json = serde_json::to_vec(&copying.seen).map_err(io::Error::other)?;
    Ok(replace_private(&place.seen(folder), &json)?)
}

struct Copying<'a> {
    give: &'a dyn Fn(&File) -> io::Result<()>,
    seen: Seen,
    /// What may still be written.
    left: u64,
}

impl Copying<'_> {
    fn all(&mut self, from: OwnedFd, to: OwnedFd) -> Result<(), CopyError> {
        let mut open = vec![(Dir::new(from)?, to, String::new())];
        loop {
            let is_deep = open.len() > MAX_DEPTH;
            let Some((dir, to, within)) = open.last_mut() else { return Ok(()) };
            let Some(entry) = dir.read() else {
                open.pop();
                continue;
            };
            let entry = entry?;
            let name = entry.file_name();
            if [c".", c".."].contains(&name) || (within.is_empty() && name == INCOMING) {
                continue;
            }
            // What could not land is not there to begin with.
            let Ok(path) = named(within, name) else { continue };
            if self.seen.all.len() >= MAX_ENTRIES {
                return Err(CopyError::TooMany);
            }
            let (from, to) = (dir.fd()?, to.as_fd());
            let stat = match rustix::fs::statat(from, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => continue,
                stat => stat?,
            };
            let copied = match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory if is_deep => return Err(CopyError::TooMany),
                FileType::Directory => {
                    let below = rustix::fs::openat(from, name, FOLDER, Mode::empty())?;
                    rustix::fs::mkdirat(to, name, Mode::RWXU)?;
                    let made = rustix::fs::openat(to, name, FOLDER, Mode::empty())?;
                    rustix::fs::fchmod(&made, Mode::from_raw_mode(0o700 | stat.st_mode & 0o077))?;
                    (self.give)(&File::from(made.try_clone()?))?;
                    open.push((Dir::new(below)?, made, format!("{path}/")));
                    Copied::Folder
                }
                FileType::Symlink => {
                    let leads = rustix::fs::readlinkat(from, name, Vec::new())?;
                    rustix::fs::symlinkat(leads.as_c_str(), to, name)?;
                    Copied::of(&rustix::fs::statat(to, name, AtFlags::SYMLINK_NOFOLLOW)?)
                }
                FileType::RegularFile => self.file(from, to, (name, &stat))?,
                _ => continue,
            };
            self.seen.all.insert(path, copied);
        }
    }

    fn file(
        &mut self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        (name, stat): (&std::ffi::CStr, &Stat),
    ) -> Result<Copied, CopyError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let read = File::from(rustix::fs::openat(from, name, flags, Mode::empty())?);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o600);
        let written = File::from(rustix::fs::openat(to, name, flags, mode)?);
        let bytes = copy_data(&read, &written, self.left)?.ok_or(CopyError::NoRoom)?;
        self.left = self.left.saturating_sub(bytes);
        (self.give)(&written)?;
        rustix::fs::fchmod(&written, Mode::from_raw_mode(stat.st_mode & 0o777))?;
        rustix::fs::futimens(&written, &super::carrying::times(stat))?;
        Ok(Copied::of(&rustix::fs::fstat(&written)?))
    }
}
