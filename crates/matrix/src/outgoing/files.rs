//! Files for people: uploaded, encrypted where the room is, and posted as what they are.
//!
//! They come from the artifacts that the control plane keeps, and from nowhere else. After a kill a file may be
//! uploaded again; it is posted once.

use std::io::Read;
use std::time::Duration;

use cloister_kit::Reading;
use cloister_policy::legible;
use cloister_protocol::ErrorCode;
use cloister_protocol::surface::{FileToSend, Recipient, SendError};
use matrix_sdk::Room;
use matrix_sdk::config::RequestConfig;
use matrix_sdk::ruma::events::room::message::{
    AudioInfo, AudioMessageEventContent, FileInfo, FileMessageEventContent,
    ImageMessageEventContent, MessageType, VideoInfo, VideoMessageEventContent,
};
use matrix_sdk::ruma::events::room::{EncryptedFile, ImageInfo, MediaSource, ThumbnailInfo};
use matrix_sdk::ruma::{OwnedEventId, UInt};
use matrix_sdk_crypto::{AttachmentEncryptor, MediaEncryptionInfo};

use super::Sending;
use super::thumbnails::{self, Picture, Small};

/// The slowest upload that is waited for, in bytes per second.
const SLOWEST: u64 = 50_000;
/// A larger file is not looked at as a picture.
const LARGEST_PICTURE: usize = 50 << 20;

/// What is uploaded, and as what.
struct Looked {
    data: Vec<u8>,
    picture: Option<Picture>,
}

impl Sending {
    pub(super) async fn post_file(
        &self,
        room: &Room,
        to: &Recipient,
        key: &str,
        file: &FileToSend,
    ) -> Result<OwnedEventId, SendError> {
        let most = self.bot.largest_file();
        if file.size > most {
            let (size, most) = (file.size >> 20, most >> 20);
            return Err(SendError::Refused(format!(
                "{} has {size} MB; files of up to {most} MB can be sent here",
                legible(&file.name)
            )));
        }
        let _permit = self.bot.sending.files.acquire().await.map_err(|closed| {
            SendError::Unreachable(format!("no file can be sent now: {closed}"))
        })?;
        let looked = self.look_at(file, most).await?;
        let encrypted = self.bot.encryption().seals(room).await?;
        let size = uint(looked.data.len());
        let source = self.upload(looked.data, &file.mime, encrypted).await?;
        let (name, mime) = (legible(&file.name).into_owned(), file.mime.clone());
        let kind = match looked.picture {
            Some(picture) => self.image(name, source, (picture, size), encrypted).await?,
            None => plain_kind(name, source, (mime, size)),
        };
        let what = format!("{} {}", file.name, file.size);
        self.post_message(room, to, (key, &what), kind).await
    }

    /// Reads a file and, if it is a picture, looks at it; away from what others wait for.
    async fn look_at(&self, file: &FileToSend, most: u64) -> Result<Looked, SendError> {
        let data = Reading::of(&self.bot.plane, file).whole(most).await.map_err(|error| {
            let why = format!("a file could not be read: {error}");
            match error.code() {
                ErrorCode::TooLarge => SendError::Refused(why),
                _ => SendError::Unreachable(why),
            }
        })?;
        let is_picture = file.mime.starts_with("image/") && data.len() <= LARGEST_PICTURE;
        let looking = tokio::task::spawn_blocking(move || {
            let picture = is_picture.then(|| thumbnails::look(&data)).flatten();
            Looked { data, picture }
        });
        looking
            .await
            .map_err(|error| SendError::Refused(format!("a file could not be looked at: {error}")))
    }

