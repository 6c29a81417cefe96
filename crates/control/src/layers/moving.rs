//! Moving files between a layer, the chat's files and what was there before, step by step.
//!
//! Promises: a plan that is carried out again from its beginning, after a kill at any point, ends as if it had been
//! carried out once; nothing is overwritten; no link is followed.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// A place whose files move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Root {
    /// The files of the chat.
    Files,
    /// A folder of the stack of a layer, counted from the oldest.
    Layer(usize),
    /// What a landing took away.
    Before,
    /// What an undo took away.
    Undone,
    /// What a landing left aside, because programs would run it.
    Held,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MoveStep {
    /// Makes a folder of the chat's, if there is none.
    Folder { path: String, mode: u32 },
    /// Removes a folder of the chat's, if it is empty.
    NoFolder { path: String },
    /// Moves a file or a link. What is there already was moved before.
    Move { from: (Root, String), to: (Root, String) },
    /// The same of a file that has other names, which stay what they are.
    Copy { from: (Root, String), to: (Root, String) },
}

/// The folders that a plan moves files between.
pub(super) struct Roots<'a> {
    pub(super) files: PathBuf,
    pub(super) layers: Vec<PathBuf>,
    pub(super) before: PathBuf,
    pub(super) undone: PathBuf,
    pub(super) held: PathBuf,
    /// Gives what was made to the cell.
    pub(super) give: &'a dyn Fn(&File) -> io::Result<()>,
}

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const BENEATH: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);

/// The open folders of a plan.
pub(super) struct Mover<'a> {
    roots: Roots<'a>,
    /// The last folder that was opened: steps come in the order of their paths.
    last: Option<(Root, String, OwnedFd)>,
}

impl<'a> Mover<'a> {
    pub(super) fn new(roots: Roots<'a>) -> Self {
        Self { roots, last: None }
    }

    /// Carries all steps out, and has them on disk.
    pub(super) fn carry_out(mut self, steps: &[MoveStep]) -> io::Result<()> {
        for step in steps {
            self.step(step)?;
        }
        let files = rustix::fs::open(&self.roots.files, FOLDER, Mode::empty())?;
        Ok(rustix::fs::syncfs(files)?)
    }

    fn step(&mut self, step: &MoveStep) -> io::Result<()> {
        match step {
            MoveStep::Folder { path, mode } => self.make_folder(path, *mode),
            MoveStep::NoFolder { path } => self.remove_folder(path),
            MoveStep::Move { from, to } => self.move_one(from, to, false),
            MoveStep::Copy { from, to } => self.move_one(from, to, true),
        }
    }

