//! Calls about answers that are pressed, and about words of the control plane's own.

use cloister_protocol::surface::{AnyCall, ButtonDone as Outcome};
use cloister_store::buttons::button_hash;

use super::{Done, SurfaceDesk, answer};
use crate::surfaces::{ButtonDone, Pressed, PressedButton, SurfaceError, TypedIn};

impl SurfaceDesk {
    pub(super) async fn about_words(&self, call: AnyCall) -> Result<Done, SurfaceError> {
        let control = &self.control;
        match call {
            AnyCall::MintButtons(c) => {
                let conversation = self.own_conversation(c.conversation).await?;
                Ok(answer(&c, control.surfaces().mint_buttons(&conversation, &c.presses).await?)?)
            }
            AnyCall::PressButton(c) => {
                self.own(c.connector).await?;
                let pressed = PressedButton {
                    surface: self.surface,
                    by: &c.by,
                    connector: c.connector,
                    conversation: &c.place,
                    token: &c.token,
                    below: c.below,
                };
                let done = match control.surfaces().press_button(pressed).await? {
                    ButtonDone::Answered(approval) => Outcome::Answered { state: approval.state },
                    ButtonDone::Command { text } => Outcome::Command { text },
                };
                Ok(answer(&c, done)?)
            }
            AnyCall::ButtonPlace(c) => {
                self.own(c.connector).await?;
                let button = control.store().inbox().button(&button_hash(&c.token)).await?;
                let of = match button {
                    Some(button) => {
                        control
                            .store()
                            .conversations()
                            .conversation_by_id(button.conversation)
                            .await?
                    }
                    None => None,
                };
                let of = of.filter(|of| of.connector == c.connector);
                Ok(answer(&c, of.and_then(|of| of.external_id))?)
            }
            AnyCall::PressAnswer(c) => {
                self.own_conversation(c.conversation).await?;
                let pressed = Pressed {
                    surface: self.surface,
                    by: &c.by,
                    conversation: c.conversation,
                    message: &c.message,
                    answer: c.answer,
                };
                Ok(answer(&c, control.surfaces().press(pressed).await?.is_some())?)
            }
            AnyCall::Choices(c) => {
                self.own(c.connector).await?;
                let typed_in = TypedIn {
                    connector: c.connector,
                    conversation: &c.place,
                    thread_of: c.thread_of.as_deref(),
                    private: c.private,
                };
                let who = (self.surface, c.by.as_str());
                Ok(answer(&c, control.surfaces().choices(who, typed_in, c.kind, &c.typed).await?)?)
            }
            AnyCall::OnceAWhile(c) => {
                Ok(answer(&c, control.surfaces().once_a_while(self.surface, &c.key))?)
            }
            AnyCall::RefusalAgain(c) => {
                Ok(answer(&c, control.surfaces().refusal_again(self.surface, &c.account))?)
            }
            AnyCall::TakeBackRefusal(c) => Ok(answer(
                &c,
                control.surfaces().take_back_refusal(self.surface, &c.account).await?,
            )?),
            AnyCall::PairingWords(c) => Ok(answer(
                &c,
                control.surfaces().pairing_words(self.surface, &c.account, &c.name).await,
            )?),
            AnyCall::Welcome(c) => {
                self.own_person(c.user).await?;
                Ok(answer(&c, control.surfaces().welcome(c.user, self.surface).await?)?)
            }
            other => Ok(Done::NotMine(Box::new(other))),
        }
    }
}
