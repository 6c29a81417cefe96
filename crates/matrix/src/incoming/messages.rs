//! A message becomes a turn: quoted what it replies to, with its file, in the chat of its room.

use std::time::Duration;

use cloister_kit::PlaneError;
use cloister_kit::fetching::{self, NotFetched};
use cloister_kit::waiting::Outcome;
use cloister_protocol::surface::{
    AnswerToldBy, ConversationAt, DiscardFile, Incoming, Receive, Speaker, Stored, StoredMessage,
    WhyWaiting,
};
use cloister_protocol::{Attachment, ErrorCode, with_causes};
use matrix_sdk::Room;
use matrix_sdk::deserialized_responses::{TimelineEvent, TimelineEventKind};
use matrix_sdk::ruma::{EventId, OwnedEventId};

use super::heard::{Heard, Said, Seen};
use super::{Intake, text};
use crate::outgoing::Origin;

/// How often, and after which pauses, a quoted message is asked for until it can be read.
const KEY_TRIES: u32 = 6;
const KEY_PAUSE: Duration = Duration::from_millis(500);

/// What is handed over of a message.
pub(super) struct Handed<'a> {
    pub(super) speaker: &'a Speaker,
    pub(super) event: &'a EventId,
    pub(super) thread: Option<&'a OwnedEventId>,
    pub(super) text: String,
    pub(super) attachments: Vec<Attachment>,
}

impl Intake {
    pub(super) async fn take_message(
        &self,
        room: &Room,
        seen: &Seen,
        said: &Said,
    ) -> Result<Outcome, PlaneError> {
        let Some(speaker) = self.bot.speakers().speaker(room, seen, &said.text).await? else {
            return Ok(Outcome::Done);
        };
        // What is stored needs no file fetched for it again, and no quote.
        if self.stored(&speaker, &seen.id).await?.is_some() {
            return Ok(Outcome::Done);
        }
        let mut attachments = Vec::new();
        if let Some(file) = &said.file {
            match self.fetch(&speaker, file).await {
                Ok(attachment) => attachments.push(attachment),
                Err(NotFetched::Passing { why, patience }) => {
                    tracing::debug!(room = %room.room_id(), event = %seen.id, why, "a file could not be fetched");
                    if self.bot.intake.patience.left(seen.id.as_str(), patience) {
                        return Ok(Outcome::Later(WhyWaiting::NoFile));
                    }
                    tracing::warn!(room = %room.room_id(), event = %seen.id, why, "a file is given up");
                    return self
                        .not_taken(room, seen, fetching::given_up(&file.name, "the homeserver"))
                        .await;
                }
                Err(NotFetched::Never(words)) => {
                    self.bot.sayings().speak(room, &format!("file-{}", seen.id), &words).await;
                    return Ok(Outcome::Done);
                }
                Err(NotFetched::Plane(error)) => return self.not_taken(room, seen, error).await,
            }
        }
        let mut words = said.text.clone();
        let is_command = self.bot.plane.commands().is_command(&words);
        if let Some(earlier) = said.reply_to.as_ref().filter(|_| !is_command) {
            let quote = self.quote(room, earlier).await;
            words = format!("{quote}\n\n{words}");
        }
        let handed = Handed {
            speaker: &speaker,
            event: &seen.id,
            thread: said.thread.as_ref(),
            text: words,
            attachments: attachments.clone(),
        };
        self.bot.rooms().about_to_ask(&said.text).await;
        match self.hand_over(handed).await {
            Ok(()) => {
                self.bot.rooms().asked_for_chats(&said.text, speaker.user).await;
                Ok(Outcome::Done)
            }
            Err(error) => {
                // It is fetched again when the message is tried again. Where no answer came, it may be stored with
                // the message.
                let unneeded = error.code() != ErrorCode::ShuttingDown;
                for attachment in attachments.into_iter().filter(|_| unneeded) {
                    self.bot.plane.tell(DiscardFile { workspace: speaker.workspace, attachment });
                }
                self.not_taken(room, seen, error).await
            }
        }
    }