    fn make_folder(&mut self, path: &str, mode: u32) -> io::Result<()> {
        let (within, name) = split(path);
        let parent = self.folder((Root::Files, within), true)?;
        match rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o700 | mode & 0o077)) {
            Err(Errno::EXIST) => Ok(()),
            made => {
                made?;
                let made = rustix::fs::openat(&parent, name, FOLDER, Mode::empty())?;
                (self.roots.give)(&File::from(made))
            }
        }
    }

    fn remove_folder(&mut self, path: &str) -> io::Result<()> {
        let (within, name) = split(path);
        self.last = None;
        let parent = match self.folder((Root::Files, within), false) {
            Err(error) if is_gone(&error) => return Ok(()),
            parent => parent?,
        };
        match rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::NOTDIR | Errno::EXIST) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    fn move_one(
        &mut self,
        (from_root, from): &(Root, String),
        (to_root, to): &(Root, String),
        copy: bool,
    ) -> io::Result<()> {
        let ((from_within, from_name), (to_within, to_name)) = (split(from), split(to));
        let source = match self.folder((*from_root, from_within), false) {
            // Whatever was there has moved.
            Err(error) if is_gone(&error) => return Ok(()),
            source => source?,
        };
        let target = self.folder((*to_root, to_within), true)?;
        if matches!(from_root, Root::Layer(_)) {
            make_plain(source.as_fd(), from_name)?;
        }
        let moved = if copy {
            Err(Errno::XDEV)
        } else {
            let keep = RenameFlags::NOREPLACE;
            rustix::fs::renameat_with(&source, from_name, &target, to_name, keep)
        };
        match moved {
            Err(Errno::XDEV) => {
                self.copy_over((source.as_fd(), from_name), (target.as_fd(), to_name))
            }
            // Done before.
            Ok(()) | Err(Errno::NOENT | Errno::EXIST) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Moves by copying: whole under another name first, then under its own.
    fn copy_over(
        &self,
        (source, from): (BorrowedFd<'_>, &str),
        (target, to): (BorrowedFd<'_>, &str),
    ) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let found = match rustix::fs::statat(source, from, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(()),
            found => found?,
        };
        if FileType::from_raw_mode(found.st_mode) == FileType::Symlink {
            let leads = rustix::fs::readlinkat(source, from, Vec::new())?;
            match rustix::fs::symlinkat(leads.as_c_str(), target, to) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        } else {
            let half = format!(".{:.200}.landing", to);
            let mut read = File::from(rustix::fs::openat(source, from, flags, Mode::empty())?);
            let write = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW;
            let mode = Mode::from_raw_mode(0o600 | found.st_mode & 0o777);
            let written = rustix::fs::openat(target, &half, write | OFlags::CLOEXEC, mode)?;
            let mut written = File::from(written);
            io::copy(&mut read, &mut written)?;
            (self.roots.give)(&written)?;
            written.sync_all()?;
            let keep = RenameFlags::NOREPLACE;
            match rustix::fs::renameat_with(target, &half, target, to, keep) {
                Ok(()) => {}
                Err(Errno::EXIST) => rustix::fs::unlinkat(target, &half, AtFlags::empty())?,
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(rustix::fs::unlinkat(source, from, AtFlags::empty())?)
    }

    /// A folder of a root, made with those above it where that is wanted.
    fn folder(&mut self, (root, path): (Root, &str), make: bool) -> io::Result<OwnedFd> {
        if let Some((last_root, last, fd)) = &self.last
            && (*last_root, last.as_str()) == (root, path)
        {
            return fd.try_clone();
        }
        let at = rustix::fs::open(self.path_of(root), FOLDER, Mode::empty())?;
        let opened = if path.is_empty() {
            at
        } else {
            match rustix::fs::openat2(&at, path, FOLDER, Mode::empty(), BENEATH) {
                Err(Errno::NOENT) if make => self.make_all(&at, (root, path))?,
                opened => opened?,
            }
        };
        if root == Root::Files {
            self.last = Some((root, path.to_owned(), opened.try_clone()?));
        }
        Ok(opened)
    }

    fn make_all(&self, at: &OwnedFd, (root, path): (Root, &str)) -> io::Result<OwnedFd> {
        let mut folder = at.try_clone()?;
        for name in path.split('/') {
            let made = rustix::fs::mkdirat(&folder, name, Mode::RWXU);
            let next = rustix::fs::openat(&folder, name, FOLDER, Mode::empty())?;
            match made {
                Ok(()) if root == Root::Files => (self.roots.give)(&File::from(next.try_clone()?))?,
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            folder = next;
        }
        Ok(folder)
    }

    fn path_of(&self, root: Root) -> &Path {
        match root {
            Root::Files => &self.roots.files,
            Root::Layer(number) => {
                self.roots.layers.get(number).map_or(self.roots.before.as_path(), PathBuf::as_path)
            }
            Root::Before => &self.roots.before,
            Root::Undone => &self.roots.undone,
            Root::Held => &self.roots.held,
        }
    }
}

/// Takes from a file what only means something in a layer, and what nobody's file needs: marks of the overlay, and
/// whose rights it would run with.
fn make_plain(folder: BorrowedFd<'_>, name: &str) -> io::Result<()> {
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
    if stat.st_mode & 0o7000 != 0 {
        rustix::fs::chmod(&path, Mode::from_raw_mode(stat.st_mode & 0o777))?;
    }
    let mut names = vec![0_u8; 4096];
    let length = match rustix::fs::listxattr(&path, names.as_mut_slice()) {
        // More than that, none of it the kernel's own.
        Err(Errno::RANGE | Errno::OPNOTSUPP) => 0,
        length => length?,
    };
    let ours = names.get(..length).unwrap_or_default().split(|byte| *byte == 0);
    for name in ours.filter(|name| name.starts_with(b"user.overlay.")) {
        match rustix::fs::removexattr(&path, name) {
            Ok(()) | Err(Errno::NODATA) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Whether there is no such folder, or by now something else in its place.
fn is_gone(error: &io::Error) -> bool {
    let gone = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP];
    gone.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}
