//! What a task has done to the files of its chat, as its layer has it.
//!
//! Promises: nothing in a layer is followed or opened that its task could have put there to be; a name that people
//! can't be shown, a device, a pipe, a socket and a link that leads out are refused one by one, with what is below.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use cloister_policy::legible;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// How deep a layer is followed, and how much of it.
const MAX_DEPTH: usize = 64;
pub(super) const MAX_ENTRIES: usize = 200_000;
/// The longest path of a file that lands.
const MAX_PATH_BYTES: usize = 1024;
/// What says that nothing of before shows through a folder.
const OPAQUE: &CStr = c"user.overlay.opaque";
/// What people sent: nothing of it is changed.
const INCOMING: &CStr = c"incoming";

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

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LayerFile {
    /// In which folder of the stack.
    pub(super) layer: usize,
    pub(super) size: u64,
    /// It has other names.
    pub(super) shared: bool,
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
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ScanError {
    #[error("there is more in it than can be looked at")]
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
pub(super) fn scan(stack: &[impl AsRef<Path>]) -> Result<Scan, ScanError> {
    let mut scan = Scan::default();
    for (layer, upper) in stack.iter().enumerate() {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let root = rustix::fs::open(upper.as_ref(), flags, Mode::empty())?;
        scan.add(layer, root)?;
    }
    Ok(scan)
}

impl Scan {
    fn add(&mut self, layer: usize, root: OwnedFd) -> Result<(), ScanError> {
        let mut open = vec![(Dir::new(root)?, String::new())];
        loop {
            let is_deep = open.len() > MAX_DEPTH;
            let Some((dir, within)) = open.last_mut() else { return Ok(()) };
            let Some(entry) = dir.read() else {
                open.pop();
                continue;
            };
            let entry = entry?;
            let name = entry.file_name();
            if [c".", c".."].contains(&name) || (within.is_empty() && name == INCOMING) {
                continue;
            }
            if self.entries.len() + self.left_out.len() >= MAX_ENTRIES {
                return Err(ScanError::TooMuch);
            }
            let path = match named(within, name) {
                Ok(path) => path,
                Err(left_out) => {
                    self.left_out.push(left_out);
                    continue;
                }
            };
            let parent = dir.fd()?;
            let stat = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => {
                    if is_deep {
                        self.leave_out(&path, "it lies too deep");
                        continue;
                    }
                    let child = match open_folder(dir.fd()?, name, stat.st_mode) {
                        Ok(child) => child,
                        Err(Errno::ACCESS) => {
                            self.leave_out(&path, "it is closed");
                            continue;
                        }
                        Err(errno) => return Err(errno.into()),
                    };
                    let opaque = is_opaque(&child);
                    self.folder(&path, opaque, stat.st_mode & 0o777);
                    open.push((Dir::new(child)?, format!("{path}/")));
                }
                FileType::RegularFile => {
                    let size = u64::try_from(stat.st_size).unwrap_or_default();
                    let file = LayerFile { layer, size, shared: stat.st_nlink > 1 };
                    self.put(path, LayerEntry::File(file));
                }
                FileType::Symlink => self.link(layer, parent, name, path)?,
                FileType::CharacterDevice if stat.st_rdev == 0 => {
                    self.put(path, LayerEntry::Removed)
                }
                _ => self.leave_out(&path, "it is neither a file nor a folder"),
            }
        }
    }

    fn link(
        &mut self,
        layer: usize,
        parent: BorrowedFd<'_>,
        name: &CStr,
        path: String,
    ) -> Result<(), ScanError> {
        let to = rustix::fs::readlinkat(parent, name, Vec::new())?;
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
        self.entries.remove(path);
        self.left_out.push(LeftOut { path: path.to_owned(), why: why.to_owned() });
    }
}

/// The path of a name, if it can be shown as it is.
fn named(within: &str, name: &CStr) -> Result<String, LeftOut> {
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

fn open_folder(parent: BorrowedFd<'_>, name: &CStr, mode: u32) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(parent, name, flags | OFlags::RDONLY, Mode::empty()) {
        Err(Errno::ACCESS) if mode & 0o700 != 0o700 => {}
        opened => return opened,
    }
    // Closed to itself: opened by its descriptor, as the name could be another's by now.
    let closed = rustix::fs::openat(parent, name, flags | OFlags::PATH, Mode::empty())?;
    rustix::fs::chmod(format!("/proc/self/fd/{}", closed.as_raw_fd()), Mode::RWXU)?;
    rustix::fs::openat(parent, name, flags | OFlags::RDONLY, Mode::empty())
}

pub(super) fn is_opaque(folder: &OwnedFd) -> bool {
    let mut value = [0_u8; 4];
    let read = rustix::fs::fgetxattr(folder.as_fd(), OPAQUE, &mut value[..]);
    read.is_ok_and(|length| value.get(..length) == Some(b"y".as_slice()))
}
