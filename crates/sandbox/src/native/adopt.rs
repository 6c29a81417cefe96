//! Giving files of the host to a cell, or a look at them.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

/// How deep a surface's directory may be.
const DEEPEST: usize = 32;

/// Makes one file or directory the cell's, by its descriptor. An ordinary user's cells have that
/// user's own uid: there is nothing to give.
pub(super) fn adopt(id: u32, file: &File) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    rustix::fs::fchown(file, Some(Uid::from_raw(id)), Some(Gid::from_raw(id)))?;
    Ok(())
}

/// Makes a directory and everything in it a connector's. Links are given themselves and never followed.
pub(super) fn give(id: u32, dir: &Path) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    give_below(id, &rustix::fs::open(dir, flags, Mode::empty())?, 0)
}

fn give_below(id: u32, dir: &OwnedFd, depth: usize) -> io::Result<()> {
    if depth > DEEPEST {
        return Err(io::Error::other("a surface's directory is too deep"));
    }
    let (uid, gid) = (Some(Uid::from_raw(id)), Some(Gid::from_raw(id)));
    rustix::fs::fchown(dir, uid, gid)?;
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(dir, name, flags, Mode::empty()) {
            Ok(below) => give_below(id, &below, depth + 1)?,
            Err(Errno::NOTDIR | Errno::LOOP) => {
                rustix::fs::chownat(dir, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Makes one file or directory ours, and lets the cell's group read it. An ordinary user's cells have
/// that user's own uid: only a read-only mount keeps them from writing.
pub(super) fn show(id: u32, file: &File) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let meta = file.metadata()?;
    let mode = if meta.is_dir() { 0o750 } else { 0o640 };
    let (owner, group, now) = {
        use std::os::unix::fs::MetadataExt;
        (meta.uid(), meta.gid(), meta.mode() & 0o7777)
    };
    if (owner, group) != (0, id) {
        rustix::fs::fchown(file, Some(Uid::ROOT), Some(Gid::from_raw(id)))?;
    }
    // Afterwards: a change of owner would clear bits of it.
    if now != mode {
        rustix::fs::fchmod(file, Mode::from_raw_mode(mode))?;
    }
    Ok(())
}
