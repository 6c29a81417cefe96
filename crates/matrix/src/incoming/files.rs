//! Files of people: fetched from the homeserver piece by piece, decrypted on the way, into the chat's
//! `incoming/`. Never more of one in memory than a few pieces, never more on disk than is taken.

use std::io::Read;

use cloister_kit::Patience;
use cloister_kit::fetching::{self, NotFetched, Taking};
use cloister_protocol::Attachment;
use cloister_protocol::surface::Speaker;
use matrix_sdk::bytes::{Buf, Bytes};
use matrix_sdk::reqwest::{Response, StatusCode};
use matrix_sdk::ruma::MxcUri;
use matrix_sdk::ruma::events::room::MediaSource;
use matrix_sdk_crypto::{AttachmentDecryptor, MediaEncryptionInfo};
use tokio::sync::mpsc;

use super::heard::SentFile;
use super::{Intake, text};

/// How many pieces wait to be decrypted.
const PIECES: usize = 8;

impl Intake {
    /// Fetches a file into the speaker's chat.
    pub(super) async fn fetch(
        &self,
        speaker: &Speaker,
        file: &SentFile,
    ) -> Result<Attachment, NotFetched> {
        let most = self.bot.largest_file().min(self.bot.plane.settings().largest_upload);
        if let Some(size) = file.size.filter(|size| *size > most) {
            return Err(NotFetched::too_large(&file.name, Some(size), most));
        }
        let fetch = async {
            let uri = match &file.source {
                MediaSource::Plain(uri) => uri,
                MediaSource::Encrypted(sealed) => &sealed.url,
            };
            let response = self.download(uri).await?;
            if let Some(size) = response.content_length().filter(|size| *size > most) {
                return Err(NotFetched::too_large(&file.name, Some(size), most));
            }
            let taking = Taking::begin(&self.bot.plane, speaker, (&file.name, most)).await?;
            take_in(response, &file.source, taking).await
        };
        fetching::whole(fetch).await
    }

    /// Begins to download what an address names. The token goes to our homeserver alone.
    async fn download(&self, uri: &MxcUri) -> Result<Response, NotFetched> {
        let (server, media) = uri
            .parts()
            .map_err(|error| NotFetched::Never(format!("I can't fetch that file: {error}.")))?;
        let homeserver = self.bot.client.homeserver();
        let homeserver = homeserver.as_str().trim_end_matches('/');
        let mut answer = None;
        // Homeservers of before 2024 know the second one alone.
        for path in ["client/v1/media/download", "media/v3/download"] {
            let url = format!("{homeserver}/_matrix/{path}/{server}/{media}");
            let mut request = self.bot.client.http_client().get(url);
            if let Some(token) = self.bot.client.access_token() {
                request = request.bearer_auth(token);
            }
            let response = fetching::answer(async {
                let sent = request.send().await;
                sent.map_err(|error| NotFetched::passing(error.without_url(), Patience::NONE))
            });
            let response = response.await?;
            let unknown = response.status() == StatusCode::NOT_FOUND;
            answer = Some(response);
            if !unknown {
                break;
            }
        }
        let status = answer.as_ref().map(Response::status).unwrap_or_default();
        match answer {
            Some(response) if status.is_success() => Ok(response),
            // The file may be on its way from another homeserver still.
            Some(_) | None => {
                Err(NotFetched::passing(format!("it answered {status}"), Patience::SOME))
            }
        }
    }
}

/// Hands over what comes, decrypted if it is encrypted.
async fn take_in(
    mut response: Response,
    source: &MediaSource,
    mut taking: Taking,
) -> Result<Attachment, NotFetched> {
    match source {
        MediaSource::Plain(_) => {
            while let Some(piece) = next_piece(&mut response).await? {
                taking.take(&piece).await?;
            }
            taking.finish().await
        }
        MediaSource::Encrypted(file) => {
            let info = MediaEncryptionInfo::from(file.as_ref().clone());
            take_in_sealed(response, info, taking).await
        }
    }
}

/// Fetches, decrypts and hands over side by side. Nothing is kept before all of it was decrypted.
async fn take_in_sealed(
    response: Response,
    info: MediaEncryptionInfo,
    mut taking: Taking,
) -> Result<Attachment, NotFetched> {
    let (to_open, sealed) = mpsc::channel(PIECES);
    let (opened, mut plain) = mpsc::channel::<Vec<u8>>(PIECES);
    let name = taking.name().to_owned();
    let opening =
        tokio::task::spawn_blocking(move || decrypt(Pieces::new(sealed), info, &name, &opened));
    let hand_over = async move {
        while let Some(piece) = plain.recv().await {
            taking.take(&piece).await?;
        }
        Ok::<_, NotFetched>(taking)
    };
    let (sent, decrypted, taken) = tokio::join!(send_on(response, to_open), opening, hand_over);
    sent?;
    decrypted.map_err(|error| NotFetched::passing(error, Patience::SOME))??;
    taken?.finish().await
}

/// Passes on what comes, until all of it has or nobody wants more.
async fn send_on(mut response: Response, to: mpsc::Sender<Bytes>) -> Result<(), NotFetched> {
    while let Some(piece) = next_piece(&mut response).await? {
        // Whoever decrypts may have given up, and says why.
        if to.send(piece).await.is_err() {
            break;
        }
    }
    Ok(())
}

async fn next_piece(response: &mut Response) -> Result<Option<Bytes>, NotFetched> {
    fetching::piece(async {
        let piece = response.chunk().await;
        piece.map_err(|error| NotFetched::passing(error.without_url(), Patience::SOME))
    })
    .await
}

/// Decrypts what comes. What was changed on the way is noticed at its end, and nothing of it is kept.
fn decrypt(
    mut pieces: Pieces,
    info: MediaEncryptionInfo,
    name: &str,
    opened: &mpsc::Sender<Vec<u8>>,
) -> Result<(), NotFetched> {
    let damaged = |why: String| {
        tracing::warn!(why, "a file could not be decrypted");
        let name = text::short(name, 100);
        NotFetched::Never(format!("I could not decrypt the file `{name}`. Send it again."))
    };
    let mut plain =
        AttachmentDecryptor::new(&mut pieces, info).map_err(|error| damaged(error.to_string()))?;
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = plain.read(&mut buffer).map_err(|error| damaged(error.to_string()))?;
        match buffer.get(..read) {
            Some([]) | None => return Ok(()),
            // Whoever takes it may have given up, and says why.
            Some(piece) if opened.blocking_send(piece.to_vec()).is_err() => return Ok(()),
            Some(_) => {}
        }
    }
}

/// Pieces that come from elsewhere, to be read one after the other.
struct Pieces {
    rest: mpsc::Receiver<Bytes>,
    current: Bytes,
}

impl Pieces {
    fn new(rest: mpsc::Receiver<Bytes>) -> Self {
        Self { rest, current: Bytes::new() }
    }
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.current.is_empty() {
            match self.rest.blocking_recv() {
                Some(piece) => self.current = piece,
                None => return Ok(0),
            }
        }
        let read = self.current.len().min(buffer.len());
        let (taken, rest) = self.current.split_at(read);
        if let Some(place) = buffer.get_mut(..read) {
            place.copy_from_slice(taken);
        }
        let rest = rest.len();
        self.current.advance(self.current.len() - rest);
        Ok(read)
    }
}
