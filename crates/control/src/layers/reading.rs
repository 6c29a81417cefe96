//! A file as a task sees it: in its layer, or below.

use std::fs::File;
use std::io;
use std::path::Path;

use cloister_store::tasks::Task;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::Layers;
use super::place::{LayerPlace, Sheet};
use crate::error::Fault;
use crate::files::{FileError, RelPath, Tree};

/// What one folder says of a path.
enum Look {
    Here,
    Removed,
    /// Whatever is below it shows.
    Below,
}

impl Layers {
    /// Opens a file that a task has, by its path in the chat's files; none if the layer says nothing of it.
    pub(crate) async fn read(
        &self,
        task: &Task,
        path: &RelPath,
    ) -> Result<Option<File>, FileError> {
        let failed = |source: io::Error| FileError::Io { path: path.as_str().to_owned(), source };
        let place = LayerPlace::of(self.control.layout(), task.workspace);
        let over = self.below(&place, task).await;
        let over =
            over.map_err(|fault: Fault| failed(io::Error::other(fault.chain().to_string())))?;
        let gone = || FileError::NotFound { path: path.as_str().to_owned() };
        for sheet in over {
            let upper = match sheet {
                // A copy has everything.
                Sheet::Copy { files, .. } => {
                    return Tree::open(&files).map_err(failed)?.read(path).map(Some);
                }
                Sheet::Overlay(upper) => upper,
            };
            match look(&upper, path.as_str()).map_err(failed)? {
                Look::Here => return Tree::open(&upper).map_err(failed)?.read(path).map(Some),
                Look::Removed => return Err(gone()),
                Look::Below => {}
            }
        }
        Ok(None)
    }
}

fn look(upper: &Path, path: &str) -> io::Result<Look> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = match rustix::fs::open(upper, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(Look::Below),
        root => root?,
    };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let mut missing = Look::Below;
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    for end in ends {
        let part = path.get(..end).unwrap_or(path);
        let found = match rustix::fs::openat2(
            &root,
            part,
            OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
            resolve,
        ) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(missing),
            found => found?,
        };
        let stat = rustix::fs::statat(&found, "", AtFlags::EMPTY_PATH)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::CharacterDevice if stat.st_rdev == 0 => return Ok(Look::Removed),
            FileType::Directory if end < path.len() => {
                let opened = rustix::fs::openat2(&root, part, flags, Mode::empty(), resolve);
                if opened.is_ok_and(|folder| super::scan::is_opaque(&folder)) {
                    missing = Look::Removed;
                }
            }
            _ if end < path.len() => return Ok(Look::Removed),
            _ => return Ok(Look::Here),
        }
    }
    Ok(missing)
}
