//! What a tree takes on disk, counted through descriptors, links not followed.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// How many folders are open at once while one way down is followed; what is deeper is counted after it.
const MAX_DEPTH: usize = 128;
/// How many such deeper folders may wait; a cell can build any number.
const MAX_LATER: usize = 256;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub bytes: u64,
    pub files: u64,
    /// There are folders that could not be counted: closed to us, or too many too deep. Who hides what they
    /// keep has used it all.
    pub hidden: bool,
}

/// Counts blocks, a file with several links once. What vanishes meanwhile is not counted.
pub(super) fn measure(root: &OwnedFd) -> io::Result<Usage> {
    let mut count = Count::default();
    count.later.push(open_child(root.as_fd(), c".")?);
    while let Some(folder) = count.later.pop() {
        count.add(folder)?;
    }
    Ok(count.usage)
}

#[derive(Default)]
struct Count {
    usage: Usage,
    linked: HashSet<(u64, u64)>,
    later: Vec<OwnedFd>,
}

impl Count {
    /// Counts what is in a folder, and what is below it up to a depth.
    fn add(&mut self, folder: OwnedFd) -> io::Result<()> {
        let mut open = vec![Dir::new(folder)?];
        loop {
            let is_deep = open.len() >= MAX_DEPTH;
            let Some(dir) = open.last_mut() else { return Ok(()) };
            let Some(entry) = dir.read() else {
                open.pop();
                continue;
            };
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let parent = dir.fd()?;
            let stat = match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => continue,
                stat => stat?,
            };
            let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
            let seen_before =
                stat.st_nlink > 1 && !is_folder && !self.linked.insert((stat.st_dev, stat.st_ino));
            if !seen_before {
                self.usage.bytes += u64::try_from(stat.st_blocks).unwrap_or(0) * 512;
                self.usage.files += 1;
            }
            if !is_folder {
                continue;
            }
            match open_child(parent, name) {
                Ok(child) if !is_deep => open.push(Dir::new(child)?),
                Ok(child) if self.later.len() < MAX_LATER => self.later.push(child),
                Ok(_) | Err(Errno::ACCESS) => self.usage.hidden = true,
                Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

fn open_child(
    parent: std::os::fd::BorrowedFd<'_>,
    name: &std::ffi::CStr,
) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty())
}
