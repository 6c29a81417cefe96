//! What a person changes afterwards: edits of their own messages.
//!
//! What is stored is not rewritten: it was read, and is on record. An edit is said again as a correction, and is
//! never a command.

use cloister_kit::PlaneError;
use cloister_kit::waiting::Outcome;
use cloister_kit::words::no_command_by_edit;
use cloister_protocol::surface::{ConversationAt, Speaker, WaitsIn, WasStored, WhyWaiting};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::addressed::{Addressed, addressed};
use super::content::edited;
use super::messages::Handed;
use super::{Intake, MINUTE, marks};
use crate::updates::wire::Message;

/// The name of an edit: the same for the same edit, always. Two in the same second differ in their words.
pub(super) fn edit_name(message: &Message) -> String {
    let (words, _) = marks::words(message);
    let hash = Sha256::digest(words.as_bytes());
    let short: String = hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-e-{}-{short}", message.name(), message.edit_date.unwrap_or_default())
}

impl Intake {
    /// Takes an edit that has just arrived, or lets it wait for its turn.
    pub(super) async fn take_edited(
        &self,
        message: &Message,
        raw: &Value,
    ) -> Result<(), PlaneError> {
        // A moving location, a changed button or a new preview is nothing that anybody said.
        let Some(words) = edited(message, &self.us()) else { return Ok(()) };
        if self.bot.speakers().predates_us(message) || !self.listens_to_edit(message).await? {
            return Ok(());
        }
        let Some(speaker) = self.bot.speakers().speaker(message, "").await? else { return Ok(()) };
        let place = message.place();
        let waits = WaitsIn { connector: self.bot.id(), place: place.clone() };
        let outcome = if self.bot.plane.call(waits).await? {
            Outcome::Later(WhyWaiting::Busy)
        } else {
            self.take_edit(message, &speaker, &words).await?
        };
        match outcome {
            Outcome::Done => Ok(()),
            Outcome::Later(why) => self.wait((&place, &edit_name(message)), why, raw).await,
        }
    }

    /// Where others read along, what was taken before can be corrected; nothing else is looked at unless it
    /// names us.
    async fn listens_to_edit(&self, message: &Message) -> Result<bool, PlaneError> {
        let to_whom = addressed(message, &self.us());
        if message.is_private() || to_whom == Addressed::ToUs {
            return self.bot.speakers().listens(message, to_whom).await;
        }
        let here = ConversationAt { connector: self.bot.id(), place: message.place() };
        let known = self.bot.plane.call(here).await?;
        let Some(known) = known.filter(|_| to_whom == Addressed::No) else { return Ok(false) };
        let id = self.message_id(&message.name())?;
        let id = format!("{}:{}:{id}", known.workspace, known.chat);
        self.bot.plane.call(WasStored { id }).await
    }

    pub(super) async fn take_edit(
        &self,
        message: &Message,
        speaker: &Speaker,
        words: &str,
    ) -> Result<Outcome, PlaneError> {
        let name = edit_name(message);
        if self.stored(speaker, &name).await?.is_some() {
            return Ok(Outcome::Done);
        }
        let earlier = self.stored(speaker, &message.name()).await?;
        if let Some((from, before)) = earlier.as_ref().and_then(|earlier| earlier.said.as_ref())
            && (from != speaker.name.as_str() || says_the_same(before, words))
        {
            return Ok(Outcome::Done);
        }
        let to_us = addressed(message, &self.us()) == Addressed::ToUs;
        if earlier.is_none() && !message.is_private() && !to_us {
            return Ok(Outcome::Done);
        }
        if self.bot.plane.commands().is_command(words) {
            let words = no_command_by_edit(speaker.language);
            self.bot.sayings().tell(&message.place(), "edited-command", MINUTE, &words);
            return Ok(Outcome::Done);
        }
        let text = match &earlier {
            Some(_) => format!("(correction of an earlier message) {words}"),
            // Not taken when it was written: not meant for us then, or refused. Now it is.
            None => words.to_owned(),
        };
        let attachments = Vec::new();
        let message_id = message.answerable();
        let handed = Handed { speaker, name: &name, message: message_id, text, attachments };
        match self.hand_over(handed).await {
            Ok(()) => Ok(Outcome::Done),
            Err(error) => self.not_taken(message, error).await,
        }
    }
}

/// Whether the words are those that were stored, which may have a quote before them.
fn says_the_same(stored: &str, words: &str) -> bool {
    let stored = stored.trim_end();
    let words = words.trim_end();
    let is_quote = |before: &str| before.lines().all(|line| line.starts_with("> "));
    let quote = stored.strip_suffix(words).and_then(|before| before.strip_suffix("\n\n"));
    stored == words || quote.is_some_and(is_quote)
}

#[cfg(test)]
#[path = "changes_tests.rs"]
mod tests;
