//! Files on their way between a connector and a chat: bounded in number, closed when the connector goes. What a
//! connector takes back is what it has brought itself and no message has.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cloister_protocol::surface::{AnyCall, FileToSend};
use cloister_protocol::{Attachment, WorkspaceId};

use super::{Done, SurfaceDesk, answer, not_found};
use crate::error::Fault;
use crate::inbox::{Download, Upload};
use crate::surfaces::{SurfaceError, SurfaceRefusal};

/// How many files may be on their way in at once.
pub(super) const MOST_COMING: usize = 64;
/// How many of those that came are known to be of no message yet; the oldest stays for good.
const MOST_LOOSE: usize = 1024;
/// When another may be tried.
const FILES_AGAIN: Duration = Duration::from_secs(5);
/// How much of a file is read at once.
const PIECE: usize = 256 << 10;

#[derive(Default)]
pub(super) struct OpenFiles {
    coming: Mutex<HashMap<u64, Coming>>,
    going: Mutex<HashMap<u64, Arc<File>>>,
    /// Where files are that the connectors brought and that no message has: those alone may they take back.
    loose: Mutex<VecDeque<(WorkspaceId, String)>>,
    last: AtomicU64,
}

/// A file on its way in. Its place is taken before there is anything of it.
enum Coming {
    Soon,
    File(Box<ComingFile>),
}

struct ComingFile {
    into: WorkspaceId,
    upload: Upload,
}

/// A place among the files on their way in, which is free again if nothing is put there.
struct Place<'a> {
    files: &'a OpenFiles,
    number: u64,
}

impl Place<'_> {
    /// The file's number, unless the connector has gone meanwhile.
    fn put(self, file: ComingFile) -> Option<u64> {
        let mut coming = self.files.coming();
        *coming.get_mut(&self.number)? = Coming::File(Box::new(file));
        Some(self.number)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut coming = self.files.coming();
        if matches!(coming.get(&self.number), Some(Coming::Soon)) {
            coming.remove(&self.number);
        }
    }
}

impl OpenFiles {
    fn coming(&self) -> MutexGuard<'_, HashMap<u64, Coming>> {
        self.coming.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for one more; none: there are as many as may be.
    fn place(&self) -> Option<Place<'_>> {
        let number = self.number();
        let mut coming = self.coming();
        if coming.len() >= MOST_COMING {
            return None;
        }
        coming.insert(number, Coming::Soon);
        Some(Place { files: self, number })
    }

    fn take(&self, number: u64) -> Option<ComingFile> {
        let mut coming = self.coming();
        match coming.remove(&number)? {
            Coming::File(file) => Some(*file),
            // Nobody was told its number yet.
            soon @ Coming::Soon => {
                coming.insert(number, soon);
                None
            }
        }
    }

    fn going(&self) -> MutexGuard<'_, HashMap<u64, Arc<File>>> {
        self.going.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn number(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }

    fn loose(&self) -> MutexGuard<'_, VecDeque<(WorkspaceId, String)>> {
        self.loose.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn came(&self, into: WorkspaceId, file: &Attachment) {
        let mut loose = self.loose();
        if loose.len() >= MOST_LOOSE {
            loose.pop_front();
        }
        loose.push_back((into, file.path.clone()));
    }

    /// Whether it was one that no message has; it is none any more.
    pub(super) fn take_loose(&self, into: WorkspaceId, file: &Attachment) -> bool {
        let mut loose = self.loose();
        let known = loose.len();
        loose.retain(|(workspace, path)| (*workspace, path) != (into, &file.path));
        loose.len() < known
    }

    pub(super) fn close(&self) {
        self.coming().clear();
        self.going().clear();
        self.loose().clear();
    }
}

/// A file that can be read as long as this lives.
pub(in crate::surfaces) struct Lent {
    desk: Arc<SurfaceDesk>,
    file: u64,
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.desk.files.going().remove(&self.file);
    }
}

impl SurfaceDesk {
    /// Lets the connectors read a file that is to be sent.
    pub(in crate::surfaces) fn lend(
        self: &Arc<Self>,
        download: &Download,
    ) -> std::io::Result<(FileToSend, Lent)> {
        let file = self.files.number();
        self.files.going().insert(file, Arc::new(download.file.try_clone()?));
        let lent = Lent { desk: Arc::clone(self), file };
        let (name, mime) = (download.name.clone(), download.mime.clone());
        Ok((FileToSend { file, name, mime, size: download.size }, lent))
    }

    pub(super) async fn about_files(&self, call: AnyCall) -> Result<Done, SurfaceError> {
        match call {
            AnyCall::BeginFile(c) => {
                let speaker = self.speaker(&c.speaker).await?;
                let too_many = SurfaceRefusal::TooManyFiles { retry_after: FILES_AGAIN };
                let place = self.files.place().ok_or(too_many)?;
                let (into, chat) = (speaker.workspace, speaker.chat);
                let upload =
                    self.control.inbox().upload(speaker.user, (into, chat), &c.name).await?;
                let file = place.put(ComingFile { into, upload }).ok_or_else(not_found)?;
                Ok(answer(&c, file)?)
            }
            AnyCall::WriteFile(c) => {
                let bytes = STANDARD.decode(&c.data).map_err(SurfaceRefusal::NoBytes)?;
                let mut coming = self.files.coming();
                let Some(Coming::File(file)) = coming.get_mut(&c.file) else {
                    return Err(not_found());
                };
                let written = file.upload.write(&bytes);
                drop(coming);
                Ok(answer(&c, written?)?)
            }
            AnyCall::EndFile(c) => {
                let ComingFile { into, upload } = self.files.take(c.file).ok_or_else(not_found)?;
                let kept = upload.finish().await?;
                self.files.came(into, &kept);
                Ok(answer(&c, kept)?)
            }
            AnyCall::DropFile(c) => {
                drop(self.files.take(c.file));
                Ok(answer(&c, ())?)
            }
            AnyCall::DiscardFile(c) => {
                if !self.files.take_loose(c.workspace, &c.attachment) {
                    return Err(not_found());
                }
                self.control.inbox().discard_upload(c.workspace, &c.attachment);
                Ok(answer(&c, ())?)
            }
            AnyCall::ReadFile(c) => {
                let file = self.files.going().get(&c.file).cloned().ok_or_else(not_found)?;
                let from = c.from;
                let failed = "a file to be sent could not be read";
                let piece = tokio::task::spawn_blocking(move || piece_of(&file, from))
                    .await
                    .map_err(Fault::interrupted(failed))?
                    .map_err(Fault::io(failed))?;
                Ok(answer(&c, STANDARD.encode(piece))?)
            }
            other => Ok(Done::NotMine(Box::new(other))),
        }
    }
}

fn piece_of(file: &File, from: u64) -> std::io::Result<Vec<u8>> {
    let mut piece = vec![0; PIECE];
    let mut read = 0;
    while let Some(rest) = piece.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, from.saturating_add(read as u64))? {
            0 => break,
            more => read += more,
        }
    }
    piece.truncate(read);
    Ok(piece)
}