    async fn upload(
        &self,
        data: Vec<u8>,
        mime: &str,
        encrypted: bool,
    ) -> Result<MediaSource, SendError> {
        let patience = Duration::from_secs(data.len() as u64 / SLOWEST);
        let bound = self.bot.options.request_timeout().saturating_add(patience);
        let config = RequestConfig::new().disable_retry().timeout(bound);
        let client = self.bot.client.clone();
        let mime = mime.parse().unwrap_or(mime::APPLICATION_OCTET_STREAM);
        let uploading = async move {
            if !encrypted {
                let uploaded = client.media().upload(&mime, data, Some(config)).await?;
                return Ok(MediaSource::Plain(uploaded.content_uri));
            }
            // What the server keeps tells it nothing, not even what it is.
            let (sealed, keys) = encrypt(data).await?;
            let bytes = mime::APPLICATION_OCTET_STREAM;
            let uploaded = client.media().upload(&bytes, sealed, Some(config)).await?;
            let file = EncryptedFile::new(uploaded.content_uri, keys.encryption_info, keys.hashes);
            Ok(MediaSource::Encrypted(Box::new(file)))
        };
        let uploaded: Result<Result<_, matrix_sdk::Error>, _> =
            tokio::time::timeout(bound.saturating_mul(2), uploading).await;
        match uploaded {
            Ok(Ok(source)) => Ok(source),
            Ok(Err(error)) => Err(self.failed(&error)),
            Err(_elapsed) => Err(SendError::Unreachable("an upload took too long".to_owned())),
        }
    }

    async fn image(
        &self,
        name: String,
        source: MediaSource,
        (picture, size): (Picture, Option<UInt>),
        encrypted: bool,
    ) -> Result<MessageType, SendError> {
        let mut info = ImageInfo::new();
        info.width = Some(picture.width.into());
        info.height = Some(picture.height.into());
        info.mimetype = Some(picture.mime.to_owned());
        info.size = size;
        if let Some(small) = picture.small {
            info.thumbnail_info = Some(Box::new(info_of(&small)));
            info.thumbnail_source = Some(self.upload(small.data, small.mime, encrypted).await?);
        }
        let content = ImageMessageEventContent::new(name, source);
        Ok(MessageType::Image(content.info(Some(Box::new(info)))))
    }
}

/// The ciphers of a large file take a while; nothing else waits for them.
async fn encrypt(data: Vec<u8>) -> Result<(Vec<u8>, MediaEncryptionInfo), matrix_sdk::Error> {
    let work = move || {
        let mut reader = std::io::Cursor::new(data);
        let mut encryptor = AttachmentEncryptor::new(&mut reader);
        let mut sealed = Vec::new();
        encryptor.read_to_end(&mut sealed)?;
        Ok((sealed, encryptor.finish()))
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(sealed) => sealed,
        Err(error) => Err(matrix_sdk::Error::UnknownError(Box::new(error))),
    }
}

fn info_of(small: &Small) -> ThumbnailInfo {
    let mut info = ThumbnailInfo::new();
    info.width = Some(small.width.into());
    info.height = Some(small.height.into());
    info.mimetype = Some(small.mime.to_owned());
    info.size = uint(small.data.len());
    info
}

fn uint(number: usize) -> Option<UInt> {
    u64::try_from(number).ok().and_then(UInt::new)
}

/// What is no picture, by its type.
fn plain_kind(
    name: String,
    source: MediaSource,
    (mime, size): (String, Option<UInt>),
) -> MessageType {
    match mime.split('/').next() {
        Some("audio") => {
            let mut info = AudioInfo::new();
            (info.mimetype, info.size) = (Some(mime), size);
            let content = AudioMessageEventContent::new(name, source);
            MessageType::Audio(content.info(Some(Box::new(info))))
        }
        Some("video") => {
            let mut info = VideoInfo::new();
            (info.mimetype, info.size) = (Some(mime), size);
            let content = VideoMessageEventContent::new(name, source);
            MessageType::Video(content.info(Some(Box::new(info))))
        }
        Some(_) | None => {
            let mut info = FileInfo::new();
            (info.mimetype, info.size) = (Some(mime), size);
            let content = FileMessageEventContent::new(name, source);
            MessageType::File(content.info(Some(Box::new(info))))
        }
    }
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
