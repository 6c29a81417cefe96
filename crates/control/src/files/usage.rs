//! What a tree takes on disk, counted through descriptors, links not followed.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// How deep a tree is followed; a cell can build any depth.
const MAX_DEPTH: usize = 128;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub bytes: u64,
    pub files: u64,
}

/// Counts blocks, a file with several links once. What vanishes meanwhile is not counted.
pub(super) fn measure(root: &OwnedFd) -> io::Result<Usage> {
    let mut usage = Usage::default();
    let mut linked = HashSet::new();
    let start = rustix::fs::openat(
        root,
        ".",
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let mut stack = vec![Dir::new(start)?];
    loop {
        let deep = stack.len() >= MAX_DEPTH;
        let Some(dir) = stack.last_mut() else { break };
        let Some(entry) = dir.read() else {
            stack.pop();
            continue;
        };
        let entry = entry?;
        let name = entry.file_name();
        if name.to_bytes() == b"." || name.to_bytes() == b".." {
            continue;
        }
        let parent = dir.fd()?;
        let stat = match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => continue,
            Err(errno) => return Err(errno.into()),
        };
        let counted = stat.st_nlink > 1
            && FileType::from_raw_mode(stat.st_mode) != FileType::Directory
            && !linked.insert((stat.st_dev, stat.st_ino));
        if !counted {
            usage.bytes += u64::try_from(stat.st_blocks).unwrap_or(0) * 512;
            usage.files += 1;
        }
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory && !deep {
            match open_child(parent.as_fd(), name) {
                Ok(child) => stack.push(Dir::new(child)?),
                Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::ACCESS) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
    Ok(usage)
}

fn open_child(
    parent: std::os::fd::BorrowedFd<'_>,
    name: &std::ffi::CStr,
) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty())
}
