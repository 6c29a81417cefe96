//! Answers by reaction: an approval that a person gives with one touch.

use cloister_kit::{PlaneError, part};
use cloister_protocol::surface::{Asks, ConversationAt, OnceAWhile, PressAnswer};
use cloister_protocol::{Answer, ErrorCode};
use matrix_sdk::Room;
use matrix_sdk::deserialized_responses::TimelineEvent;
use matrix_sdk::ruma::EventId;

use super::heard::Seen;
use super::messages::NotThere;
use super::speakers::is_private;
use super::{ASK_AGAIN, MINUTE};
use crate::bot::Bot;
use crate::outgoing::{Touch, answer_of};

part! {
    /// The reactions that answer questions.
    pub(crate) struct Reactions of Bot;
}

impl Reactions {
    /// Answers the question that the message asks. A reaction to anything else says nothing.
    pub(super) async fn take_reaction(
        &self,
        room: &Room,
        seen: &Seen,
        to: &EventId,
        with: &str,
    ) -> Result<(), PlaneError> {
        let Some(answer) = answer_of(with) else { return Ok(()) };
        let here = ConversationAt { connector: self.bot.id(), place: room.room_id().to_string() };
        let Some(conversation) = self.bot.plane.call(here).await? else { return Ok(()) };
        let asks = Asks { conversation: conversation.id, message: to.to_string() };
        if !self.bot.plane.call(asks).await? {
            return Ok(());
        }
        // What is asked of one person is answered where they are by themselves, as it is by words.
        if is_private(&conversation)
            && !self.bot.privacy().keep_private(room, &conversation).await?
        {
            return Ok(());
        }
        for event in [to, &*seen.id] {
            if !self.still_stands(room, event).await? {
                self.bot.sayings().tell(room, "reaction-to-nothing", MINUTE, WITHDRAWN).await;
                return Ok(());
            }
        }
        if let Some(why) = self.why_not_counted(room, seen, answer).await? {
            self.bot.sayings().tell(room, "reaction-not-counted", MINUTE, why).await;
            return Ok(());
        }
        let pressed = PressAnswer {
            conversation: conversation.id,
            message: to.to_string(),
            by: seen.sender.to_string(),
            answer,
        };
        let Err(error) = self.bot.plane.call(pressed).await else { return Ok(()) };
        match error.code() {
            ErrorCode::Internal | ErrorCode::ShuttingDown => Err(error),
            // It was answered before, by them or by somebody else: the question says so itself.
            ErrorCode::Conflict | ErrorCode::NotFound => Ok(()),
            _ => {
                let key = format!("matrix reaction {} {}", room.room_id(), seen.sender);
                if self.bot.plane.call(OnceAWhile { key }).await.unwrap_or(false) {
                    let words = format!("{}: {}.", seen.sender, error.body().message);
                    self.bot.sayings().speak(room, &format!("reaction-{}", seen.id), &words).await;
                }
                Ok(())
            }
        }
    }

    /// Whether an event is on the homeserver as it was sent: a question that was taken away is not shown to
    /// anybody, and a reaction that was taken back is none.
    async fn still_stands(&self, room: &Room, event: &EventId) -> Result<bool, PlaneError> {
        match self.bot.intake().fetch_event(room, event).await {
            Ok(found) => Ok(!is_redacted(&found)),
            Err(NotThere::Ever) => Ok(false),
            Err(NotThere::Now) => {
                Err(PlaneError::busy("a question could not be looked at", ASK_AGAIN))
            }
        }
    }

    /// Why a reaction of somebody we know is no answer, if it is none. In the clear it may be of any device,
    /// and of the homeserver.
    async fn why_not_counted(
        &self,
        room: &Room,
        seen: &Seen,
        answer: Answer,
    ) -> Result<Option<&'static str>, PlaneError> {
        if !self.bot.speakers().knows(&seen.sender).await? {
            return Ok(None);
        }
        let in_the_clear = !seen.sealed && self.bot.intake().is_sealed(room).await?;
        let touch = Touch { reactions: self.bot.options.reactions, in_the_clear };
        if !touch.counts(answer) {
            return Ok(Some(touch.why_not()));
        }
        let doubtful = in_the_clear
            && answer.is_allowing()
            && !self.bot.devices().has_only_signed_devices(&seen.sender).await?;
        Ok(doubtful.then_some(UNVERIFIED_DEVICES))
    }
}

/// Whether somebody took an event away: what it said is gone then, and the homeserver says who did.
fn is_redacted(event: &TimelineEvent) -> bool {
    let json = serde_json::from_str::<serde_json::Value>(event.raw().json().get());
    json.map_or(true, |event| {
        let taken_away = event.pointer("/unsigned/redacted_because").is_some();
        let empty = event.get("content").and_then(serde_json::Value::as_object);
        taken_away || empty.is_none_or(serde_json::Map::is_empty)
    })
}

const WITHDRAWN: &str = "I did not take your reaction: what it answers was taken away. `!approvals` shows what waits for \
     an answer.";
const UNVERIFIED_DEVICES: &str = "I did not take your reaction: one of your devices is not verified, and a reaction \
     does not say which device it came from. Verify that device in your app or log it out, or write `!yes`.";
