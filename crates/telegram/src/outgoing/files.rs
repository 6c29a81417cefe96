//! Files for people, sent as what they are: pictures, voice, music, films, and everything else as a document.
//!
//! They come from the artifacts that the control plane keeps, and from nowhere else. What Telegram does not take as what it
//! seemed to be is sent as a document.

use std::time::Duration;

use cloister_kit::{PlaneError, Reading, Surface};
use cloister_policy::legible;
use cloister_protocol::surface::{FileToSend, Manners, Recipient, SendError};
use cloister_protocol::with_causes;
use futures_util::stream;
use reqwest::Body;
use reqwest::multipart::{Form, Part};

use super::pace::What;
use super::send::{MessagePlace, Posted, Said};
use super::{Sending, reply_to};
use crate::session::Fault;
use crate::session::methods::Action;

/// The slowest upload that is waited for, in bytes per second.
const SLOWEST: u64 = 64 << 10;
/// A larger picture is a document.
const LARGEST_PHOTO: u64 = 10 << 20;
/// How much of a file says what it is.
const HEAD: usize = 64;
const MAX_NAME: usize = 100;

/// As what a file is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Photo,
    Voice,
    Audio,
    Video,
    Document,
}

impl Shape {
    /// By its type and how it begins; Telegram takes few kinds as what they are.
    fn of(mime: &str, size: u64, head: &[u8]) -> Self {
        let mime = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match mime.as_str() {
            "image/jpeg" | "image/png" | "image/webp" if size <= LARGEST_PHOTO => Self::Photo,
            "audio/ogg" | "audio/opus" if head.windows(8).any(|part| part == b"OpusHead") => {
                Self::Voice
            }
            "audio/mpeg" | "audio/mp3" | "audio/mp4" | "audio/m4a" | "audio/x-m4a" => Self::Audio,
            "video/mp4" => Self::Video,
            _ => Self::Document,
        }
    }

    /// The method that sends it, and the field that holds it.
    const fn method(self) -> (&'static str, &'static str) {
        match self {
            Self::Photo => ("sendPhoto", "photo"),
            Self::Voice => ("sendVoice", "voice"),
            Self::Audio => ("sendAudio", "audio"),
            Self::Video => ("sendVideo", "video"),
            Self::Document => ("sendDocument", "document"),
        }
    }

    const fn action(self) -> Action {
        match self {
            Self::Photo => Action::UploadPhoto,
            Self::Voice | Self::Audio => Action::UploadVoice,
            Self::Video => Action::UploadVideo,
            Self::Document => Action::UploadDocument,
        }
    }
}

impl Sending {
    pub(super) async fn post_file(
        &self,
        to: &Recipient,
        (place, key): (MessagePlace, &str),
        file: &FileToSend,
    ) -> Result<i32, SendError> {
        let Manners { largest_file: most, .. } = self.bot.manners();
        if file.size > most {
            let (size, most) = (file.size.div_ceil(1 << 20), most >> 20);
            return Err(SendError::Refused(format!(
                "{} has {size} MB; files of up to {most} MB can be sent here",
                legible(&file.name)
            )));
        }
        if file.size == 0 {
            let name = legible(&file.name);
            return Err(SendError::Refused(format!(
                "{name} is empty, and Telegram takes no empty file"
            )));
        }
        let _permit = self.bot.sending.files.acquire().await.map_err(|closed| {
            SendError::Unreachable(format!("no file can be sent now: {closed}"))
        })?;
        let head = Reading::of(&self.bot.plane, file)
            .next()
            .await
            .map_err(unreadable)?
            .unwrap_or_default();
        let head = head.get(..HEAD.min(head.len())).unwrap_or_default();
        let shape = Shape::of(&file.mime, file.size, head);
        let said = Said { reply_to: reply_to(to, key), keyboard: None };
        if let Err(error) = self.show_action(place, shape.action()).await {
            tracing::debug!(
                error = with_causes(&error),
                "that a file is being sent could not be shown"
            );
        }
        let mut sent = self.upload(place, &said, file, shape).await?;
        if let (Err(Fault::Refused { code: 400, .. }), false) = (&sent, shape == Shape::Document) {
            sent = self.upload(place, &said, file, Shape::Document).await?;
        }
        match sent {
            Ok(message) => Ok(message.message_id),
            Err(fault) => Err(self.not_sent(place, fault).await),
        }
    }

    /// Sends a file. The outer error: it could not be read.
    async fn upload(
        &self,
        place: MessagePlace,
        said: &Said,
        file: &FileToSend,
        shape: Shape,
    ) -> Result<Result<Posted, Fault>, SendError> {
        let (method, field) = shape.method();
        let reading = Reading::of(&self.bot.plane, file);
        let pieces = stream::try_unfold(reading, |mut reading| async move {
            Ok::<_, PlaneError>(reading.next().await?.map(|piece| (piece, reading)))
        });
        let body = Body::wrap_stream(pieces);
        let part = Part::stream_with_length(body, file.size).file_name(safe_name(&file.name));
        let mut form = Form::new().text("chat_id", place.chat.to_string());
        if let Some(thread) = place.thread {
            form = form.text("message_thread_id", thread.to_string());
        }
        if let Some(reply) = said.reply().and_then(|reply| serde_json::to_string(&reply).ok()) {
            form = form.text("reply_parameters", reply);
        }
        let form = form.part(field, part);
        let patience = Duration::from_secs(file.size / SLOWEST);
        let bound = self.bot.options.request_timeout().saturating_add(patience);
        let sending = self.bot.api.upload(bound, (method, form));
        Ok(self.paced(place, What::Message, sending).await)
    }
}

fn unreadable(error: PlaneError) -> SendError {
    SendError::Unreachable(format!("a file could not be read: {error}"))
}

/// A name that is one, for any system that it is saved on.
fn safe_name(name: &str) -> String {
    let name = legible(name);
    let fine = |c: char| {
        if c.is_control() || "/\\\"<>:|?*".contains(c) { '_' } else { c }
    };
    let name: String = name.trim().trim_start_matches('.').chars().map(fine).collect();
    let (stem, ending) = match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && ending.chars().count() <= 10 => {
            (stem, format!(".{ending}"))
        }
        Some(_) | None => (name.as_str(), String::new()),
    };
    let stem: String = stem.chars().take(MAX_NAME).collect();
    if stem.trim().is_empty() { format!("file{ending}") } else { format!("{stem}{ending}") }
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
