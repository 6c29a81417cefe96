//! Commands of the menu: handed to the inbox as what that person typed, once.

use std::time::Duration;

use cloister_kit::{Commands, PlaneError};
use cloister_protocol::surface::{Incoming, Receive, Speaker};
use cloister_protocol::{ErrorCode, with_causes};

use super::Interactions;
use super::respond::{Acknowledged, thinking};
use crate::commands;
use crate::incoming::{ChannelPlace, Speaks, why_not};
use crate::outgoing::Origin;
use crate::wire::{Account, Interaction};

/// Commands whose answers are for who gave them, where others read along: what is theirs, and what would be noise.
const PRIVATE: [&str; 16] = [
    "start",
    "help",
    "settings",
    "config",
    "pair",
    "chats",
    "context",
    "agent",
    "approvals",
    "grants",
    "budget",
    "network",
    "status",
    "tasks",
    "stop",
    "release",
];
/// What a pairing code is asked for with.
const PAIR: &str = "pair";

/// How long is looked for who gives a command before it is acknowledged.
const LOOK_FOR: Duration = Duration::from_millis(1000);
const NOT_YOURS: &str = "I can't take commands of yours here. If you are new, use `/pair` and give the code to whoever runs this.";

/// Whether a command is answered for one person alone.
pub(super) fn is_private(name: &str, place: &ChannelPlace) -> bool {
    !place.direct && PRIVATE.contains(&name)
}

impl Interactions {
    pub(super) async fn take_command(&self, asked: &Interaction) -> Result<(), PlaneError> {
        let (Some(account), Some(channel)) = (asked.by(), asked.place()) else { return Ok(()) };
        let place = self.place_of(asked);
        let who = tokio::time::timeout(LOOK_FOR, self.who_asks(asked, &place, account, channel));
        let who = who.await.ok();
        // Who is not heard here is told so, and nobody else sees it.
        let refused = matches!(who, Some(Ok(Speaks::Not { .. }))) && !place.direct;
        let private = refused || is_private(&asked.data.name, &place);
        if self.acknowledge(asked, &thinking(private)).await == Acknowledged::TooLate {
            return Ok(());
        }
        self.bot.answers().hold(&asked.id, asked.token.clone(), private);
        let who = match who {
            Some(who) => who,
            None => self.who_asks(asked, &place, account, channel).await,
        };
        let handed = match who {
            Ok(Speaks::To(speaker)) => self.hand_command(asked, &speaker, private).await,
            // Told before or not: who gives a command waits for an answer.
            Ok(Speaks::Not { tell, .. }) => Ok(Some(tell.unwrap_or_else(|| NOT_YOURS.to_owned()))),
            Err(error) => Err(error),
        };
        let words = match handed {
            Ok(None) => return Ok(()),
            Ok(Some(words)) => words,
            Err(error) if error.code() == ErrorCode::Internal => {
                tracing::error!(error = error.chain(), "a command could not be taken");
                "Something is wrong on my side: I did not take that. Try again in a moment."
                    .to_owned()
            }
            Err(error) => why_not(&error),
        };
        if let Err(error) = self.bot.answers().answer_at_once(&asked.id, &words, private).await {
            tracing::warn!(error = with_causes(&error), "who gave a command could not be told");
        }
        Ok(())
    }

    async fn who_asks(
        &self,
        asked: &Interaction,
        place: &ChannelPlace,
        account: &Account,
        channel: &str,
    ) -> Result<Speaks, PlaneError> {
        // A code is shown to who asks for it and to nobody else, wherever it is asked for.
        let words = if asked.data.name == PAIR { PAIR } else { "" };
        self.bot.speakers().speaks(place, channel, account, (words, true)).await
    }

    /// Hands a command to the inbox; or what is to be said instead.
    async fn hand_command(
        &self,
        asked: &Interaction,
        speaker: &Speaker,
        private: bool,
    ) -> Result<Option<String>, PlaneError> {
        let Some(text) = typed(self.bot.plane.commands(), asked) else {
            return Ok(Some("I do not know that command. `/help` lists what there is.".to_owned()));
        };
        let origin = Origin { message: None, interaction: Some(asked.id.clone()), private };
        let message = Incoming {
            id: format!("i-{}", asked.id).parse()?,
            speaker: speaker.clone(),
            text,
            attachments: Vec::new(),
            origin: Some(origin.to_json()),
        };
        self.bot.plane.call(Receive { message }).await?;
        Ok(None)
    }

    /// Where an interaction happened: Discord says it with the interaction itself.
    pub(super) fn place_of(&self, asked: &Interaction) -> ChannelPlace {
        match &asked.channel {
            Some(channel) => ChannelPlace::of(channel, asked.guild_id.as_deref()),
            // What is not known to be direct is shared.
            None => {
                let known = asked.place().and_then(|id| self.bot.places().known_place(id));
                known.unwrap_or_else(|| ChannelPlace {
                    guild: asked.guild_id.clone(),
                    ..ChannelPlace::default()
                })
            }
        }
    }
}

/// The command as it would be typed; none: there is no such command.
fn typed(there: &Commands, asked: &Interaction) -> Option<String> {
    let values: Vec<(String, String)> =
        asked.data.options.iter().map(|option| (option.name.clone(), option.text())).collect();
    let values: Vec<(&str, &str)> =
        values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    commands::typed(there, &asked.data.name, &values)
}

#[cfg(test)]
#[path = "commands_tests.rs"]
mod tests;
