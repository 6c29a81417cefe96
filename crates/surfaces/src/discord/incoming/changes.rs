//! What a person changes afterwards: edits and deletions of their own messages.
//!
//! What is stored is not rewritten: it was read, and is on record. An edit is said again as a correction; a
//! deletion ends a turn that still runs.

use cloister_control::words::is_command;
use cloister_control::{ControlError, Speaker};
use cloister_protocol::UserId;
use cloister_protocol::link::Cause;
use cloister_store::conversations::Conversation;
use cloister_store::inbox::{InboxItem, InboxState};

use super::{MINUTE, Place, Seen, text};
use crate::discord::SURFACE;
use crate::discord::bot::Bot;
use crate::discord::wire::{Deleted, Message};
use crate::waiting::Outcome;

impl Bot {
    pub(super) async fn take_edit(
        &self,
        place: &Place,
        seen: Seen<'_>,
    ) -> Result<Outcome, ControlError> {
        let message = seen.message;
        let Some(speaker) = self.speaker_of(place, seen).await? else { return Ok(Outcome::Done) };
        if self.control.stored_message(SURFACE, &speaker, &seen.id().parse()?).await?.is_some() {
            return Ok(Outcome::Done);
        }
        let earlier = self.control.stored_message(SURFACE, &speaker, &message.id.parse()?).await?;
        let words = text::own_words(message, &self.called(message));
        if let Some(Cause::Message { from, text: before, .. }) = earlier.as_ref().map(|e| &e.cause)
            && (from != speaker.name.as_str() || says_the_same(before, &words))
        {
            return Ok(Outcome::Done);
        }
        if words.is_empty() {
            return Ok(Outcome::Done);
        }
        if is_command(&words) {
            let words = "I do not take commands from an edit: send it as a message of its own.";
            self.tell(&message.channel_id, "edited-command", MINUTE, words).await;
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
    pub(super) async fn was_stored(&self, message: &Message) -> Result<bool, ControlError> {
        let there = self.control.store().conversation(self.id(), &message.channel_id).await?;
        let Some(conversation) = there else { return Ok(false) };
        Ok(self.said_in(conversation, &message.id).await?.is_some())
    }

    /// Ends the turns of messages that were deleted, if they still run; those that wait are forgotten. Discord
    /// does not say who deleted them: whoever may there, takes them back.
    pub(super) async fn take_deletion(&self, deleted: &Deleted) -> Result<(), ControlError> {
        let channel = deleted.channel_id.as_str();
        let store = self.control.store();
        let Some(conversation) = store.conversation(self.id(), channel).await? else {
            return Ok(());
        };
        for id in deleted.id.iter().chain(&deleted.ids) {
            store.stop_waiting(self.id(), channel, id).await?;
            // Whoever it was: a message is known by where it was said.
            let Some(item) = self.said_in(conversation.clone(), id).await? else { continue };
            if item.state != InboxState::Answered {
                self.control.cancel_turn(&item)?;
            }
        }
        Ok(())
    }

    /// What was stored of a message, whoever said it.
    async fn said_in(
        &self,
        conversation: Conversation,
        message: &str,
    ) -> Result<Option<InboxItem>, ControlError> {
        let speaker = Speaker {
            // Neither is looked at: a message is known by its conversation.
            user: UserId::from_number(0),
            name: "nobody".parse()?,
            workspace: conversation.workspace,
            chat: conversation.chat,
            conversation,
        };
        self.control.stored_message(SURFACE, &speaker, &message.parse()?).await
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
