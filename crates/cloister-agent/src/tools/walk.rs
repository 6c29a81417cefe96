//! Goes through the files below a folder, within bounds and without following links.

use std::fs;
use std::path::{Path, PathBuf};

const MAX_ENTRIES: usize = 50_000;
const MAX_DEPTH: usize = 40;

/// Whether everything was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WalkSeen {
    All,
    /// There was too much; the rest was not looked at.
    Part,
}

/// Calls `visit` for every file and folder below `root`, in order of names, until it returns false.
pub(super) fn walk(root: &Path, mut visit: impl FnMut(&Path, fs::FileType) -> bool) -> WalkSeen {
    let mut left = MAX_ENTRIES;
    let mut folders: Vec<(PathBuf, usize)> = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        // A folder that can't be read is passed over.
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        let mut entries: Vec<_> = entries.flatten().take(left + 1).collect();
        if entries.len() > left {
            return WalkSeen::Part;
        }
        left -= entries.len();
        entries.sort_by_key(fs::DirEntry::file_name);
        let mut below = Vec::new();
        for entry in entries {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if !visit(&path, kind) {
                return WalkSeen::Part;
            }
            if kind.is_dir() && depth < MAX_DEPTH {
                below.push((path, depth + 1));
            }
        }
        folders.extend(below.into_iter().rev());
    }
    WalkSeen::All
}
