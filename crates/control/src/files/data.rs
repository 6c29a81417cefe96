//! Copying what is in a file: shared with the original where the file system can, else what is written in it and not
//! its holes.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use rustix::fs::SeekFrom as Find;
use rustix::io::Errno;

/// Makes an empty file say what another does, with at most so many bytes of its own; how many they are, none if that
/// would be more.
pub(crate) fn copy_data(from: &File, to: &File, most: u64) -> io::Result<Option<u64>> {
    if rustix::fs::ioctl_ficlone(to, from).is_ok() {
        return Ok(Some(0));
    }
    let length = from.metadata()?.len();
    to.set_len(length)?;
    let (mut at, mut left) = (0, most);
    while at < length {
        let start = match rustix::fs::seek(from, Find::Data(at)) {
            // Nothing but a hole from here.
            Err(Errno::NXIO) => break,
            // The file system knows of no holes.
            Err(Errno::INVAL) => at,
            start => start?,
        };
        let end = match rustix::fs::seek(from, Find::Hole(start)) {
            Err(Errno::NXIO | Errno::INVAL) => length,
            end => end?.min(length),
        };
        let data = end.saturating_sub(start);
        if data > left {
            return Ok(None);
        }
        let (mut reader, mut writer) = (from, to);
        reader.seek(SeekFrom::Start(start))?;
        writer.seek(SeekFrom::Start(start))?;
        io::copy(&mut reader.take(data), &mut writer)?;
        left -= data;
        at = end.max(start + 1);
    }
    Ok(Some(most - left))
}
