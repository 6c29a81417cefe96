//! Files of people: fetched from Discord piece by piece into the chat's `incoming/`. Never more of one in memory
//! than a piece, never more on disk than is taken; from Discord's own servers and no others.

use std::time::Duration;

use cloister_kit::fetching::{self, NotFetched, Taking};
use cloister_kit::words::short;
use cloister_kit::{Patience, WayOut};
use cloister_protocol::Attachment;
use cloister_protocol::surface::Speaker;
use futures_util::TryStreamExt;
use reqwest::{Client, Response, StatusCode, Url};

use super::Intake;
use super::text::SentFile;
use crate::rest::ApiUrl;

/// How long a connection to where files are kept may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(60);
/// Where Discord keeps files.
const KEPT_AT: [&str; 2] = ["cdn.discordapp.com", "media.discordapp.net"];

impl Intake {
    /// Fetches a file into the speaker's chat.
    pub(super) async fn fetch(
        &self,
        speaker: &Speaker,
        file: &SentFile,
    ) -> Result<Attachment, NotFetched> {
        let most = self.bot.largest_file().min(self.bot.plane.settings().largest_upload);
        if file.size > most {
            return Err(NotFetched::too_large(&file.name, Some(file.size), most));
        }
        let Some(url) = may_fetch(&file.url, self.bot.settings.api().as_ref()) else {
            let name = short(&file.name, 100);
            let words = format!("I can't fetch the file `{name}`: it is not kept by Discord.");
            return Err(NotFetched::Never(words));
        };
        let fetch = async {
            let response = download(url, self.bot.plane.way_out()).await?;
            if let Some(size) = response.content_length().filter(|size| *size > most) {
                return Err(NotFetched::too_large(&file.name, Some(size), most));
            }
            let taking = Taking::begin(&self.bot.plane, speaker, (&file.name, most)).await?;
            let pieces = response.bytes_stream().map_err(reqwest::Error::without_url);
            fetching::take_all(pieces, taking).await
        };
        fetching::whole(fetch).await
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
async fn download(url: Url, way_out: Option<&WayOut>) -> Result<Response, NotFetched> {
    let client = client(way_out)
        .map_err(|error| NotFetched::passing(error.without_url(), Patience::SOME))?;
    let response = fetching::answer(async {
        let sent = client.get(url).send().await;
        sent.map_err(|error| NotFetched::passing(error.without_url(), Patience::NONE))
    });
    let response = response.await?;
    match response.status() {
        status if status.is_success() => Ok(response),
        // It was deleted, or its address has run out.
        status @ (StatusCode::NOT_FOUND | StatusCode::FORBIDDEN | StatusCode::GONE) => {
            Err(NotFetched::passing(format!("it answered {status}"), Patience::MUCH))
        }
        status => Err(NotFetched::passing(format!("it answered {status}"), Patience::SOME)),
    }
}

#[expect(clippy::disallowed_methods, reason = "a surface fetches its own files, with timeouts")]
fn client(way_out: Option<&WayOut>) -> reqwest::Result<Client> {
    let builder = Client::builder()
        .connect_timeout(CONNECT_WITHIN)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy();
    match way_out {
        Some(way_out) => builder.proxy(reqwest::Proxy::all(way_out.proxy())?).build(),
        None => builder.build(),
    }
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
