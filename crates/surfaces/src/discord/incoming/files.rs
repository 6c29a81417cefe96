//! Files of people: fetched from Discord piece by piece into the chat's `incoming/`. Never more of one in memory
//! than a piece, never more on disk than is taken; from Discord's own servers and no others.

use std::time::Duration;

use cloister_control::words::{megabytes, short};
use cloister_control::{ControlError, Speaker};
use cloister_protocol::{Attachment, ErrorCode};
use reqwest::{Client, Response, StatusCode, Url};
use tokio::time::timeout;

use super::text::SentFile;
use crate::discord::bot::Bot;
use crate::discord::rest::ApiUrl;

/// How long the next piece of a file may take.
const PIECE_WITHIN: Duration = Duration::from_secs(60);
/// How long a whole file may take.
const FILE_WITHIN: Duration = Duration::from_secs(15 * 60);
/// What it costs when Discord can't be reached: it is not about the file.
const NO_PATIENCE: u32 = 0;
/// What it costs when Discord says that it does not have the file, or breaks off.
const SOME_PATIENCE: u32 = 1;
/// What it costs when the file was waited for.
const MUCH_PATIENCE: u32 = 4;
/// How much patience there is.
pub(super) const PATIENCE: u32 = 12;
/// Where Discord keeps files.
const KEPT_AT: [&str; 2] = ["cdn.discordapp.com", "media.discordapp.net"];

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
        let most = self.largest_file().min(self.control.work().max_upload_mb << 20);
        if file.size > most {
            return Err(too_large(&file.name, Some(file.size), most));
        }
        let Some(url) = may_fetch(&file.url, self.settings.api().as_ref()) else {
            let name = short(&file.name, 100);
            let words = format!("I can't fetch the file `{name}`: it is not kept by Discord.");
            return Err(NotFetched::Never(words));
        };
        let fetch = async {
            let mut response = download(url).await?;
            if let Some(size) = response.content_length().filter(|size| *size > most) {
                return Err(too_large(&file.name, Some(size), most));
            }
            // Only now: what is never answered leaves no empty file behind.
            let upload = self.control.upload(speaker.workspace, speaker.chat, &file.name).await;
            let mut upload = upload.map_err(NotFetched::Control)?;
            let mut taken = 0_u64;
            while let Some(piece) = next_piece(&mut response).await? {
                taken = taken.saturating_add(piece.len() as u64);
                if taken > most {
                    return Err(too_large(&file.name, None, most));
                }
                upload.write(&piece).map_err(NotFetched::Control)?;
            }
            upload.finish().map_err(NotFetched::Control)
        };
        timeout(FILE_WITHIN, fetch).await.map_err(|late| passing(late, MUCH_PATIENCE))?
    }
}

/// The address of a file, if it is one of Discord's, or of where the API is.
fn may_fetch(url: &str, api: Option<&ApiUrl>) -> Option<Url> {
    let url = Url::parse(url).ok()?;
    let plain_host = url.username().is_empty() && url.password().is_none();
    let ours = url.scheme() == "https" && url.port_or_known_default() == Some(443) && plain_host;
    let kept = ours && url.host_str().is_some_and(|host| KEPT_AT.contains(&host));
    let beside_the_api = api.and_then(|api| Url::parse(&api.origin()).ok()).is_some_and(|api| {
        plain_host
            && (api.scheme(), api.host_str(), api.port_or_known_default())
                == (url.scheme(), url.host_str(), url.port_or_known_default())
    });
    (kept || beside_the_api).then_some(url)
}

/// Begins to download a file. Its address is the key to it: no token goes there.
async fn download(url: Url) -> Result<Response, NotFetched> {
    let client = client().map_err(|error| passing(error.without_url(), SOME_PATIENCE))?;
    let response = timeout(PIECE_WITHIN, client.get(url).send()).await;
    let response = response.map_err(|late| passing(late, MUCH_PATIENCE))?;
    let response = response.map_err(|error| passing(error.without_url(), NO_PATIENCE))?;
    match response.status() {
        status if status.is_success() => Ok(response),
        // It was deleted, or its address has run out.
        status @ (StatusCode::NOT_FOUND | StatusCode::FORBIDDEN | StatusCode::GONE) => {
            Err(passing(format!("it answered {status}"), MUCH_PATIENCE))
        }
        status => Err(passing(format!("it answered {status}"), SOME_PATIENCE)),
    }
}

#[expect(clippy::disallowed_methods, reason = "a surface fetches its own files, with timeouts")]
fn client() -> reqwest::Result<Client> {
    Client::builder()
        .connect_timeout(PIECE_WITHIN)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
}

async fn next_piece(response: &mut Response) -> Result<Option<Vec<u8>>, NotFetched> {
    let piece = timeout(PIECE_WITHIN, response.chunk()).await;
    let piece = piece.map_err(|late| passing(late, MUCH_PATIENCE))?;
    let piece = piece.map_err(|error| passing(error.without_url(), SOME_PATIENCE))?;
    Ok(piece.map(|piece| piece.to_vec()))
}

fn passing(why: impl ToString, patience: u32) -> NotFetched {
    NotFetched::Passing { why: why.to_string(), patience }
}

fn too_large(name: &str, size: Option<u64>, most: u64) -> NotFetched {
    let name = short(name, 100);
    let size = size.map(|size| format!(" ({})", megabytes(size))).unwrap_or_default();
    NotFetched::Never(format!(
        "The file `{name}`{size} is larger than the {} that I take here. Send a smaller one, or a part of it.",
        megabytes(most)
    ))
}

/// What is said when a file could not be had for a long time.
pub(super) fn given_up(name: &str) -> ControlError {
    let name = short(name, 100);
    ControlError::with_fix(
        ErrorCode::NotFound,
        format!("the file `{name}` could not be fetched from Discord"),
        "send it again",
    )
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
