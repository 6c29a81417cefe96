//! All names of a tree, read through descriptors, links not followed.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// How deep a tree is followed, and how many names are listed; a cell can make any number.
const MAX_DEPTH: usize = 64;
const MAX_NAMES: usize = 200_000;

/// What is in a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// Regular files, by their paths in the tree.
    pub files: Vec<String>,
    /// What is none, or can't be named.
    pub left_out: Vec<String>,
}

/// Lists the regular files of a tree. What vanishes meanwhile is not listed. One way down is followed at a time, so
/// that no more folders are open than it is deep.
pub(super) fn take(root: &OwnedFd) -> io::Result<Inventory> {
    let mut found = Inventory::default();
    let mut open = vec![(Dir::new(open_child(root.as_fd(), c".")?)?, String::new())];
    loop {
        let is_deep = open.len() > MAX_DEPTH;
        let Some((dir, path)) = open.last_mut() else { break };
        let Some(entry) = dir.read() else {
            open.pop();
            continue;
        };
        let entry = entry?;
        let name = entry.file_name();
        if [c".", c".."].contains(&name) {
            continue;
        }
        let shown = format!("{path}{}", name.to_string_lossy());
        if found.files.len() + found.left_out.len() >= MAX_NAMES {
            found.left_out.push("more files than can be listed".to_owned());
            return Ok(found);
        }
        let within = dir.fd()?;
        let kind = match rustix::fs::statat(within, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => FileType::from_raw_mode(stat.st_mode),
            Err(Errno::NOENT) => continue,
            Err(errno) => return Err(errno.into()),
        };
        match kind {
            FileType::RegularFile if name.to_str().is_ok() => found.files.push(shown),
            FileType::Directory if !is_deep => match open_child(within, name) {
                Ok(child) => open.push((Dir::new(child)?, format!("{shown}/"))),
                Err(_gone_or_closed) => found.left_out.push(shown),
            },
            _ => found.left_out.push(shown),
        }
    }
    found.files.sort();
    found.left_out.sort();
    Ok(found)
}

fn open_child(
    parent: std::os::fd::BorrowedFd<'_>,
    name: &std::ffi::CStr,
) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty())
}
