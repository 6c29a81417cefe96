//! Files that people send: fetched from the platform into a chat, in bounded time and size, and given up when they
//! can't be had for long.

use std::fmt::Display;
use std::future::Future;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cloister_protocol::surface::{BeginFile, DropFile, EndFile, Speaker, WriteFile};
use cloister_protocol::{Attachment, ErrorCode};
use futures_util::{Stream, StreamExt};
use tokio::time::timeout;

use crate::error::PlaneError;
use crate::memory::Patience;
use crate::plane::Plane;
use crate::words::{megabytes, short};

/// How long a platform may take to begin with a file: what comes after the file waits for that. It may have to fetch the
/// file from elsewhere first, and goes on with that.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// How long the next piece of a file may take.
const PIECE_WITHIN: Duration = Duration::from_secs(60);
/// How long a whole file may take.
const FILE_WITHIN: Duration = Duration::from_secs(15 * 60);

/// Why a file is not there.
#[derive(Debug)]
pub enum NotFetched {
    /// It may be had later; how much patience that costs.
    Passing { why: String, patience: u32 },
    /// It is never taken; what to say.
    Never(String),
    /// The control plane does not take it.
    Plane(PlaneError),
}

impl NotFetched {
    pub fn passing(why: impl Display, patience: u32) -> Self {
        Self::Passing { why: why.to_string(), patience }
    }

    pub fn too_large(name: &str, size: Option<u64>, most: u64) -> Self {
        let (name, most) = (short(name, 100), megabytes(most));
        let size = size.map(|size| format!(" ({})", megabytes(size))).unwrap_or_default();
        Self::Never(format!(
            "The file `{name}`{size} is larger than the {most} that I take here. Send a smaller one, or a part of it."
        ))
    }
}

/// What is said when a file could not be had for a long time.
pub fn given_up(name: &str, platform: &str) -> PlaneError {
    let name = short(name, 100);
    PlaneError::with_fix(
        ErrorCode::NotFound,
        format!("the file `{name}` could not be fetched from {platform}"),
        "send it again",
    )
}

/// The first answer about a file.
pub async fn answer<T>(step: impl Future<Output = Result<T, NotFetched>>) -> Result<T, NotFetched> {
    let late = |late| NotFetched::passing(late, Patience::SOME);
    timeout(ANSWER_WITHIN, step).await.map_err(late)?
}

/// One step of fetching a file: the next piece.
pub async fn piece<T>(step: impl Future<Output = Result<T, NotFetched>>) -> Result<T, NotFetched> {
    let late = |late| NotFetched::passing(late, Patience::MUCH);
    timeout(PIECE_WITHIN, step).await.map_err(late)?
}

/// All of it.
pub async fn whole<T>(
    fetching: impl Future<Output = Result<T, NotFetched>>,
) -> Result<T, NotFetched> {
    let late = |late| NotFetched::passing(late, Patience::MUCH);
    timeout(FILE_WITHIN, fetching).await.map_err(late)?
}

/// Writes down all that comes, piece by piece: never more of it in memory than one.
pub async fn take_all<P: AsRef<[u8]>, E: Display>(
    pieces: impl Stream<Item = Result<P, E>>,
    mut taking: Taking,
) -> Result<Attachment, NotFetched> {
    let mut pieces = std::pin::pin!(pieces);
    loop {
        let next = piece(async {
            let next = pieces.next().await.transpose();
            next.map_err(|error| NotFetched::passing(error, Patience::SOME))
        });
        match next.await? {
            Some(bytes) => taking.take(bytes.as_ref()).await?,
            None => return taking.finish().await,
        }
    }
}

/// How much of a file is handed over at once.
const AT_ONCE: usize = 256 << 10;

/// A file on its way in, and how much of it may come. Dropped before its end, nothing of it stays.
pub struct Taking {
    plane: Plane,
    file: Option<u64>,
    name: String,
    most: u64,
    taken: u64,
    waiting: Vec<u8>,
}

impl Taking {
    /// Begun when the platform has answered: what is never answered leaves nothing behind.
    pub async fn begin(
        plane: &Plane,
        speaker: &Speaker,
        (name, most): (&str, u64),
    ) -> Result<Self, NotFetched> {
        let begin = BeginFile { speaker: speaker.clone(), name: name.to_owned() };
        let file = plane.call(begin).await.map_err(NotFetched::Plane)?;
        Ok(Self {
            plane: plane.clone(),
            file: Some(file),
            name: name.to_owned(),
            most,
            taken: 0,
            waiting: Vec::new(),
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub async fn take(&mut self, piece: &[u8]) -> Result<(), NotFetched> {
        self.taken = self.taken.saturating_add(piece.len() as u64);
        if self.taken > self.most {
            return Err(NotFetched::too_large(&self.name, None, self.most));
        }
        for part in piece.chunks(AT_ONCE) {
            self.waiting.extend_from_slice(part);
            if self.waiting.len() >= AT_ONCE {
                self.hand_over().await?;
            }
        }
        Ok(())
    }

    async fn hand_over(&mut self) -> Result<(), NotFetched> {
        let Some(file) = self.file else { return Ok(()) };
        let data = STANDARD.encode(std::mem::take(&mut self.waiting));
        self.plane.call(WriteFile { file, data }).await.map_err(NotFetched::Plane)
    }

    pub async fn finish(mut self) -> Result<Attachment, NotFetched> {
        self.hand_over().await?;
        let Some(file) = self.file.take() else { return Err(given_up(&self.name, "it").into()) };
        self.plane.call(EndFile { file }).await.map_err(NotFetched::Plane)
    }
}

impl From<PlaneError> for NotFetched {
    fn from(error: PlaneError) -> Self {
        Self::Plane(error)
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        if let Some(file) = self.file {
            self.plane.tell(DropFile { file });
        }
    }
}
