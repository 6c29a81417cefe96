//! Answers by reaction: an approval that a person gives with one touch.

use cloister_control::{ControlError, Pressed};
use cloister_protocol::{AgentFrame, Answer, ErrorCode};
use matrix_sdk::Room;
use matrix_sdk::ruma::EventId;

use super::MINUTE;
use super::heard::Seen;
use crate::SURFACE;
use crate::bot::Bot;
use crate::outgoing::{Touch, answer_of};

impl Bot {
    /// Answers the question that the message asks. A reaction to anything else says nothing.
    pub(super) async fn take_reaction(
        &self,
        room: &Room,
        seen: &Seen,
        to: &EventId,
        with: &str,
    ) -> Result<(), ControlError> {
        let Some(answer) = answer_of(with) else { return Ok(()) };
        let place = room.room_id().as_str();
        let Some(conversation) = self.control.store().conversation(self.id(), place).await? else {
            return Ok(());
        };
        let told = self.control.store().told_by(conversation.id, to.as_str()).await?;
        if !told.is_some_and(|row| matches!(row.frame, AgentFrame::Ask(_))) {
            return Ok(());
        }
        if let Some(why) = self.why_not_counted(room, seen, answer).await? {
            self.tell(room, "reaction-not-counted", MINUTE, why).await;
            return Ok(());
        }
        let pressed = Pressed {
            surface: SURFACE,
            by: seen.sender.as_str(),
            conversation: conversation.id,
            message: to.as_str(),
            answer,
        };
        let Err(error) = self.control.press(pressed).await else { return Ok(()) };
        match error.code() {
            ErrorCode::Internal | ErrorCode::ShuttingDown => Err(error),
            // It was answered before, by them or by somebody else: the question says so itself.
            ErrorCode::Conflict | ErrorCode::NotFound => Ok(()),
            _ => {
                let key = format!("matrix reaction {} {}", room.room_id(), seen.sender);
                if self.control.once_a_while(&key) {
                    let words = format!("{}: {}.", seen.sender, error.body().message);
                    self.speak(room, &format!("reaction-{}", seen.id), &words).await;
                }
                Ok(())
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
    ) -> Result<Option<&'static str>, ControlError> {
        if !self.knows(&seen.sender).await? {
            return Ok(None);
        }
        let in_the_clear = !seen.sealed && self.is_sealed(room).await?;
        let touch = Touch { reactions: self.options.reactions, in_the_clear };
        if !touch.counts(answer) {
            return Ok(Some(touch.why_not()));
        }
        let doubtful = in_the_clear
            && answer.is_allowing()
            && !self.has_only_signed_devices(&seen.sender).await?;
        Ok(doubtful.then_some(UNVERIFIED_DEVICES))
    }
}

const UNVERIFIED_DEVICES: &str = "I did not take your reaction: one of your devices is not verified, and a reaction \
     does not say which device it came from. Verify that device in your app or log it out, or write `!yes`.";
