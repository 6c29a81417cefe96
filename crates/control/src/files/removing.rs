//! Removing a tree that a cell has made.
//!
//! Promises: whatever its depth, it is removed with a bounded number of descriptors and no recursion; links are
//! removed, never followed; what is closed is opened first, if it is ours.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// How many folders are open at once; what is deeper is moved up first.
const MAX_DEPTH: usize = 32;

/// Removes what is at a path whose folder only the control plane writes to. Nobody may be writing below it.
pub(crate) fn remove_tree(path: &Path) -> io::Result<()> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, flags, Mode::empty())?;
    let name = CString::new(name.as_bytes())?;
    let stat = rustix::fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return Ok(rustix::fs::unlinkat(&folder, &name, AtFlags::empty())?);
    }
    let top = open_folder(folder.as_fd(), &name)?;
    let mut moved = 0;
    loop {
        empty(&top, &mut moved)?;
        match rustix::fs::unlinkat(&folder, &name, AtFlags::REMOVEDIR) {
            // What was moved up while it was read may not have been seen.
            Err(Errno::NOTEMPTY) => {}
            done => return Ok(done?),
        }
    }
}

/// Removes what is in a folder; what lies too deep is moved into it.
fn empty(top: &OwnedFd, moved: &mut u64) -> io::Result<()> {
    let mut open: Vec<(CString, Dir)> = vec![(CString::default(), Dir::read_from(top)?)];
    loop {
        let is_deep = open.len() >= MAX_DEPTH;
        let Some((_, dir)) = open.last_mut() else { return Ok(()) };
        let Some(entry) = dir.read() else {
            let Some((name, _)) = open.pop() else { return Ok(()) };
            if let Some((_, parent)) = open.last() {
                match rustix::fs::unlinkat(parent.fd()?, &name, AtFlags::REMOVEDIR) {
                    Ok(()) | Err(Errno::NOENT) => {}
                    Err(errno) => return Err(errno.into()),
                }
            }
            continue;
        };
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let within = dir.fd()?;
        let stat = match rustix::fs::statat(within, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => continue,
            stat => stat?,
        };
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            rustix::fs::unlinkat(within, name, AtFlags::empty())?;
        } else if is_deep {
            move_up(within, name, top, moved)?;
        } else {
            let child = Dir::new(open_folder(within, name)?)?;
            open.push((name.to_owned(), child));
        }
    }
}

/// Moves a folder into the topmost one, under a name that is free there.
fn move_up(within: BorrowedFd<'_>, name: &CStr, top: &OwnedFd, moved: &mut u64) -> io::Result<()> {
    loop {
        *moved += 1;
        let free = CString::new(format!(".removed-{moved}"))?;
        let flags = rustix::fs::RenameFlags::NOREPLACE;
        match rustix::fs::renameat_with(within, name, top, &free, flags) {
            Err(Errno::EXIST) => {}
            done => return Ok(done?),
        }
    }
}

/// Opens a folder to be emptied; one that is closed to us is opened to us first.
fn open_folder(within: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = || rustix::fs::openat(within, name, flags | OFlags::RDONLY, Mode::empty());
    let closed = rustix::fs::openat(within, name, flags | OFlags::PATH, Mode::empty())?;
    let is_ours = |mode: u32| mode & 0o700 == 0o700;
    if !is_ours(rustix::fs::fstat(&closed)?.st_mode) {
        // By its descriptor: the name could be a link by now.
        let path = format!("/proc/self/fd/{}", closed.as_raw_fd());
        rustix::fs::chmod(path, Mode::RWXU)?;
    }
    Ok(open()?)
}

#[cfg(test)]
#[path = "removing_tests.rs"]
mod tests;
