//! What a task has done to the files of its chat, as its layer has it.
//!
//! Promises: nothing in a layer is followed or opened that its task could have put there to be; a name that people
//! can't be shown, a device, a pipe, a socket and a link that leads out are refused one by one, with what is below.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use cloister_policy::legible;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::carrying::HALF;
use super::copied::{Copied, Seen};
use super::place::Sheet;
use super::plan::blocks_of;

/// How deep a layer is followed, and how much of it.
pub(super) const MAX_DEPTH: usize = 64;
pub(super) const MAX_ENTRIES: usize = 200_000;
/// The longest path of a file that lands, and all paths together: a plan holds each of them several times.
const MAX_PATH_BYTES: usize = 1024;
const MAX_PATHS_BYTES: usize = 32 << 20;
/// What says that nothing of before shows through a folder.
const OPAQUE: &CStr = c"user.overlay.opaque";
/// What people sent: nothing of it is changed.
pub(super) const INCOMING: &CStr = c"incoming";

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LayerEntry {
    Folder {
        /// Nothing of before shows through.
        opaque: bool,
        mode: u32,
    },
    File(LayerFile),
    /// A symbolic link, and where it leads.
    Link {
        layer: usize,
        to: String,
    },
    Removed,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LayerFile {
    /// In which folder of the stack.
    pub(super) layer: usize,
    pub(super) size: u64,
    /// On disk, in bytes.
    pub(super) blocks: u64,
    /// It has other names: its number, which they all have.
    pub(super) shared: Option<u64>,
}

/// What is done about folders that their owner has closed to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    /// Their task may still work in them: they stay as they are, and out.
    LeaveOut,
    /// They are opened.
    Open,
}

/// Something that does not land, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LeftOut {
    pub path: String,
    pub why: String,
}

/// What is in the folders of a layer together.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) entries: BTreeMap<String, LayerEntry>,
    pub(super) left_out: Vec<LeftOut>,
    /// How much has been looked at: names, and bytes of their paths.
    seen: (usize, usize),
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ScanError {
    #[error(
        "they are more than can land at once ({MAX_ENTRIES} files, {} MB of names)",
        MAX_PATHS_BYTES >> 20
    )]
    TooMuch,
    #[error("it could not be read")]
    Io(#[from] io::Error),
}

impl From<Errno> for ScanError {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

/// Reads the folders of a stack, the oldest first.
pub(super) fn scan(stack: &[Sheet], closed: Closed) -> Result<Scan, ScanError> {
    let mut scan = Scan::default();
    for (layer, sheet) in stack.iter().enumerate() {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let root = rustix::fs::open(sheet.files(), flags, Mode::empty())?;
        let before = match sheet {
            Sheet::Overlay(_) => None,
            Sheet::Copy { seen, .. } => {
                let seen: Seen =
                    serde_json::from_slice(&std::fs::read(seen)?).map_err(io::Error::other)?;
                Some(Before { seen, folders: BTreeSet::new(), met: BTreeSet::new() })
            }
        };
        scan.add((layer, before), root, closed)?;
    }
    Ok(scan)
}

/// What a copy had before its task changed it, and what of that was met again.
struct Before {
    seen: Seen,
    folders: BTreeSet<String>,
    met: BTreeSet<String>,
}

impl Before {
    /// Whether what is at a path is as it was.
    fn is_as_it_was(&mut self, path: &str, stat: &Stat) -> bool {
        let was = self.seen.all.get(path);
        if was.is_some() {
            self.met.insert(path.to_owned());
        }
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => was == Some(&Copied::Folder),
            _ => was == Some(&Copied::of(stat)),
        }
    }

    /// What is gone, without what was in a folder that is gone too.
    fn gone(&self) -> impl Iterator<Item = &String> {
        let all = self.seen.all.keys();
        all.filter(|path| {
            let within = path.rsplit_once('/').map(|(within, _)| within);
            let is_looked_into = within.is_none_or(|within| self.folders.contains(within));
            is_looked_into && !self.met.contains(*path)
        })
    }
}

impl LayerFile {
    fn of(layer: usize, stat: &Stat) -> Self {
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        let shared = (stat.st_nlink > 1).then_some(stat.st_ino);
        Self { layer, size, blocks: blocks_of(stat), shared }
    }
}

