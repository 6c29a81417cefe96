//! The regular files below a folder, found through descriptors, links not followed.

use std::collections::VecDeque;

use rustix::fs::{Dir, FileType, Mode, OFlags};

use super::{FileError, RelPath, Tree, shown};

/// How deep folders are followed.
const MAX_DEPTH: usize = 16;

impl Tree {
    /// At most so many files below a folder, in no particular order; none if there is no such folder.
    pub(crate) fn files_below(
        &self,
        folder: &RelPath,
        most: usize,
    ) -> Result<Vec<RelPath>, FileError> {
        let (mut files, mut folders) = (Vec::new(), VecDeque::from([(folder.clone(), 0)]));
        while let Some((folder, depth)) = folders.pop_front() {
            let failed = |errno: rustix::io::Errno| FileError::Io {
                path: shown(folder.as_str()),
                source: errno.into(),
            };
            let flags = OFlags::RDONLY | OFlags::DIRECTORY;
            let opened = match self.open_beneath(&folder, flags, Mode::empty()) {
                Ok(opened) => opened,
                Err(FileError::NotFound { .. } | FileError::Refused { .. }) => continue,
                Err(error) => return Err(error),
            };
            for entry in Dir::new(opened).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let Ok(name) = entry.file_name().to_str() else { continue };
                let path = RelPath(format!("{}/{name}", folder.as_str()));
                match entry.file_type() {
                    _ if name == "." || name == ".." => {}
                    FileType::Directory if depth < MAX_DEPTH => {
                        folders.push_back((path, depth + 1))
                    }
                    FileType::RegularFile if files.len() < most => files.push(path),
                    _ => {}
                }
            }
        }
        Ok(files)
    }
}
