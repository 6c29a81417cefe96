//! What a person changes afterwards: edits and deletions of their own messages.
//!
//! What is stored is not rewritten: it was read, and is on record. An edit is said again as a correction; a
//! deletion ends a turn that still runs.

use cloister_kit::PlaneError;
use cloister_kit::waiting::Outcome;
use cloister_kit::words::no_command_by_edit;
use cloister_protocol::surface::{
    CancelTurn, ConversationAt, ConversationId, Speaker, StopWaiting, Stored, StoredIn,
    StoredMessage,
};

use super::{ChannelPlace, Intake, MINUTE, Seen, text};
use crate::wire::{Deleted, Message};

impl Intake {
    pub(super) async fn take_edit(
        &self,
        place: &ChannelPlace,
        seen: Seen<'_>,
    ) -> Result<Outcome, PlaneError> {
        let message = seen.message;
        let Some(speaker) = self.bot.speakers().speaker_of(place, seen).await? else {
            return Ok(Outcome::Done);
        };
        if self.stored(&speaker, &seen.id()).await?.is_some() {
            return Ok(Outcome::Done);
        }
        let earlier = self.stored(&speaker, &message.id).await?;
        let words = text::own_words(message, &self.bot.speakers().called(message));
        if let Some((from, before)) = earlier.as_ref().and_then(|earlier| earlier.said.as_ref())
            && (from != speaker.name.as_str() || says_the_same(before, &words))
        {
            return Ok(Outcome::Done);
        }
        if words.is_empty() {
            return Ok(Outcome::Done);
        }
        if self.bot.plane.commands().is_command(&words) {
            let words = no_command_by_edit(speaker.language);
            self.bot.sayings().tell(&message.channel_id, "edited-command", MINUTE, &words).await;
            return Ok(Outcome::Done);
        }
        let text = match &earlier {
            Some(_) => format!("(correction of an earlier message) {words}"),
            // Not taken when it was written: before we came, or not meant for us. Now it is.
            None => words,
        };
        match self.hand_over(&speaker, seen, text, Vec::new()).await {
            Ok(()) => Ok(Outcome::Done),
            Err(error) => self.not_taken(seen, error).await,
        }
    }

    /// Whether a message was stored that is edited now, although it names us no longer.
    pub(super) async fn was_stored(&self, message: &Message) -> Result<bool, PlaneError> {
        let (connector, place) = (self.bot.id(), message.channel_id.clone());
        let there = self.bot.plane.call(ConversationAt { connector, place }).await?;
        let Some(conversation) = there else { return Ok(false) };
        Ok(self.said_in(conversation.id, &message.id).await?.is_some())
    }

    /// Ends the turns of messages that were deleted, if they still run; those that wait are forgotten. Discord
    /// does not say who deleted them: whoever may there, takes them back.
    pub(super) async fn take_deletion(&self, deleted: &Deleted) -> Result<(), PlaneError> {
        let (connector, place) = (self.bot.id(), deleted.channel_id.clone());
        let there = self.bot.plane.call(ConversationAt { connector, place: place.clone() }).await?;
        let Some(conversation) = there else { return Ok(()) };
        for id in deleted.id.iter().chain(&deleted.ids) {
            let (place, event) = (place.clone(), id.clone());
            self.bot.plane.call(StopWaiting { connector, place, event }).await?;
            let Some(stored) = self.said_in(conversation.id, id).await? else { continue };
            if !stored.answered {
                self.bot.plane.call(CancelTurn { message: stored.id }).await?;
            }
        }
        Ok(())
    }

    /// What was stored of a message, whoever said it: a message is known by where it was said.
    async fn said_in(
        &self,
        conversation: ConversationId,
        message: &str,
    ) -> Result<Option<Stored>, PlaneError> {
        let id = message.parse()?;
        self.bot.plane.call(StoredIn { conversation, id }).await
    }

    /// What was stored of a message, or of an edit, by what the inbox knows it by.
    pub(super) async fn stored(
        &self,
        speaker: &Speaker,
        id: &str,
    ) -> Result<Option<Stored>, PlaneError> {
        let id = id.parse()?;
        self.bot.plane.call(StoredMessage { speaker: speaker.clone(), id }).await
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
