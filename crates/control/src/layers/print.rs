//! What tells a file from a later one in its place.
//!
//! Promises: whatever lies on the way to it, no link is followed; a task can't make a file of its own look like that of
//! another: when a file was made is set by the kernel alone, and a task writes to no file that has landed.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, StatxFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// Beneath a folder, through no link, on the same file system.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);

/// How often an opening is tried that a rename crosses: whoever renames may do so for ever.
const MAX_TRIES: usize = 64;

/// Opens what is beneath a folder, through no link.
pub(super) fn open(root: impl AsFd, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    for _ in 1..MAX_TRIES {
        match rustix::fs::openat2(&root, path, flags | OFlags::CLOEXEC, Mode::empty(), BENEATH) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            opened => return opened,
        }
    }
    rustix::fs::openat2(&root, path, flags | OFlags::CLOEXEC, Mode::empty(), BENEATH)
}

/// Seconds and nanoseconds.
type When = (i64, u32);

/// A file as it was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FilePrint {
    inode: u64,
    size: u64,
    written: When,
    /// When it was made: the number of one that is gone comes again, this does not.
    #[serde(default)]
    made: Option<When>,
    /// Where the file system does not know that: when anything of it was last changed.
    #[serde(default)]
    changed: Option<When>,
}

impl FilePrint {
    /// Of what has this path beneath a folder; none of nothing and of a folder, and where a link or a file is on the
    /// way.
    pub(super) fn beneath(root: impl AsFd, path: &str) -> io::Result<Option<Self>> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW;
        let found = match open(root, path, flags) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => return Ok(None),
            found => found?,
        };
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        let found = rustix::fs::statx(found, "", AtFlags::EMPTY_PATH, wanted)?;
        if FileType::from_raw_mode(found.stx_mode.into()) == FileType::Directory {
            return Ok(None);
        }
        let made = (found.stx_mask & StatxFlags::BTIME.bits() != 0)
            .then_some((found.stx_btime.tv_sec, found.stx_btime.tv_nsec));
        let changed = (found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec);
        Ok(Some(Self {
            inode: found.stx_ino,
            size: found.stx_size,
            written: (found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec),
            made,
            changed: made.is_none().then_some(changed),
        }))
    }
}

/// What keeps a file from being put at a path beneath a folder: something on the way to it that is no folder.
pub(super) fn in_the_way(root: impl AsFd, path: &str) -> io::Result<Option<&str>> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    for (end, _) in path.match_indices('/') {
        let folder = path.get(..end).unwrap_or(path);
        match open(&root, folder, flags) {
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => return Ok(Some(folder)),
            found => drop(found?),
        }
    }
    Ok(None)
}

/// What is in a folder beneath another, by its path, as long as there is no more than that; none of what is no folder.
pub(super) fn within(root: impl AsFd, path: &str, most: usize) -> io::Result<Option<Vec<String>>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let folder = match open(root, path, flags) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => return Ok(None),
        folder => folder?,
    };
    let mut names = Vec::new();
    for entry in Dir::new(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if ![c".", c".."].contains(&name) {
            names.push(format!("{path}/{}", name.to_string_lossy()));
        }
        if names.len() > most {
            break;
        }
    }
    Ok(Some(names))
}
