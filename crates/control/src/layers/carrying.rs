//! Carrying one file from a folder to another, both open.
//!
//! Promises: nothing that is at the place is overwritten; killed at any point, the file is whole in one of the two, and
//! what is told as moved is moved; no link is followed.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Timespec, Timestamps};
use rustix::io::Errno;

use crate::files::copy_data;

/// Half of a copied file is here until it is whole. No task's file lands under such a name, so whatever has one is ours.
pub(super) const HALF: &str = ".cloister-landing-";
/// All names of extended attributes of a file together: the kernel hands out no more, and few files have so many.
const MOST_NAMES: usize = 64 << 10;
const USUAL_NAMES: usize = 1 << 10;
/// What does not land of them: marks of the overlay, who else may read, with whose rights it runs.
const UNWANTED: [&[u8]; 3] = [b"user.overlay.", b"system.posix_acl", b"security.capability"];

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carried {
    /// It is there, by now or from before.
    There,
    /// Something else has the place: it is where it was.
    Taken,
}

/// A name in an open folder.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) folder: BorrowedFd<'a>,
    pub(super) name: &'a str,
}

/// How a file is carried.
pub(super) struct Carrying<'a> {
    /// It has other names, which stay what they are.
    pub(super) copy: bool,
    /// Nobody else's half has it.
    pub(super) half: &'a str,
    pub(super) give: &'a dyn Fn(&File) -> io::Result<()>,
}

impl Carrying<'_> {
    pub(super) fn carry(&self, from: Place<'_>, to: Place<'_>) -> io::Result<Carried> {
        if !self.copy {
            match rename(from, to) {
                Err(Errno::XDEV) => {}
                Err(Errno::EXIST) => return Ok(Carried::Taken),
                // Moved before.
                Ok(()) | Err(Errno::NOENT) => return Ok(Carried::There),
                Err(errno) => return Err(errno.into()),
            }
        }
        let found = match rustix::fs::statat(from.folder, from.name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(Carried::There),
            found => found?,
        };
        let copied = match FileType::from_raw_mode(found.st_mode) {
            FileType::Symlink => copy_link(from, to)?,
            FileType::RegularFile => self.copy_file(from, to, &found)?,
            _ => return Ok(Carried::Taken),
        };
        // Killed after the last copy was whole and before the first was gone, it is there twice.
        if !copied && !is_same(from, to)? {
            return Ok(Carried::Taken);
        }
        rustix::fs::unlinkat(from.folder, from.name, AtFlags::empty())?;
        Ok(Carried::There)
    }

    /// Whole under another name first, then under its own; false if that is taken.
    fn copy_file(
        &self,
        from: Place<'_>,
        to: Place<'_>,
        found: &rustix::fs::Stat,
    ) -> io::Result<bool> {
        let half = Place { folder: to.folder, name: self.half };
        remove(half)?;
        let read = open(from)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mode = Mode::from_raw_mode(0o600);
        let written = rustix::fs::openat(half.folder, half.name, flags | OFlags::CLOEXEC, mode)?;
        let written = File::from(written);
        copy_data(&read, &written, u64::MAX)?;
        (self.give)(&written)?;
        rustix::fs::fchmod(&written, Mode::from_raw_mode(found.st_mode & 0o777))?;
        rustix::fs::futimens(&written, &times(found))?;
        written.sync_all()?;
        match rename(half, to) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => remove(half).map(|()| false),
            Err(errno) => Err(errno.into()),
        }
    }
}

fn rename(from: Place<'_>, to: Place<'_>) -> Result<(), Errno> {
    let keep = RenameFlags::NOREPLACE;
    rustix::fs::renameat_with(from.folder, from.name, to.folder, to.name, keep)
}

fn remove(place: Place<'_>) -> io::Result<()> {
    match rustix::fs::unlinkat(place.folder, place.name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn open(place: Place<'_>) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(place.folder, place.name, flags, Mode::empty())?))
}

pub(super) fn times(found: &rustix::fs::Stat) -> Timestamps {
    let nanoseconds = |value| i64::try_from(value).unwrap_or_default();
    Timestamps {
        last_access: Timespec { tv_sec: found.st_atime, tv_nsec: nanoseconds(found.st_atime_nsec) },
        last_modification: Timespec {
            tv_sec: found.st_mtime,
            tv_nsec: nanoseconds(found.st_mtime_nsec),
        },
    }
}

fn copy_link(from: Place<'_>, to: Place<'_>) -> io::Result<bool> {
    let leads = rustix::fs::readlinkat(from.folder, from.name, Vec::new())?;
    match rustix::fs::symlinkat(leads.as_c_str(), to.folder, to.name) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Whether two places hold the same: the same link, or files that say the same.
fn is_same(one: Place<'_>, other: Place<'_>) -> io::Result<bool> {
    let look = |at: Place<'_>| rustix::fs::statat(at.folder, at.name, AtFlags::SYMLINK_NOFOLLOW);
    let (first, second) = (look(one)?, look(other)?);
    let kinds = (FileType::from_raw_mode(first.st_mode), FileType::from_raw_mode(second.st_mode));
    match kinds {
        (FileType::Symlink, FileType::Symlink) => {
            let leads = |at: Place<'_>| rustix::fs::readlinkat(at.folder, at.name, Vec::new());
            Ok(leads(one)? == leads(other)?)
        }
        (FileType::RegularFile, FileType::RegularFile) if first.st_size == second.st_size => {
            let (mut one, mut other) = (open(one)?, open(other)?);
            let (mut first, mut second) = (vec![0; 64 << 10], vec![0; 64 << 10]);
            loop {
                let length = fill(&mut one, &mut first)?;
                if length != fill(&mut other, &mut second)? || first != second {
                    return Ok(false);
                }
                if length == 0 {
                    return Ok(true);
                }
            }
        }
        _ => Ok(false),
    }
}

/// Reads as much as there is room for.
fn fill(file: &mut File, room: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while let Some(rest) = room.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match file.read(rest)? {
            0 => break,
            more => length += more,
        }
    }
    Ok(length)
}

/// Takes from a file what only means something in a layer, and what nobody's file needs: marks of the overlay, whose
/// rights it would run with, and who else may read it. Its owner can read it afterwards.
pub(super) fn make_plain(folder: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(folder, name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        file => file?,
    };
    let stat = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(());
    }
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let mut names = vec![0_u8; USUAL_NAMES];
    let mut listed = rustix::fs::listxattr(&path, names.as_mut_slice());
    if listed == Err(Errno::RANGE) {
        names.resize(MOST_NAMES, 0);
        listed = rustix::fs::listxattr(&path, names.as_mut_slice());
    }
    let length = match listed {
        // None, or more than the kernel hands out.
        Err(Errno::OPNOTSUPP | Errno::TOOBIG) => 0,
        length => length?,
    };
    let names = names.get(..length).unwrap_or_default().split(|byte| *byte == 0);
    let unwanted = names.filter(|name| UNWANTED.iter().any(|mark| name.starts_with(mark)));
    for name in unwanted {
        match rustix::fs::removexattr(&path, name) {
            // What is not ours to remove was not the cell's to set.
            Ok(()) | Err(Errno::NODATA | Errno::PERM | Errno::OPNOTSUPP) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    let plain = stat.st_mode & 0o777 | 0o400;
    if stat.st_mode & 0o7777 != plain {
        rustix::fs::chmod(&path, Mode::from_raw_mode(plain))?;
    }
    Ok(())
}
