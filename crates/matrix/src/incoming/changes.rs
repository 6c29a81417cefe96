//! What a person changes afterwards: edits and redactions of their own messages.
//!
//! What is stored is not rewritten: it was read, and is on record. An edit is said again as a correction; a
//! redaction ends a turn that still runs.

use cloister_kit::PlaneError;
use cloister_kit::waiting::Outcome;
use cloister_kit::words::no_command_by_edit;
use cloister_protocol::surface::{CancelTurn, ConversationAt, StopWaiting, StoredIn, WhoIs};
use matrix_sdk::Room;
use matrix_sdk::ruma::{EventId, OwnedEventId};

use super::heard::{Seen, took_back};
use super::messages::{Handed, NotThere};
use super::{ASK_AGAIN, Intake, MINUTE, text};
use crate::outgoing::Origin;

impl Intake {
    pub(super) async fn take_edit(
        &self,
        room: &Room,
        seen: &Seen,
        of: &EventId,
        words: &str,
    ) -> Result<Outcome, PlaneError> {
        let Some(speaker) = self.bot.speakers().speaker(room, seen, "").await? else {
            return Ok(Outcome::Done);
        };
        if self.stored(&speaker, &seen.id).await?.is_some() {
            return Ok(Outcome::Done);
        }
        let earlier = self.stored(&speaker, of).await?;
        if let Some((from, before)) = earlier.as_ref().and_then(|earlier| earlier.said.as_ref())
            && (from != speaker.name.as_str() || says_the_same(before, words))
        {
            return Ok(Outcome::Done);
        }
        if self.bot.plane.commands().is_command(words) {
            let words = no_command_by_edit(speaker.language);
            self.bot.sayings().tell(room, "edited-command", MINUTE, &words).await;
            return Ok(Outcome::Done);
        }
        let (text, thread) = match &earlier {
            Some(stored) => {
                let text = format!("(correction of an earlier message) {words}");
                (text, stored.origin.as_deref().and_then(thread_of))
            }
            // Not taken when it was written: before we came, or refused. Now it is.
            None if self.is_own(room, seen, of).await => (words.to_owned(), None),
            None => return Ok(Outcome::Done),
        };
        let (event, thread, attachments) = (&*seen.id, thread.as_ref(), Vec::new());
        let handed = Handed { speaker: &speaker, event, thread, text, attachments };
        match self.hand_over(handed).await {
            Ok(()) => Ok(Outcome::Done),
            Err(error) => self.not_taken(room, seen, error).await,
        }
    }

    /// Whether an event is not known to be somebody else's than who edits it.
    async fn is_own(&self, room: &Room, seen: &Seen, of: &EventId) -> bool {
        let earlier = self.fetch_event(room, of).await;
        let sender = earlier.ok().and_then(|event| event.sender());
        sender.is_none_or(|sender| sender == seen.sender)
    }

    /// Ends the turn of a message that its writer took back, if it still runs; one that waits is forgotten.
    pub(super) async fn take_redaction(
        &self,
        room: &Room,
        seen: &Seen,
        of: &EventId,
    ) -> Result<(), PlaneError> {
        let place = room.room_id().to_string();
        let account = seen.sender.to_string();
        let Some(person) = self.bot.plane.call(WhoIs { account }).await? else { return Ok(()) };
        let here = ConversationAt { connector: self.bot.id(), place: place.clone() };
        let Some(conversation) = self.bot.plane.call(here).await? else { return Ok(()) };
        if self.is_taken_back(room, seen, of).await? {
            let waits = StopWaiting { connector: self.bot.id(), place, event: of.to_string() };
            self.bot.plane.call(waits).await?;
        }
        let stored = StoredIn { conversation: conversation.id, id: text::message_id(of)? };
        let stored = self.bot.plane.call(stored).await?;
        let Some(stored) = stored.filter(|stored| !stored.answered) else { return Ok(()) };
        if stored.said.is_some_and(|(from, _)| from == person.name.as_str()) {
            self.bot.plane.call(CancelTurn { message: stored.id }).await?;
        }
        Ok(())
    }

    /// Whether a redaction is of who wrote the event, or of somebody whom the homeserver lets take it back.
    async fn is_taken_back(
        &self,
        room: &Room,
        seen: &Seen,
        of: &EventId,
    ) -> Result<bool, PlaneError> {
        match self.fetch_event(room, of).await {
            Ok(event) => {
                let event = serde_json::from_str(event.raw().json().get());
                Ok(event.is_ok_and(|event| took_back(&event, seen)))
            }
            // Nobody can say whose it was: what waits is looked at when its turn comes, and is not there then.
            Err(NotThere::Ever) => Ok(false),
            Err(NotThere::Now) => {
                let what = "the homeserver does not show what was taken back";
                Err(PlaneError::busy(what.to_owned(), ASK_AGAIN))
            }
        }
    }
}

/// The thread that a message was written in, as it was kept.
fn thread_of(origin: &str) -> Option<OwnedEventId> {
    serde_json::from_str::<Origin>(origin).ok()?.thread?.parse().ok()
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
