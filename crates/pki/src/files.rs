//! Files that only this account can read, replaced whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::error::PkiError;

/// The largest file that is read.
const MAX_BYTES: u64 = 64 << 10;

pub(crate) fn create_dir(path: &Path) -> Result<(), PkiError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(failed("made", path))
}

/// Writes a file with mode 0600; whoever looks sees the old content or the new.
pub fn write_private(path: &Path, content: &[u8]) -> Result<(), PkiError> {
    let dir = path.parent().unwrap_or_else(|| Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = dir.join(format!(".{name}.new"));
    write_synced(&new, content).map_err(failed("written", &new))?;
    fs::rename(&new, path)
        .and_then(|()| File::open(dir)?.sync_all())
        .map_err(failed("put in place", path))
}

fn write_synced(path: &Path, content: &[u8]) -> io::Result<()> {
    match fs::remove_file(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// A file's text; none if it is not there. One that others can read holds no secret of ours.
pub(crate) fn read_private(path: &Path) -> Result<Option<String>, PkiError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("opened", path)(error)),
    };
    let mode = file.metadata().map_err(failed("looked at", path))?.permissions().mode();
    if mode & 0o077 != 0 {
        let why = format!("others can read it (mode {:o}); `chmod 600` it", mode & 0o777);
        return Err(PkiError::Corrupt { path: path.to_owned(), why });
    }
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).map_err(failed("read", path))?;
    Ok(Some(text))
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> PkiError {
    let path = path.to_owned();
    move |source| PkiError::File { what, path, source }
}