impl Scan {
    fn add(
        &mut self,
        (layer, mut before): (usize, Option<Before>),
        root: OwnedFd,
        closed: Closed,
    ) -> Result<(), ScanError> {
        let mut open = vec![(Dir::new(root)?, String::new())];
        loop {
            let is_deep = open.len() > MAX_DEPTH;
            let Some((dir, within)) = open.last_mut() else { break };
            let Some(entry) = dir.read() else {
                open.pop();
                continue;
            };
            let entry = entry?;
            let name = entry.file_name();
            if [c".", c".."].contains(&name) || (within.is_empty() && name == INCOMING) {
                continue;
            }
            self.count(within.len() + name.count_bytes())?;
            let path = match named(within, name) {
                Ok(path) => path,
                Err(left_out) => {
                    self.left_out.push(left_out);
                    continue;
                }
            };
            let parent = dir.fd()?;
            let stat = match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
                // Its task still works in it.
                Err(Errno::NOENT) => continue,
                stat => stat?,
            };
            let same = before.as_mut().is_some_and(|before| before.is_as_it_was(&path, &stat));
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory if is_deep => self.leave_out(&path, "it lies too deep"),
                FileType::Directory => match open_folder(parent, name, (stat.st_mode, closed)) {
                    Ok(child) => {
                        match &mut before {
                            None => self.folder(&path, is_opaque(&child), stat.st_mode & 0o777),
                            Some(before) => {
                                // What is gone of one is found by itself; a mark on it would be its task's.
                                if !same {
                                    self.folder(&path, false, stat.st_mode & 0o777);
                                }
                                before.folders.insert(path.clone());
                            }
                        }
                        open.push((Dir::new(child)?, format!("{path}/")));
                    }
                    Err(Errno::NOENT) => {}
                    Err(Errno::ACCESS) => self.leave_out(&path, "it is closed"),
                    Err(errno) => return Err(errno.into()),
                },
                FileType::RegularFile | FileType::Symlink if same => {}
                FileType::RegularFile => {
                    self.put(path, LayerEntry::File(LayerFile::of(layer, &stat)));
                }
                FileType::Symlink => self.link(layer, parent, name, path)?,
                FileType::CharacterDevice if stat.st_rdev == 0 && before.is_none() => {
                    self.put(path, LayerEntry::Removed);
                }
                _ => self.leave_out(&path, "it is neither a file nor a folder"),
            }
        }
        for path in before.iter().flat_map(Before::gone) {
            self.put(path.clone(), LayerEntry::Removed);
        }
        Ok(())
    }

    /// Another name is looked at, if that is not too many.
    fn count(&mut self, bytes: usize) -> Result<(), ScanError> {
        self.seen = (self.seen.0 + 1, self.seen.1 + bytes);
        let fits = self.seen.0 <= MAX_ENTRIES && self.seen.1 <= MAX_PATHS_BYTES;
        if fits { Ok(()) } else { Err(ScanError::TooMuch) }
    }

    fn link(
        &mut self,
        layer: usize,
        parent: BorrowedFd<'_>,
        name: &CStr,
        path: String,
    ) -> Result<(), ScanError> {
        let to = match rustix::fs::readlinkat(parent, name, Vec::new()) {
            Err(Errno::NOENT) => return Ok(()),
            to => to?,
        };
        match to.to_str() {
            Ok(to) if stays_inside(&path, to) => {
                self.put(path, LayerEntry::Link { layer, to: to.to_owned() });
            }
            _ => self.leave_out(&path, "it is a link that leads out of the chat's files"),
        }
        Ok(())
    }

    /// Something takes a place whole: what older layers have there, and below, is gone.
    fn put(&mut self, path: String, found: LayerEntry) {
        self.forget_below(&path);
        self.entries.insert(path, found);
    }

    fn folder(&mut self, path: &str, opaque: bool, mode: u32) {
        let before = self.entries.get(path);
        let was_folder = match before {
            Some(LayerEntry::Folder { opaque, .. }) => Some(*opaque),
            Some(LayerEntry::Removed | LayerEntry::File(_) | LayerEntry::Link { .. }) => Some(true),
            None => None,
        };
        if opaque {
            self.forget_below(path);
        }
        let opaque = opaque || was_folder.unwrap_or(false);
        self.entries.insert(path.to_owned(), LayerEntry::Folder { opaque, mode });
    }

    fn forget_below(&mut self, path: &str) {
        let below = format!("{path}/");
        let gone: Vec<String> = self
            .entries
            .range(below.clone()..)
            .map(|(path, _)| path)
            .take_while(|path| path.starts_with(&below))
            .cloned()
            .collect();
        for path in gone {
            self.entries.remove(&path);
        }
    }

    fn leave_out(&mut self, path: &str, why: &str) {
        self.forget_below(path);
        self.entries.remove(path);
        self.left_out.push(LeftOut { path: path.to_owned(), why: why.to_owned() });
    }
}

/// The path of a name, if it can be shown as it is.
pub(super) fn named(within: &str, name: &CStr) -> Result<String, LeftOut> {
    let shown = format!("{within}{}", name.to_string_lossy());
    let refuse = |why: &str| {
        let path = legible(&shown).chars().take(200).collect();
        Err(LeftOut { path, why: why.to_owned() })
    };
    let Ok(name) = name.to_str() else { return refuse("its name is no text") };
    let path = format!("{within}{name}");
    if legible(name) != name || name.contains(['\n', '\t']) {
        return refuse("its name has characters that nobody sees");
    }
    if path.len() > MAX_PATH_BYTES {
        return refuse("its path is too long");
    }
    if name.starts_with(HALF) {
        return refuse("its name is one of those that landings use");
    }
    Ok(path)
}

/// Whether a link at this path ends up beneath the chat's files, whatever other links it goes through: it goes up
/// only where it begins, from its own folder, and no higher than the files are.
fn stays_inside(path: &str, to: &str) -> bool {
    if to.starts_with('/') || to.is_empty() || legible(to) != to {
        return false;
    }
    let mut parts = to.split('/').filter(|part| !part.is_empty() && *part != ".").peekable();
    let mut up = 0;
    while parts.next_if_eq(&"..").is_some() {
        up += 1;
    }
    up < path.split('/').count() && parts.all(|part| part != "..")
}

fn open_folder(
    parent: BorrowedFd<'_>,
    name: &CStr,
    (mode, closed): (u32, Closed),
) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if mode & 0o700 != 0o700 && closed == Closed::Open {
        // Closed to itself, to read or for what is in it to be moved: opened by its descriptor, as the name could be
        // another's by now.
        let folder = rustix::fs::openat(parent, name, flags | OFlags::PATH, Mode::empty())?;
        rustix::fs::chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), Mode::RWXU)?;
    }
    rustix::fs::openat(parent, name, flags | OFlags::RDONLY, Mode::empty())
}

pub(super) fn is_opaque(folder: &OwnedFd) -> bool {
    let mut value = [0_u8; 4];
    let read = rustix::fs::fgetxattr(folder.as_fd(), OPAQUE, &mut value[..]);
    read.is_ok_and(|length| value.get(..length) == Some(b"y".as_slice()))
}
