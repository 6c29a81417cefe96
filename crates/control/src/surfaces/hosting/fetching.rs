//! Files that people send: fetched from the platform into a chat, in bounded time and size, and given up when they
//! can't be had for long.

use std::fmt::Display;
use std::future::Future;
use std::time::Duration;

use cloister_protocol::{Attachment, ErrorCode};
use tokio::time::timeout;

use super::memory::Patience;
use crate::control::Control;
use crate::error::ControlError;
use crate::people::Speaker;
use crate::surfaces::words::{megabytes, short};
use crate::uploads::Upload;

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
    /// Control does not take it.
    Control(ControlError),
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
pub fn given_up(name: &str, platform: &str) -> ControlError {
    let name = short(name, 100);
    ControlError::with_fix(
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

/// A file on its way in, and how much of it may come.
pub struct Taking {
    name: String,
    most: u64,
    taken: u64,
    upload: Upload,
}

impl Taking {
    /// Begun when the platform has answered: what is never answered leaves nothing behind.
    pub async fn begin(
        control: &Control,
        speaker: &Speaker,
        (name, most): (&str, u64),
    ) -> Result<Self, NotFetched> {
        let upload = control.upload(speaker.user, (speaker.workspace, speaker.chat), name).await;
        let upload = upload.map_err(NotFetched::Control)?;
        Ok(Self { name: name.to_owned(), most, taken: 0, upload })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn take(&mut self, piece: &[u8]) -> Result<(), NotFetched> {
        self.taken = self.taken.saturating_add(piece.len() as u64);
        if self.taken > self.most {
            return Err(NotFetched::too_large(&self.name, None, self.most));
        }
        self.upload.write(piece).map_err(NotFetched::Control)
    }

    pub async fn finish(self) -> Result<Attachment, NotFetched> {
        self.upload.finish().await.map_err(NotFetched::Control)
    }
}
