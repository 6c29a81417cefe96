//! Copying a folder of a tree into another folder of it, through descriptors.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;

use rustix::fs::{Mode, OFlags};

use super::{FileError, RelPath, Tree, shown};

/// More files than this are not copied.
const MOST_FILES: usize = 10_000;

/// What became of copying.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CopiedFolder {
    pub(crate) bytes: u64,
    /// Files that are none, or are more than were to be copied.
    pub(crate) left_out: usize,
}

impl Tree {
    /// Copies the regular files below one folder to below another, at most so many bytes, and hands each to `made`.
    /// What is there already is written anew; links are neither copied nor followed.
    pub(crate) fn copy_folder(
        &self,
        from: &RelPath,
        to: &RelPath,
        most: u64,
        mut made: impl FnMut(&File) -> io::Result<()>,
    ) -> Result<CopiedFolder, FileError> {
        let mut copied = CopiedFolder::default();
        let mut folders = BTreeSet::new();
        let mut files = self.files_below(from, MOST_FILES + 1)?;
        if files.len() > MOST_FILES {
            copied.left_out += files.len() - MOST_FILES;
            files.truncate(MOST_FILES);
        }
        for path in files {
            let below = path.as_str().strip_prefix(from.as_str()).unwrap_or_default();
            let target = RelPath::parse(&format!("{}{below}", to.as_str()))?;
            for folder in target.folders() {
                let is_new = folder.as_str().len() > to.as_str().len();
                if is_new && folders.insert(folder.as_str().to_owned()) {
                    let dir = self.make_dir(&folder)?;
                    made(&dir).map_err(|source| failed(&folder, source))?;
                }
            }
            match self.copy_file((&path, &target), most - copied.bytes, &mut made) {
                Ok(Some(bytes)) => copied.bytes += bytes,
                Ok(None) | Err(FileError::Refused { .. } | FileError::NotFound { .. }) => {
                    copied.left_out += 1;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(copied)
    }

    /// Takes away the files below a folder that nobody uses yet.
    pub(crate) fn empty_folder(&self, folder: &RelPath) -> Result<(), FileError> {
        for file in self.files_below(folder, MOST_FILES)? {
            self.remove(&file)?;
        }
        Ok(())
    }

    /// How long the copy is; none if that would be too much.
    fn copy_file(
        &self,
        (from, to): (&RelPath, &RelPath),
        most: u64,
        made: &mut impl FnMut(&File) -> io::Result<()>,
    ) -> Result<Option<u64>, FileError> {
        let source = self.read(from)?;
        let about = source.metadata().map_err(|error| failed(from, error))?;
        if about.len() > most {
            return Ok(None);
        }
        // Whoever wrote it could run it: so can who has the copy.
        let mode = 0o600 | about.permissions().mode() & 0o100;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
        let mut target = File::from(self.open_beneath(to, flags, Mode::from_raw_mode(mode))?);
        let copy = io::copy(&mut source.take(most), &mut target).and_then(|bytes| {
            target.sync_all()?;
            made(&target)?;
            Ok(bytes)
        });
        copy.map(Some).map_err(|error| failed(to, error))
    }
}

fn failed(path: &RelPath, source: io::Error) -> FileError {
    FileError::Io { path: shown(path.as_str()), source }
}

#[cfg(test)]
#[path = "copying_tests.rs"]
mod tests;
