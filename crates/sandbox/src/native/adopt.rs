//! Giving files of the host to a cell, or a look at them.

use std::fs::File;
use std::io;

use rustix::fs::{Gid, Mode, Uid};

/// Makes one file or directory the cell's, by its descriptor. An ordinary user's cells have that
/// user's own uid: there is nothing to give.
pub(super) fn adopt(id: u32, file: &File) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    rustix::fs::fchown(file, Some(Uid::from_raw(id)), Some(Gid::from_raw(id)))?;
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
