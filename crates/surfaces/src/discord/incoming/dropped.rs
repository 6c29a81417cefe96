//! What is not taken, and never will be: it is on record, and who wrote it is told.

use cloister_control::ControlError;
use cloister_control::words::short;
use cloister_store::audit::Entry;

use super::{Seen, addressed};
use crate::discord::SURFACE;
use crate::discord::bot::Bot;
use crate::discord::gateway::Event;

const WORDS: &str = "I could not take a message of yours, for a reason of mine that is in the log. Send it again, \
     perhaps in other words.";

impl Bot {
    /// Something that was said is given up. `tell`: it is of somebody that we know, and was meant for us.
    pub(super) async fn given_up(
        &self,
        (channel, event): (&str, &str),
        why: &str,
        tell: bool,
    ) -> Result<(), ControlError> {
        self.record_dropped(event, why).await?;
        if tell {
            self.speak(channel, &format!("given-up-{event}"), WORDS).await;
        }
        Ok(())
    }

    /// An event could not be handed over, and is passed over.
    pub(in crate::discord) async fn pass_over(
        &self,
        event: &Event,
        why: &str,
    ) -> Result<(), ControlError> {
        let (message, edited) = match event {
            Event::Said(message) => (message, false),
            Event::Edited(message) => (message, true),
            other => return self.record_dropped(&other.name(), why).await,
        };
        let seen = Seen { message, edited };
        let tell = self.is_for_us_by_somebody(seen).await;
        self.given_up((&message.channel_id, &seen.id()), why, tell).await
    }

    async fn record_dropped(&self, what: &str, why: &str) -> Result<(), ControlError> {
        self.control.metrics().connector_error(SURFACE, "skipped");
        let account = &self.connector.account;
        tracing::error!(account, what, why, "given up after several tries");
        let entry = Entry::new("control", "message.dropped", format!("{SURFACE} {account}"))
            .with(format!("{what}: {}", short(why, 300)));
        Ok(self.control.store().audit(entry).await?)
    }

    /// Whether who wrote it is to be told that it is given up: nobody else hears anything of us.
    async fn is_for_us_by_somebody(&self, seen: Seen<'_>) -> bool {
        let (message, me) = (seen.message, self.me.id.to_string());
        let meant = message.guild_id.is_none()
            || addressed::is_named(message, &me)
            || addressed::answers(message, &me);
        if !meant || !message.is_by_a_person() || message.author.id == me {
            return false;
        }
        let known = self.control.store().identity(SURFACE, &message.author.id).await;
        known.is_ok_and(|known| known.is_some())
    }
}
