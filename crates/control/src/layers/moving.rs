//! Moving files between a layer, the chat's files and what was there before, step by step.
//!
//! Promises: a plan that is carried out again from its beginning, after a kill at any point, ends as if it had been
//! carried out once; nothing is overwritten, and nothing is taken away that somebody changed after the plan was made: a
//! task's file lands beside it; no link is followed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::rc::Rc;

use cloister_protocol::TaskId;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::carrying::{Carried, Carrying, HALF, Place, make_plain};
use super::print::{self, FilePrint};
use crate::files::numbered;

/// How many names are tried for what lands beside something.
pub(super) const MAX_NAMES: u32 = 1000;
/// Folders that are kept open: steps come in the order of their paths, each between two or three places.
const MOST_OPEN: usize = 4;

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
    Move {
        from: (Root, String),
        to: (Root, String),
        /// Only if it is still this.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        was: Option<FilePrint>,
    },
    /// The same of a file that has other names, which stay what they are.
    Copy { from: (Root, String), to: (Root, String) },
}

/// Where what was to land at a path did, because something else had it.
pub(super) type Elsewhere = BTreeMap<String, String>;

/// The folders that a plan moves files between.
pub(super) struct Roots<'a> {
    pub(super) task: TaskId,
    pub(super) files: OwnedFd,
    pub(super) layers: Vec<PathBuf>,
    pub(super) before: PathBuf,
    pub(super) undone: PathBuf,
    pub(super) held: PathBuf,
    /// Gives what was made to the cell.
    pub(super) give: &'a dyn Fn(&File) -> io::Result<()>,
    /// Notes where files land instead, before they do.
    pub(super) note: &'a dyn Fn(&Elsewhere) -> io::Result<()>,
}

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

struct OpenFolder {
    root: Root,
    path: String,
    folder: Rc<OwnedFd>,
}

/// The open folders of a plan.
pub(super) struct Mover<'a> {
    roots: Roots<'a>,
    /// The one that was used last at the end.
    open: Vec<OpenFolder>,
    elsewhere: Elsewhere,
}

impl<'a> Mover<'a> {
    /// With what an earlier try has noted.
    pub(super) fn new(roots: Roots<'a>, elsewhere: Elsewhere) -> Self {
        Self { roots, open: Vec::new(), elsewhere }
    }

    /// Carries all steps out, and has them on disk.
    pub(super) fn carry_out(mut self, steps: &[MoveStep]) -> io::Result<Elsewhere> {
        for (number, step) in steps.iter().enumerate() {
            self.step(number, step)?;
        }
        rustix::fs::syncfs(&self.roots.files)?;
        Ok(self.elsewhere)
    }

    fn step(&mut self, number: usize, step: &MoveStep) -> io::Result<()> {
        match step {
            MoveStep::Folder { path, mode } => self.make_folder(path, *mode),
            MoveStep::NoFolder { path } => self.remove_folder(path),
            MoveStep::Move { from, to, was } => {
                if let (Root::Files, Some(was)) = (from.0, was)
                    && FilePrint::beneath(&self.roots.files, &from.1)? != Some(*was)
                {
                    // Moved before; or changed by somebody since, and theirs.
                    return Ok(());
                }
                self.move_one((from, to), (number, false))
            }
            MoveStep::Copy { from, to } => self.move_one((from, to), (number, true)),
        }
    }

    fn make_folder(&mut self, path: &str, mode: u32) -> io::Result<()> {
        let (within, name) = split(path);
        let parent = match self.folder((Root::Files, within), true) {
            // What was to be in it lands elsewhere.
            Err(error) if is_blocked(&error) => return Ok(()),
            parent => parent?,
        };
        self.make_one(&parent, name, mode)
    }

    /// Makes a folder of the chat's: it is the cell's before it has its name, so that no kill lies between the two.
    fn make_one(&self, parent: &OwnedFd, name: &str, mode: u32) -> io::Result<()> {
        let half = format!("{HALF}{}", self.roots.task);
        match rustix::fs::mkdirat(parent, &half, Mode::RWXU) {
            // Left by a kill.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        let made = rustix::fs::openat(parent, &half, FOLDER, Mode::empty())?;
        rustix::fs::fchmod(&made, Mode::from_raw_mode(0o700 | mode & 0o077))?;
        (self.roots.give)(&File::from(made))?;
        let keep = RenameFlags::NOREPLACE;
        match rustix::fs::renameat_with(parent, &half, parent, name, keep) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Ok(rustix::fs::unlinkat(parent, &half, AtFlags::REMOVEDIR)?),
            Err(errno) => Err(errno.into()),
        }
    }

