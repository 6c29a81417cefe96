//! What a test looks at of the machine itself: files, and everybody's command line.

use std::path::{Path, PathBuf};

/// The files below a directory that hold these words.
///
/// # Panics
/// When one can't be read.
pub fn files_with(dir: &Path, words: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            let kind = entry.file_type();
            let kind = kind.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            if kind.is_dir() {
                dirs.push(path);
            } else if kind.is_file() && holds(&std::fs::read(&path).unwrap_or_default(), words) {
                found.push(path);
            }
        }
    }
    found
}

/// Every command line of this machine.
pub fn command_lines() -> String {
    running().map(|(_, line)| String::from_utf8_lossy(&line).into_owned()).collect()
}

/// The processes of this machine whose command line holds these words.
pub fn processes_with(words: &str) -> Vec<u32> {
    running().filter(|(_, line)| holds(line, words)).map(|(pid, _)| pid).collect()
}

fn running() -> impl Iterator<Item = (u32, Vec<u8>)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, std::fs::read(entry.path().join("cmdline")).ok()?))
    })
}

fn holds(bytes: &[u8], words: &str) -> bool {
    bytes.windows(words.len().max(1)).any(|window| window == words.as_bytes())
}
