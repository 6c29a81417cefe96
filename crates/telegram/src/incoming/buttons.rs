//! Buttons that somebody pressed: always answered, with what came of it.

use cloister_kit::{PlaneError, part};
use cloister_protocol::ErrorCode;
use cloister_protocol::surface::{ApprovalState, Below, ButtonDone, ButtonPlace, PressButton};

use super::saying::PressAnswer;
use crate::bot::{Bot, chat_and_thread};
use crate::updates::wire::{CallbackQuery, Message};

/// The most that Telegram takes for a button.
const LONGEST_DATA: usize = 64;

part! {
    /// The buttons that people press.
    pub(crate) struct Buttons of Bot;
}

impl Buttons {
    pub(super) async fn take_press(&self, query: &CallbackQuery) -> Result<(), PlaneError> {
        let (words, alert) = match self.pressed(query).await {
            Ok(words) => (words, false),
            Err(error) if error.may_pass() && !error.is_busy() => {
                return Err(error);
            }
            Err(error) => (refusal(&error), true),
        };
        self.bot.sayings().answer(PressAnswer { query: query.id.clone(), words, alert });
        Ok(())
    }

    /// What pressing did, in a word.
    async fn pressed(&self, query: &CallbackQuery) -> Result<String, PlaneError> {
        let nothing =
            || PlaneError::refused(ErrorCode::NotFound, "this button does nothing any more");
        let token = query.data.as_deref().filter(|data| data.len() <= LONGEST_DATA);
        let (Some(token), Some(message)) = (token, query.message.as_ref()) else {
            return Err(nothing());
        };
        let account = query.from.id.to_string();
        if query.from.is_bot || !self.bot.speakers().serves(&account).await? {
            return Err(PlaneError::refused(ErrorCode::Forbidden, "this button is not for you"));
        }
        let place = self.pressed_in(message, token).await?;
        let (token, by) = (token.to_owned(), account);
        let below = if message.is_inaccessible() { Below::Gone } else { Below::Shown };
        let pressed = PressButton { connector: self.bot.id(), place, by, token, below };
        Ok(match self.bot.plane.call(pressed).await? {
            ButtonDone::Answered { state } => match state {
                ApprovalState::Pending => "Noted; it waits for somebody else, too.".to_owned(),
                ApprovalState::Allowed => "Allowed.".to_owned(),
                ApprovalState::Denied => "Denied.".to_owned(),
                ApprovalState::Void => "It is not needed any more.".to_owned(),
            },
            ButtonDone::Command { text } => text,
        })
    }

    /// The conversation that a button was pressed in. Of a message that was deleted or is too old for it Telegram tells
    /// the chat and the number alone, and not the topic: then it is the button's own, if that is in this chat.
    async fn pressed_in(&self, message: &Message, token: &str) -> Result<String, PlaneError> {
        let place = message.place();
        if !message.is_inaccessible() {
            return Ok(place);
        }
        let button = ButtonPlace { connector: self.bot.id(), token: token.to_owned() };
        let of = self.bot.plane.call(button).await?;
        let here = |id: &String| {
            chat_and_thread(id).is_some_and(|(chat, _thread)| chat == message.chat.id)
        };
        Ok(of.filter(here).unwrap_or(place))
    }
}

/// Why a press did nothing, for who pressed.
fn refusal(error: &PlaneError) -> String {
    let body = error.body();
    let fix = body.fix.map(|fix| format!(" ({fix})")).unwrap_or_default();
    let words = format!("{}{fix}.", body.message);
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
