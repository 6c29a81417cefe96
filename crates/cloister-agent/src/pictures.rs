//! Pictures of a chat, as a model is shown them.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::fs::{Mode, OFlags};

/// The largest picture that is shown.
const MAX_BYTES: u64 = 4 << 20;

/// What the files of each kind begin with.
const KINDS: [(&[u8], &str); 4] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
];

/// A picture inside `root`, as a `data:` URL of what it says it is.
pub(crate) fn with_type(root: &Path, path: &Path, mime: &str) -> io::Result<String> {
    let bytes = read(root, path)?;
    Ok(format!("data:{mime};base64,{}", STANDARD.encode(bytes)))
}

/// The same, of what its bytes say it is.
pub(crate) fn data_url(root: &Path, path: &Path) -> io::Result<String> {
    let bytes = read(root, path)?;
    let kind = KINDS.iter().find(|(begins, _)| bytes.starts_with(begins));
    let (_, mime) =
        kind.ok_or_else(|| io::Error::other("it is no PNG, JPEG, GIF or WebP picture"))?;
    Ok(format!("data:{mime};base64,{}", STANDARD.encode(bytes)))
}

fn read(root: &Path, path: &Path) -> io::Result<Vec<u8>> {
    let bytes = read_inside(root, path, MAX_BYTES + 1)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it is larger than {} MB", MAX_BYTES >> 20)));
    }
    Ok(bytes)
}

/// At most `max` bytes of a regular file inside `root`; follows no link on the way and never waits
/// for a pipe.
pub(crate) fn read_inside(root: &Path, path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut at = open(rustix::fs::CWD, root, OFlags::DIRECTORY)?;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else {
            return Err(io::Error::other("its path leaves the workspace"));
        };
        let kind = if parts.peek().is_some() { OFlags::DIRECTORY } else { OFlags::empty() };
        at = open(at, Path::new(name), kind | OFlags::NOFOLLOW)?;
    }
    let file = File::from(at);
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    // Room for the end of the file, so that one read finds it.
    let room = usize::try_from(meta.len().min(max)).unwrap_or_default() + 32;
    let mut bytes = Vec::with_capacity(room);
    file.take(max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn open(folder: impl AsFd, name: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(rustix::fs::openat(folder, name, flags, Mode::empty())?)
}
