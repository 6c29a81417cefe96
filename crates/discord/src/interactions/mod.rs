//! Commands of the menu, what is typed into them, and buttons. Discord waits three seconds: each is acknowledged
//! first, then done, then answered.

mod autocomplete;
mod buttons;
mod commands;
mod respond;

use cloister_kit::{PlaneError, part};

use super::bot::Bot;
use super::wire::Interaction;

/// What kind of interaction it is, as Discord numbers them.
const COMMAND: u64 = 2;
const COMPONENT: u64 = 3;
const AUTOCOMPLETE: u64 = 4;

part! {
    /// The commands of the menu, and buttons that people press.
    pub(crate) struct Interactions of Bot;
}

impl Interactions {
    /// Takes one interaction. Ok: what must be stored is stored, or it was not taken and its person knows.
    pub(super) async fn take(&self, asked: &Interaction) -> Result<(), PlaneError> {
        match asked.kind {
            COMMAND => self.take_command(asked).await,
            COMPONENT => self.take_press(asked).await,
            AUTOCOMPLETE => {
                self.offer_choices(asked).await;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
