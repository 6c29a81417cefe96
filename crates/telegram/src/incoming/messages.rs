//! A message becomes a turn: with its file, in the chat of its conversation.

use cloister_kit::PlaneError;
use cloister_kit::waiting::Outcome;
use cloister_protocol::surface::{
    Incoming, Receive, Speaker, Stored, StoredMessage, WaitsIn, WhyWaiting,
};
use cloister_protocol::{Attachment, MessageId, ParseIdError};
use serde_json::Value;

use super::addressed::{Addressed, addressed};
use super::content::{Content, Said, content};
use super::speakers::sender;
use super::{Intake, MINUTE};
use crate::outgoing::Origin;
use crate::updates::wire::{Message, Stopped};

/// What is handed over of a message.
pub(super) struct Handed<'a> {
    pub(super) speaker: &'a Speaker,
    /// The name of it; of an album, that of its first part.
    pub(super) name: &'a str,
    /// The message itself, which an answer refers to.
    pub(super) message: i64,
    pub(super) text: String,
    pub(super) attachments: Vec<Attachment>,
}

impl Intake {
    /// Takes a message that has just arrived, or lets it wait for its file, its album or its turn.
    pub(super) async fn take_arrived(
        &self,
        message: &Message,
        raw: &Value,
    ) -> Result<(), PlaneError> {
        if self.bot.members().take_move(message).await? || self.bot.speakers().predates_us(message)
        {
            return Ok(());
        }
        if self.bot.topics().take_news(message).await? {
            return Ok(());
        }
        let to_whom = addressed(message, &self.us());
        if to_whom == Addressed::ToAnother {
            return Ok(());
        }
        if to_whom == Addressed::No && !message.is_private() && message.media_group_id.is_some() {
            return self.keep_for_album(message, raw).await;
        }
        if !self.bot.speakers().listens(message, to_whom).await? {
            return Ok(());
        }
        let said = match content(message, &self.us()) {
            Content::Nothing => return Ok(()),
            Content::Unusable(what) => return self.cannot_use(message, what).await,
            Content::Said(said) => said,
        };
        let Some(speaker) = self.bot.speakers().speaker(message, &said.typed).await? else {
            return Ok(());
        };
        let place = message.place();
        let why = if said.file.is_some() {
            Some(WhyWaiting::NoFile)
        } else if self.bot.plane.commands().is_urgent(&said.typed) {
            // What helps against a flood goes ahead; what changes the chat comes after what was said before.
            None
        } else {
            let waits = self
                .bot
                .plane
                .call(WaitsIn { connector: self.bot.id(), place: place.clone() })
                .await?;
            waits.then_some(WhyWaiting::Busy)
        };
        let outcome = match why {
            Some(why) => Outcome::Later(why),
            None => self.take_said(message, &speaker, &said).await?,
        };
        match outcome {
            Outcome::Done => Ok(()),
            Outcome::Later(why) => self.wait((&place, &message.name()), why, raw).await,
        }
    }

    /// Keeps a part of an album that does not name us. The words are on one of its parts: which of them names us
    /// is seen when all are there.
    async fn keep_for_album(&self, message: &Message, raw: &Value) -> Result<(), PlaneError> {
        let Some(from) = sender(message) else { return Ok(()) };
        if self.bot.speakers().knows(from.id).await?
            && self.bot.speakers().was_connected(message).await?
        {
            let (place, name) = (message.place(), message.name());
            return self.wait((&place, &name), WhyWaiting::NoFile, raw).await;
        }
        Ok(())
    }

    /// Takes a message without a file.
    pub(super) async fn take_said(
        &self,
        message: &Message,
        speaker: &Speaker,
        said: &Said,
    ) -> Result<Outcome, PlaneError> {
        let name = message.name();
        if self.stored(speaker, &name).await?.is_some() {
            return Ok(Outcome::Done);
        }
        let handed = Handed {
            speaker,
            name: &name,
            message: message.message_id,
            text: said.text.clone(),
            attachments: Vec::new(),
        };
        match self.hand_over(handed).await {
            Ok(()) => Ok(Outcome::Done),
            Err(error) => self.not_taken(message, error).await,
        }
    }

    /// Somebody stopped an answer while it was being written: as if they had written the command.
    pub(super) async fn take_stop(&self, update: i64, stopped: &Stopped) -> Result<(), PlaneError> {
        let message = stopped.as_message();
        if !message.is_private() {
            return Ok(());
        }
        let Some(speaker) = self.bot.speakers().speaker(&message, "").await? else { return Ok(()) };
        let handed = Handed {
            speaker: &speaker,
            name: &format!("{}-stop-{update}", message.chat.id),
            message: 0,
            text: "/cancel".to_owned(),
            attachments: Vec::new(),
        };
        match self.hand_over(handed).await {
            Err(error) => self.not_taken(&message, error).await.map(drop),
            Ok(()) => Ok(()),
        }
    }

    pub(super) async fn hand_over(&self, handed: Handed<'_>) -> Result<(), PlaneError> {
        let Handed { speaker, name, message, text, attachments } = handed;
        let origin = i32::try_from(message).ok().filter(|message| *message > 0);
        let origin = origin.map(|message| Origin { message }.to_json());
        let (id, speaker) = (self.message_id(name)?, speaker.clone());
        let message = Incoming { id, speaker, text, attachments, origin };
        self.bot.plane.call(Receive { message }).await?;
        Ok(())
    }

    /// The name that the inbox knows a message by: two bots number what the same person writes alike.
    pub(super) fn message_id(&self, name: &str) -> Result<MessageId, ParseIdError> {
        format!("{}.{name}", self.bot.me.id).parse()
    }

    /// What was stored of a message, if it was.
    pub(super) async fn stored(
        &self,
        speaker: &Speaker,
        name: &str,
    ) -> Result<Option<Stored>, PlaneError> {
        let id = self.message_id(name)?;
        self.bot.plane.call(StoredMessage { speaker: speaker.clone(), id }).await
    }

    pub(super) async fn cannot_use(&self, message: &Message, what: &str) -> Result<(), PlaneError> {
        if self.bot.speakers().speaker(message, "").await?.is_some() {
            let words = format!(
                "I can't do anything with {what}. Write to me, or send a file, a picture, a voice message or a \
                 place."
            );
            self.bot.sayings().tell(&message.place(), "unusable", MINUTE, &words);
        }
        Ok(())
    }
}
