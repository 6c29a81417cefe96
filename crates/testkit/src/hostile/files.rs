//! The sandbox's files: what can be seen in them, and what can be planted.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// How many folders are looked into, and how much of a file.
const MOST_FOLDERS: usize = 5_000;
const MOST_BYTES: u64 = 1 << 20;

/// Not looked into: what every sandbox has of the system.
const SYSTEM: [&str; 9] =
    ["/proc", "/sys", "/usr", "/lib", "/lib64", "/bin", "/sbin", "/dev", "/etc"];

/// Every file that holds the word, or whose name says that it is a journal.
pub(super) fn seen(word: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from("/")];
    let mut looked = 0;
    while let Some(folder) = folders.pop() {
        looked += 1;
        if looked > MOST_FOLDERS {
            break;
        }
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                if !SYSTEM.iter().any(|system| path.starts_with(system)) {
                    folders.push(path);
                }
            } else if holds(&path, word) || is_journal(&path) {
                found.push(path.display().to_string());
            }
        }
    }
    found.sort();
    found
}

fn is_journal(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("history.db"))
}

fn holds(path: &Path, word: &str) -> bool {
    let small = fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= MOST_BYTES);
    let bytes = if small { fs::read(path).unwrap_or_default() } else { Vec::new() };
    bytes.windows(word.len()).any(|window| window == word.as_bytes())
}

/// Places that can be written to, of those that should not be.
pub(super) fn writable() -> Vec<String> {
    let places = [
        "/workspace",
        "/workspace/chats",
        "/workspace/skills",
        "/workspace/MEMORY.md",
        "/workspace/SOUL.md",
        "/run/cloister",
        "/usr",
        "/etc",
    ];
    let writes = |place: &&str| {
        let path = Path::new(place);
        if path.is_dir() {
            let probe = path.join("hostile-probe");
            let wrote = fs::write(&probe, "x").is_ok();
            drop(fs::remove_file(&probe));
            wrote
        } else {
            path.exists() && fs::OpenOptions::new().append(true).open(path).is_ok()
        }
    };
    places.into_iter().filter(writes).map(str::to_owned).collect()
}

/// Plants links in a folder of the agent's own; their names.
pub(super) fn plant(folder: &Path, targets: &[String]) -> Vec<String> {
    let mut planted = Vec::new();
    for (number, target) in targets.iter().enumerate() {
        let name = format!("link-{number}");
        if symlink(target, folder.join(&name)).is_ok() {
            planted.push(name);
        }
        let hard = format!("hard-{number}");
        if fs::hard_link(target, folder.join(&hard)).is_ok() {
            planted.push(hard);
        }
    }
    planted
}
