//! Files of people: fetched from the homeserver piece by piece, decrypted on the way, into the chat's
//! `incoming/`. Never more of one in memory than a few pieces, never more on disk than is taken.

use std::io::Read;
use std::time::Duration;

use cloister_control::{ControlError, Speaker, Upload};
use cloister_protocol::{Attachment, ErrorCode};
use matrix_sdk::bytes::{Buf, Bytes};
use matrix_sdk::reqwest::{Response, StatusCode};
use matrix_sdk::ruma::MxcUri;
use matrix_sdk::ruma::events::room::MediaSource;
use matrix_sdk_crypto::{AttachmentDecryptor, MediaEncryptionInfo};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::heard::SentFile;
use super::text;
use crate::bot::Bot;

/// How long the next piece of a file may take.
const PIECE_WITHIN: Duration = Duration::from_secs(60);
/// How long a whole file may take.
const FILE_WITHIN: Duration = Duration::from_secs(15 * 60);
/// What it costs when the homeserver can't be reached: it is not about the file.
const NO_PATIENCE: u32 = 0;
/// What it costs when the homeserver says that it does not have the file, or breaks off.
const SOME_PATIENCE: u32 = 1;
/// What it costs when the file was waited for.
const MUCH_PATIENCE: u32 = 4;
/// How much patience there is.
pub(super) const PATIENCE: u32 = 12;
/// How many pieces wait to be decrypted.
const PIECES: usize = 8;

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
        if let Some(size) = file.size.filter(|size| *size > most) {
            return Err(too_large(&file.name, Some(size), most));
        }
        let fetch = async {
            let uri = match &file.source {
                MediaSource::Plain(uri) => uri,
                MediaSource::Encrypted(sealed) => &sealed.url,
            };
            let response = self.download(uri).await?;
            if let Some(size) = response.content_length().filter(|size| *size > most) {
                return Err(too_large(&file.name, Some(size), most));
            }
            // Only now: what is never answered leaves no empty file behind.
            let upload = self.control.upload(speaker.workspace, speaker.chat, &file.name).await;
            let upload = upload.map_err(NotFetched::Control)?;
            let taking = Taking { name: file.name.clone(), most, taken: 0, upload };
            take_in(response, &file.source, taking).await
        };
        timeout(FILE_WITHIN, fetch).await.map_err(|late| passing(late, MUCH_PATIENCE))?
    }

    /// Begins to download what an address names. The token goes to our homeserver alone.
    async fn download(&self, uri: &MxcUri) -> Result<Response, NotFetched> {
        let (server, media) = uri
            .parts()
            .map_err(|error| NotFetched::Never(format!("I can't fetch that file: {error}.")))?;
        let homeserver = self.client.homeserver();
        let homeserver = homeserver.as_str().trim_end_matches('/');
        let mut answer = None;
        // Homeservers of before 2024 know the second one alone.
        for path in ["client/v1/media/download", "media/v3/download"] {
            let url = format!("{homeserver}/_matrix/{path}/{server}/{media}");
            let mut request = self.client.http_client().get(url);
            if let Some(token) = self.client.access_token() {
                request = request.bearer_auth(token);
            }
            let response = timeout(PIECE_WITHIN, request.send()).await;
            let response = response.map_err(|late| passing(late, MUCH_PATIENCE))?;
            let response = response.map_err(|error| passing(error.without_url(), NO_PATIENCE))?;
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
            Some(_) | None => Err(passing(format!("it answered {status}"), SOME_PATIENCE)),
        }
    }
}

/// A file on its way in, and how much of it may come.
struct Taking {
    name: String,
    most: u64,
    taken: u64,
    upload: Upload,
}

impl Taking {
    fn take(&mut self, piece: &[u8]) -> Result<(), NotFetched> {
        self.taken = self.taken.saturating_add(piece.len() as u64);
        if self.taken > self.most {
            return Err(too_large(&self.name, None, self.most));
        }
        self.upload.write(piece).map_err(NotFetched::Control)
    }
}

/// Writes down what comes, decrypted if it is encrypted.
async fn take_in(
    mut response: Response,
    source: &MediaSource,
    mut taking: Taking,
) -> Result<Attachment, NotFetched> {
    match source {
        MediaSource::Plain(_) => {
            while let Some(piece) = next_piece(&mut response).await? {
                taking.take(&piece)?;
            }
            taking.upload.finish().map_err(NotFetched::Control)
        }
        MediaSource::Encrypted(file) => {
            let info = MediaEncryptionInfo::from(file.as_ref().clone());
            let (pieces, rest) = mpsc::channel(PIECES);
            let decrypting =
                tokio::task::spawn_blocking(move || decrypt(Pieces::new(rest), info, taking));
            let mut sent = Ok(());
            loop {
                match next_piece(&mut response).await {
                    Ok(Some(piece)) => {
                        // Whoever decrypts may have given up, and says why.
                        if pieces.send(piece).await.is_err() {
                            break;
                        }
                    }
                    Ok(None) => break,
                    Err(error) => {
                        sent = Err(error);
                        break;
                    }
                }
            }
            drop(pieces);
            let decrypted = decrypting.await;
            sent?;
            decrypted.map_err(|error| passing(error, SOME_PATIENCE))?
        }
    }
}

async fn next_piece(response: &mut Response) -> Result<Option<Bytes>, NotFetched> {
    let piece = timeout(PIECE_WITHIN, response.chunk()).await;
    let piece = piece.map_err(|late| passing(late, MUCH_PATIENCE))?;
    piece.map_err(|error| passing(error.without_url(), SOME_PATIENCE))
}

/// Decrypts what comes. What was changed on the way is noticed at its end, and nothing of it is kept.
fn decrypt(
    mut pieces: Pieces,
    info: MediaEncryptionInfo,
    mut taking: Taking,
) -> Result<Attachment, NotFetched> {
    let damaged = |name: &str, why: String| {
        tracing::warn!(why, "a file could not be decrypted");
        let name = text::short(name, 100);
        NotFetched::Never(format!("I could not decrypt the file `{name}`. Send it again."))
    };
    let mut plain = AttachmentDecryptor::new(&mut pieces, info)
        .map_err(|error| damaged(&taking.name, error.to_string()))?;
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read =
            plain.read(&mut buffer).map_err(|error| damaged(&taking.name, error.to_string()))?;
        match buffer.get(..read) {
            Some([]) | None => return taking.upload.finish().map_err(NotFetched::Control),
            Some(piece) => taking.take(piece)?,
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

fn passing(why: impl ToString, patience: u32) -> NotFetched {
    NotFetched::Passing { why: why.to_string(), patience }
}

fn too_large(name: &str, size: Option<u64>, most: u64) -> NotFetched {
    let name = text::short(name, 100);
    let size = size.map(|size| format!(" ({})", text::megabytes(size))).unwrap_or_default();
    NotFetched::Never(format!(
        "The file `{name}`{size} is larger than the {} that I take here. Send a smaller one, or a part of it.",
        text::megabytes(most)
    ))
}

/// What is said when a file could not be had for a long time.
pub(super) fn given_up(name: &str) -> ControlError {
    let name = text::short(name, 100);
    ControlError::with_fix(
        ErrorCode::NotFound,
        format!("the file `{name}` could not be fetched from the homeserver"),
        "send it again",
    )
}
