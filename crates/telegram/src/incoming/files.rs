//! Files of people: fetched from Telegram piece by piece into the chat's `incoming/`. Never more of one in memory
//! than a piece, never more on disk than is taken.

use cloister_kit::Patience;
use cloister_kit::fetching::{self, NotFetched, Taking};
use cloister_kit::words::{megabytes, short};
use cloister_protocol::Attachment;
use cloister_protocol::surface::Speaker;
use futures_util::TryStreamExt;
use serde::Deserialize;

use super::Intake;
use super::content::SentFile;
use crate::session::Fault;
use crate::session::methods::GetFile;

/// The largest file that Telegram's own server hands to a bot.
const TELEGRAM_GIVES: u64 = 20 << 20;

/// Of what is known of a file, only the place is looked at.
#[derive(Deserialize)]
struct Found {
    #[serde(default)]
    file_path: Option<String>,
}

impl Intake {
    /// Fetches a file into the speaker's chat.
    pub(super) async fn fetch(
        &self,
        speaker: &Speaker,
        file: &SentFile,
    ) -> Result<Attachment, NotFetched> {
        let most = self.bot.options.largest_file().min(self.bot.plane.settings().largest_upload);
        let limits = Limits { most, public: self.bot.is_public_server() };
        if let Some(size) = file.size {
            limits.check(&file.name, size)?;
        }
        let fetch = async {
            let path = self.path_of(file, limits).await?;
            let response = self.bot.api.fetch(&path).await.map_err(|fault| failed(&fault))?;
            if let Some(size) = response.content_length() {
                limits.check(&file.name, size)?;
            }
            let taking = Taking::begin(&self.bot.plane, speaker, (&file.name, most)).await?;
            let pieces = response.bytes_stream().map_err(reqwest::Error::without_url);
            fetching::take_all(pieces, taking).await
        };
        fetching::whole(fetch).await
    }

    /// Where a file is to be fetched.
    async fn path_of(&self, file: &SentFile, limits: Limits) -> Result<String, NotFetched> {
        let found: Found = match self.bot.api.call(&GetFile { file_id: file.id.clone() }).await {
            Ok(found) => found,
            Err(Fault::Refused { description, .. }) if description.contains("too big") => {
                return Err(limits.too_large(&file.name, file.size));
            }
            Err(fault) => return Err(failed(&fault)),
        };
        let name = short(&file.name, 100);
        let Some(path) = found.file_path else {
            return Err(NotFetched::passing(
                "Telegram does not say where the file is",
                Patience::SOME,
            ));
        };
        match Lies::of(&path) {
            Lies::BelowTheAddress => Ok(path),
            Lies::OnItsDisk => Err(NotFetched::Never(format!(
                "I can't fetch the file `{name}`: the Bot API server keeps files on a disk of its own and does \
                 not hand them out. Whoever runs this can start it without `--local`."
            ))),
            Lies::Nowhere => Err(NotFetched::Never(format!(
                "I can't fetch the file `{name}`: the Bot API server says that it is in a place that there is not. \
                 Send it once more, perhaps under another name."
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
        let telegram = self.most.min(TELEGRAM_GIVES) == TELEGRAM_GIVES
            && size.is_none_or(|size| size <= self.most);
        if !telegram {
            return NotFetched::too_large(name, size, self.most);
        }
        let name = short(name, 100);
        let told = size.map(|size| format!(" ({})", megabytes(size))).unwrap_or_default();
        NotFetched::Never(format!(
            "The file `{name}`{told} is larger than the {} that Telegram hands to bots. Send a smaller one, a part \
             of it, or a link to it.",
            megabytes(TELEGRAM_GIVES)
        ))
    }
}

/// Where a path leads that the server told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lies {
    BelowTheAddress,
    /// A server that was started with `--local`.
    OnItsDisk,
    Nowhere,
}

impl Lies {
    fn of(path: &str) -> Self {
        // `/var/…`, `C:\…`
        if path.starts_with(['/', '\\']) || path.get(1..3).is_some_and(|two| two.starts_with(':')) {
            return Self::OnItsDisk;
        }
        let below = path.split('/').all(|part| !matches!(part, "" | "." | ".."))
            && !path.chars().any(char::is_control);
        if below { Self::BelowTheAddress } else { Self::Nowhere }
    }
}

fn failed(fault: &Fault) -> NotFetched {
    let patience = match fault {
        Fault::Wait(_) => Patience::NONE,
        // That Telegram can't be reached is not about the file.
        Fault::Unreachable(_) if fault.kind() != "server_error" => Patience::NONE,
        _ => Patience::SOME,
    };
    NotFetched::passing(fault, patience)
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
