//! Files that hold keys, and files that are replaced whole.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::error::VaultError;

/// Creates a file that only its owner may read. It appears whole, with its bytes on disk, and never in place
/// of one that is there.
pub fn create_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = write_beside(path, bytes)?;
    let linked = std::fs::hard_link(&beside, path);
    std::fs::remove_file(&beside)?;
    linked?;
    sync_parent(path)
}

/// Replaces a file in one step: whoever looks, now or after a power cut, sees the old bytes or the new.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    std::fs::rename(write_beside(path, bytes)?, path)?;
    sync_parent(path)
}

/// Makes the names in a folder durable.
pub fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Refuses a key file that others may read.
pub fn require_private(path: &Path, what: &'static str) -> Result<(), VaultError> {
    let meta = std::fs::metadata(path).map_err(|source| VaultError::File {
        what,
        tried: "looked at",
        path: path.to_owned(),
        source,
    })?;
    let mode = meta.mode() & 0o777;
    if mode & 0o077 == 0 {
        Ok(())
    } else {
        Err(VaultError::Exposed { what, path: path.to_owned(), mode })
    }
}

fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_dir(parent),
        _ => sync_dir(Path::new(".")),
    }
}

/// Writes the bytes next to where they belong; what an interrupted write left there is replaced.
fn write_beside(path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".writing");
    let beside = path.with_file_name(name);
    match std::fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(beside)
}