    pub(super) async fn hand_over(&self, handed: Handed<'_>) -> Result<(), PlaneError> {
        let Handed { speaker, event, thread, text, attachments } = handed;
        let origin = Origin { event: event.to_string(), thread: thread.map(ToString::to_string) };
        let message = Incoming {
            id: text::message_id(event)?,
            speaker: speaker.clone(),
            text,
            attachments,
            origin: Some(origin.to_json()),
        };
        self.bot.plane.call(Receive { message }).await?;
        Ok(())
    }

    /// What was stored of an event, if it was.
    pub(super) async fn stored(
        &self,
        speaker: &Speaker,
        event: &EventId,
    ) -> Result<Option<Stored>, PlaneError> {
        let id = text::message_id(event)?;
        self.bot.plane.call(StoredMessage { speaker: speaker.clone(), id }).await
    }

    /// The message that is replied to, from this room and no other, as somebody's words.
    async fn quote(&self, room: &Room, earlier: &EventId) -> String {
        let unread = || text::quoted("in reply to a message that I can't read", "");
        let Ok(event) = self.fetch_readable(room, earlier).await else { return unread() };
        let Some(seen) = super::seen(&event) else { return unread() };
        let whose = if Some(&*seen.sender) == self.bot.client.user_id() {
            "in reply to what you (the agent) wrote".to_owned()
        } else {
            format!("in reply to {}", text::short(seen.sender.as_str(), 120))
        };
        if let Some(answer) = self.answer_told_by(room, earlier).await {
            return text::quoted(&whose, &answer);
        }
        match &seen.heard {
            Heard::Said(Said { text, file: None, .. }) => text::quoted(&whose, text),
            Heard::Said(Said { text, file: Some(file), .. }) => {
                text::quoted(&whose, &format!("(file {})\n{text}", file.name))
            }
            _ => text::quoted(&whose, ours(&event).as_deref().unwrap_or("(no text)")),
        }
    }

    /// The answer that begins with a message of ours, whole: the event itself holds what was shown first.
    async fn answer_told_by(&self, room: &Room, event: &EventId) -> Option<String> {
        let (connector, place) = (self.bot.id(), room.room_id().to_string());
        let here = self.bot.plane.call(ConversationAt { connector, place }).await.ok()??;
        let told = AnswerToldBy { conversation: here.id, message: event.to_string() };
        self.bot.plane.call(told).await.ok()?
    }

    /// The same, with a little patience: its key may have to come from the backup first.
    async fn fetch_readable(&self, room: &Room, id: &EventId) -> Result<TimelineEvent, NotThere> {
        let mut event = self.fetch_event(room, id).await?;
        for _ in 0..KEY_TRIES {
            if !matches!(event.kind, TimelineEventKind::UnableToDecrypt { .. }) {
                break;
            }
            tokio::time::sleep(KEY_PAUSE).await;
            event = self.fetch_event(room, id).await?;
        }
        Ok(event)
    }

    /// An event of a room, decrypted if it can be.
    pub(super) async fn fetch_event(
        &self,
        room: &Room,
        id: &EventId,
    ) -> Result<TimelineEvent, NotThere> {
        let fetched =
            tokio::time::timeout(self.bot.options.request_timeout(), room.event(id, None));
        let Ok(fetched) = fetched.await else { return Err(NotThere::Now) };
        fetched.map_err(|error| {
            tracing::debug!(room = %room.room_id(), error = with_causes(&error), "an event could not be fetched");
            let status = error.as_client_api_error().map(|error| error.status_code.as_u16());
            if matches!(status, Some(403 | 404)) { NotThere::Ever } else { NotThere::Now }
        })
    }
}

/// Why an event can't be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotThere {
    /// The homeserver does not answer.
    Now,
    /// The homeserver does not have it, or not for us.
    Ever,
}

/// The text of a notice: what we say ourselves is one, and is no message to us.
fn ours(event: &TimelineEvent) -> Option<String> {
    let json: serde_json::Value = serde_json::from_str(event.raw().json().get()).ok()?;
    Some(text::clean(json.pointer("/content/body")?.as_str()?))
}
