//! Buttons that somebody pressed: always answered, with what came of it.

use cloister_control::{Below, ButtonDone, ControlError, PressedButton, spell_commands};
use cloister_protocol::ErrorCode;
use cloister_store::approvals::ApprovalState;
use cloister_store::buttons::button_hash;

use super::may_pass;
use super::saying::PressAnswer;
use crate::telegram::SURFACE;
use crate::telegram::bot::{Bot, chat_and_thread};
use crate::telegram::updates::wire::{CallbackQuery, Message};

/// The most that Telegram takes for a button.
const LONGEST_DATA: usize = 64;

impl Bot {
    pub(super) async fn take_press(&self, query: &CallbackQuery) -> Result<(), ControlError> {
        let (words, alert) = match self.pressed(query).await {
            Ok(words) => (words, false),
            Err(error) if may_pass(&error) && !matches!(error, ControlError::Busy { .. }) => {
                return Err(error);
            }
            Err(error) => (refusal(&error), true),
        };
        let press = PressAnswer { query: query.id.clone(), words, alert };
        if !self.incoming.presses.push(press) {
            tracing::warn!("too many presses wait to be answered");
        }
        Ok(())
    }

    /// What pressing did, in a word.
    async fn pressed(&self, query: &CallbackQuery) -> Result<String, ControlError> {
        let nothing =
            || ControlError::refused(ErrorCode::NotFound, "this button does nothing any more");
        let token = query.data.as_deref().filter(|data| data.len() <= LONGEST_DATA);
        let (Some(token), Some(message)) = (token, query.message.as_ref()) else {
            return Err(nothing());
        };
        let account = query.from.id.to_string();
        if query.from.is_bot || !self.serves(&account).await? {
            return Err(ControlError::refused(ErrorCode::Forbidden, "this button is not for you"));
        }
        let place = self.pressed_in(message, token).await?;
        let pressed = PressedButton {
            surface: SURFACE,
            by: &account,
            connector: self.id(),
            conversation: &place,
            token,
            below: if message.is_inaccessible() { Below::Gone } else { Below::Shown },
        };
        Ok(match self.control.press_button(pressed).await? {
            ButtonDone::Answered(approval) => match approval.state {
                ApprovalState::Pending => "Noted; it waits for somebody else, too.".to_owned(),
                ApprovalState::Allowed => "Allowed.".to_owned(),
                ApprovalState::Denied => "Denied.".to_owned(),
                ApprovalState::Void => "It is not needed any more.".to_owned(),
            },
            ButtonDone::Command { text } => text,
        })
    }
}

impl Bot {
    /// The conversation that a button was pressed in. Of a message that was deleted or is too old for it Telegram tells
    /// the chat and the number alone, and not the topic: then it is the button's own, if that is in this chat.
    async fn pressed_in(&self, message: &Message, token: &str) -> Result<String, ControlError> {
        let place = message.place();
        if !message.is_inaccessible() {
            return Ok(place);
        }
        let store = self.control.store();
        let Some(button) = store.button(&button_hash(token)).await? else { return Ok(place) };
        let of = store.conversation_by_id(button.conversation).await?;
        let of = of.filter(|of| of.connector == self.id()).and_then(|of| of.external_id);
        let here = |id: &String| {
            chat_and_thread(id).is_some_and(|(chat, _thread)| chat == message.chat.id)
        };
        Ok(of.filter(here).unwrap_or(place))
    }
}

/// Why a press did nothing, for who pressed.
fn refusal(error: &ControlError) -> String {
    let body = error.body();
    let fix = body.fix.map(|fix| format!(" ({fix})")).unwrap_or_default();
    let words = format!("{}{fix}.", body.message);
    let words = spell_commands(SURFACE, &words);
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