    fn remove_folder(&mut self, path: &str) -> io::Result<()> {
        let (within, name) = split(path);
        self.open.clear();
        let parent = match self.folder((Root::Files, within), false) {
            Err(error) if is_blocked(&error) => return Ok(()),
            parent => parent?,
        };
        match rustix::fs::unlinkat(&*parent, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::NOTDIR | Errno::EXIST) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    fn move_one(
        &mut self,
        ((from_root, from), (to_root, planned)): (&(Root, String), &(Root, String)),
        (number, copy): (usize, bool),
    ) -> io::Result<()> {
        let (from_within, from_name) = split(from);
        let source = match self.folder((*from_root, from_within), false) {
            // Whatever was there has moved.
            Err(error) if is_blocked(&error) => return Ok(()),
            source => source?,
        };
        let lands = matches!(from_root, Root::Layer(_));
        if lands {
            make_plain(source.as_fd(), from_name)?;
        }
        let half = format!("{HALF}{}-{number}", self.roots.task);
        let from = Place { folder: source.as_fd(), name: from_name };
        let noted = self.elsewhere.get(planned).filter(|_| lands);
        let mut to = noted.unwrap_or(planned).clone();
        for _ in 0..MAX_NAMES {
            let (within, name) = split(&to);
            let carried = match self.folder((*to_root, within), true) {
                Err(error) if is_blocked(&error) => Carried::Taken,
                target => {
                    let target = target?;
                    let carrying = Carrying { copy, half: &half, give: self.roots.give };
                    carrying.carry(from, Place { folder: target.as_fd(), name })?
                }
            };
            match carried {
                // What is not the task's stays where it is, which is kept too.
                Carried::Taken if lands => to = self.another_place(planned)?,
                Carried::Taken | Carried::There => return Ok(()),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// A place that is free, noted before anything is there.
    fn another_place(&mut self, planned: &str) -> io::Result<String> {
        let (within, name) = split(planned);
        let is_open = match self.folder((Root::Files, within), true) {
            Err(error) if is_blocked(&error) => false,
            folder => folder.map(|_open| true)?,
        };
        let wanted = if is_open { planned } else { name };
        for number in 1..=MAX_NAMES {
            let free = beside(wanted, self.roots.task, number);
            let given = self.elsewhere.values().any(|given| *given == free);
            if !given && FilePrint::beneath(&self.roots.files, &free)?.is_none() {
                self.elsewhere.insert(planned.to_owned(), free.clone());
                (self.roots.note)(&self.elsewhere)?;
                return Ok(free);
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// A folder of a root, made with those above it where that is wanted.
    fn folder(&mut self, (root, path): (Root, &str), make: bool) -> io::Result<Rc<OwnedFd>> {
        let known = self.open.iter().position(|open| open.root == root && open.path == path);
        if let Some(known) = known {
            let open = self.open.remove(known);
            let folder = Rc::clone(&open.folder);
            self.open.push(open);
            return Ok(folder);
        }
        let at = self.open_root(root)?;
        let folder = if path.is_empty() {
            at
        } else {
            match print::open(&at, path, FOLDER) {
                Err(Errno::NOENT) if make => self.make_all(at, (root, path))?,
                opened => opened?,
            }
        };
        let folder = Rc::new(folder);
        if self.open.len() >= MOST_OPEN {
            self.open.remove(0);
        }
        self.open.push(OpenFolder { root, path: path.to_owned(), folder: Rc::clone(&folder) });
        Ok(folder)
    }

    fn make_all(&self, at: OwnedFd, (root, path): (Root, &str)) -> io::Result<OwnedFd> {
        let mut folder = at;
        for name in path.split('/') {
            match root {
                Root::Files => self.make_one(&folder, name, 0o700)?,
                Root::Layer(_) | Root::Before | Root::Undone | Root::Held => {
                    match rustix::fs::mkdirat(&folder, name, Mode::RWXU) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(errno) => return Err(errno.into()),
                    }
                }
            }
            let next = rustix::fs::openat(&folder, name, FOLDER, Mode::empty())?;
            folder = next;
        }
        Ok(folder)
    }

    fn open_root(&self, root: Root) -> io::Result<OwnedFd> {
        let path = match root {
            Root::Files => return self.roots.files.try_clone(),
            Root::Layer(number) => {
                self.roots.layers.get(number).ok_or(io::ErrorKind::InvalidData)?
            }
            Root::Before => &self.roots.before,
            Root::Undone => &self.roots.undone,
            Root::Held => &self.roots.held,
        };
        Ok(rustix::fs::open(path, FOLDER, Mode::empty())?)
    }
}

/// Whether there is no such folder, or by now something else in its place.
fn is_blocked(error: &io::Error) -> bool {
    let gone = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP];
    gone.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// A name beside one that is taken: `notes-T5.md`, `notes-T5-2.md`.
pub(super) fn beside(at: &str, task: TaskId, number: u32) -> String {
    let (within, name) = split(at);
    let (stem, ending) = match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => (stem, format!(".{ending}")),
        Some(_) | None => (name, String::new()),
    };
    let stem: String = stem.chars().take(60).collect();
    let name = numbered(&format!("{stem}-{task}{ending}"), number);
    if within.is_empty() { name } else { format!("{within}/{name}") }
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}
