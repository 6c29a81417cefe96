//! Files of people: fetched from Telegram piece by piece into the chat's `incoming/`. Never more of one in memory
//! than a piece, never more on disk than is taken.

use std::time::Duration;

use cloister_control::words::{megabytes, short};
use cloister_control::{ControlError, Speaker};
use cloister_protocol::{Attachment, ErrorCode};
use frankenstein::AsyncTelegramApi;
use frankenstein::methods::GetFileParams;
use tokio::time::timeout;

use super::content::SentFile;
use crate::telegram::bot::Bot;
use crate::telegram::session::Fault;

/// The largest file that Telegram's own server hands to a bot.
const TELEGRAM_GIVES: u64 = 20 << 20;
/// How long the next piece of a file may take.
const PIECE_WITHIN: Duration = Duration::from_secs(60);
/// How long a whole file may take.
const FILE_WITHIN: Duration = Duration::from_secs(15 * 60);
/// What it costs when Telegram can't be reached: it is not about the file.
const NO_PATIENCE: u32 = 0;
/// What it costs when Telegram does not give the file, or breaks off.
const SOME_PATIENCE: u32 = 1;
/// What it costs when the file was waited for.
const MUCH_PATIENCE: u32 = 4;
/// How much patience there is.
pub(super) const PATIENCE: u32 = 12;

/// Why a file is not there.
pub(super) enum NotFetched {
    /// It may be had later; how much patience that costs.
    Passing { why: String, patience: u32 },
    /// It is never taken; what to say.
    Never(String),
    /// Control does not take it.
    Control(ControlError),
}

impl Bot {
    /// Fetches a file into the speaker's chat.
    pub(super) async fn fetch(
        &self,
        speaker: &Speaker,
        file: &SentFile,
    ) -> Result<Attachment, NotFetched> {
        let most = self.options.largest_file().min(self.control.work().max_upload_mb << 20);
        let limits = Limits { most, public: self.is_public_server() };
        if let Some(size) = file.size {
            limits.check(&file.name, size)?;
        }
        let fetch = async {
            let path = self.path_of(file, limits).await?;
            let mut response = self.api.fetch(&path).await.map_err(|fault| failed(&fault))?;
            if let Some(size) = response.content_length() {
                limits.check(&file.name, size)?;
            }
            // Only now: what is never answered leaves no empty file behind.
            let upload = self.control.upload(speaker.workspace, speaker.chat, &file.name).await;
            let mut upload = upload.map_err(NotFetched::Control)?;
            let mut taken = 0_u64;
            loop {
                let piece = timeout(PIECE_WITHIN, response.chunk()).await;
                let piece = piece.map_err(|late| passing(late, MUCH_PATIENCE))?;
                let piece = piece.map_err(|error| passing(error.without_url(), SOME_PATIENCE))?;
                let Some(piece) = piece else { break };
                taken = taken.saturating_add(piece.len() as u64);
                if taken > most {
                    return Err(limits.too_large(&file.name, None));
                }
                upload.write(&piece).map_err(NotFetched::Control)?;
            }
            upload.finish().map_err(NotFetched::Control)
        };
        timeout(FILE_WITHIN, fetch).await.map_err(|late| passing(late, MUCH_PATIENCE))?
    }

    /// Where a file is to be fetched.
    async fn path_of(&self, file: &SentFile, limits: Limits) -> Result<String, NotFetched> {
        let params = GetFileParams::builder().file_id(file.id.clone()).build();
        let found = match self.api.call(self.api.bot().get_file(&params)).await {
            Ok(found) => found,
            Err(Fault::Refused { description, .. }) if description.contains("too big") => {
                return Err(limits.too_large(&file.name, file.size));
            }
            Err(fault) => return Err(failed(&fault)),
        };
        let name = short(&file.name, 100);
        let Some(path) = found.file_path else {
            return Err(passing("Telegram does not say where the file is", SOME_PATIENCE));
        };
        match fetchable(&path) {
            true => Ok(path),
            false => Err(NotFetched::Never(format!(
                "I can't fetch the file `{name}`: the Bot API server keeps files on a disk of its own and does \
                 not hand them out. Whoever runs this can start it without `--local`."
            ))),
        }
    }
}

/// How large a file may be.
#[derive(Clone, Copy)]
struct Limits {
    most: u64,
    /// Telegram's own server, which has a limit of its own.
    public: bool,
}

impl Limits {
    fn check(self, name: &str, size: u64) -> Result<(), NotFetched> {
        if size > self.most || self.public && size > TELEGRAM_GIVES {
            return Err(self.too_large(name, Some(size)));
        }
        Ok(())
    }

    fn too_large(self, name: &str, size: Option<u64>) -> NotFetched {
        let name = short(name, 100);
        let told = size.map(|size| format!(" ({})", megabytes(size))).unwrap_or_default();
        let telegram = self.most.min(TELEGRAM_GIVES) == TELEGRAM_GIVES
            && size.is_none_or(|size| size <= self.most);
        NotFetched::Never(if telegram {
            format!(
                "The file `{name}`{told} is larger than the {} that Telegram hands to bots. Send a smaller one, a \
                 part of it, or a link to it.",
                megabytes(TELEGRAM_GIVES)
            )
        } else {
            format!(
                "The file `{name}`{told} is larger than the {} that I take here. Send a smaller one, or a part \
                 of it.",
                megabytes(self.most)
            )
        })
    }
}

/// Whether a path is one below the server's address, and nothing else: not a file on its disk.
fn fetchable(path: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+,@ ()".contains(c);
    !path.is_empty()
        && !path.starts_with('/')
        && !path.contains(':')
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
        && path.chars().all(plain)
}

fn failed(fault: &Fault) -> NotFetched {
    let patience = match fault {
        Fault::Wait(_) => NO_PATIENCE,
        // That Telegram can't be reached is not about the file.
        Fault::Unreachable(_) if fault.kind() != "server_error" => NO_PATIENCE,
        _ => SOME_PATIENCE,
    };
    passing(fault, patience)
}

fn passing(why: impl ToString, patience: u32) -> NotFetched {
    NotFetched::Passing { why: why.to_string(), patience }
}

/// What is said when a file could not be had for a long time.
pub(super) fn given_up(name: &str) -> ControlError {
    let name = short(name, 100);
    ControlError::with_fix(
        ErrorCode::NotFound,
        format!("the file `{name}` could not be fetched from Telegram"),
        "send it again",
    )
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
