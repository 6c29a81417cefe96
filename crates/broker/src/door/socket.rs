//! The socket file of a door.

use std::fs::{File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use cloister_protocol::with_causes;
use tokio::net::UnixListener;

/// A socket file; dropping it removes it.
pub(crate) struct Socket {
    path: PathBuf,
}

impl Socket {
    /// Listens at `path`, in place of a socket that a killed control plane left there.
    pub(crate) fn listen(path: PathBuf) -> io::Result<(UnixListener, Self)> {
        let wrong = |what| io::Error::new(io::ErrorKind::InvalidInput, what);
        let dir = path.parent().ok_or_else(|| wrong("a door's socket needs a directory"))?;
        let name = path.file_name().ok_or_else(|| wrong("a door's socket needs a name"))?;
        remove(&path)?;
        // An address has room for 107 bytes only. Through the directory's descriptor it is short
        // wherever the data directory is.
        let dir = File::open(dir)?;
        let short = Path::new("/proc/self/fd").join(dir.as_raw_fd().to_string()).join(name);
        let listener = std::os::unix::net::UnixListener::bind(short)?;
        let socket = Self { path };
        // The sandbox runs under another uid. Who can reach the socket at all is decided by its
        // directory, which is private, and by the mount.
        std::fs::set_permissions(&socket.path, Permissions::from_mode(0o666))?;
        listener.set_nonblocking(true)?;
        Ok((UnixListener::from_std(listener)?, socket))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.path) {
            tracing::warn!(error = with_causes(&error), socket = %self.path.display(), "a door's socket was not removed");
        }
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
