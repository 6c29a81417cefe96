//! What is offered while somebody types: their own tasks, chats and questions, or those of the channel.

use std::time::Duration;

use cloister_kit::words::short;
use cloister_protocol::surface::{Choice, Choices};
use serde::Serialize;

use super::Interactions;
use super::respond::offer;
use crate::commands;
use crate::wire::Interaction;

/// How long is looked for choices; then none are offered.
const LOOK_FOR: Duration = Duration::from_millis(1500);
/// How many Discord takes.
const MOST: usize = 25;
/// The longest of a choice that Discord takes, in characters.
const LONGEST: usize = 99;

impl Interactions {
    /// Offers what fits what was typed so far. Who is nobody is offered nothing.
    pub(super) async fn offer_choices(&self, asked: &Interaction) {
        let choices = tokio::time::timeout(LOOK_FOR, self.choices_for(asked)).await;
        let choices = choices.unwrap_or_default();
        let choices: Vec<Offered> = choices.into_iter().take(MOST).filter_map(offered).collect();
        self.acknowledge(asked, &offer(&choices)).await;
    }

    async fn choices_for(&self, asked: &Interaction) -> Vec<Choice> {
        let Some(account) = asked.by() else { return Vec::new() };
        let Some(option) = asked.data.options.iter().find(|option| option.focused) else {
            return Vec::new();
        };
        let Some(kind) =
            commands::choices_of(self.bot.plane.commands(), &asked.data.name, &option.name)
        else {
            return Vec::new();
        };
        let place = self.place_of(asked);
        let fitting = Choices {
            connector: self.bot.id(),
            by: account.id.clone(),
            place: asked.channel_id.clone().unwrap_or_default(),
            thread_of: place.thread_of,
            private: asked.guild_id.is_none(),
            kind,
            typed: option.text(),
        };
        match self.bot.plane.call(fitting).await {
            Ok(choices) => choices,
            Err(error) => {
                tracing::debug!(error = error.chain(), "nothing can be offered to choose from");
                Vec::new()
            }
        }
    }
}

/// A choice as Discord takes it.
#[derive(Serialize)]
pub(super) struct Offered {
    name: String,
    value: String,
}

/// What is too long to be typed for somebody is not offered.
fn offered(choice: Choice) -> Option<Offered> {
    let fits = (1..=LONGEST).contains(&choice.value.chars().count());
    let name = if choice.label.trim().is_empty() { choice.value.clone() } else { choice.label };
    fits.then(|| Offered { name: short(&name, LONGEST), value: choice.value })
}

#[cfg(test)]
#[path = "autocomplete_tests.rs"]
mod tests;
