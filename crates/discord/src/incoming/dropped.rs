//! What is not taken, and never will be: it is on record, and who wrote it is told.

use cloister_kit::PlaneError;
use cloister_kit::words::short;
use cloister_protocol::surface::{Dropped, IsKnown};

use super::{Intake, Seen, addressed};
use crate::gateway::Event;

const WORDS: &str = "I could not take a message of yours, for a reason of mine that is in the log. Send it again, \
     perhaps in other words.";

impl Intake {
    /// Something that was said is given up. `tell`: it is of somebody that we know, and was meant for us.
    pub(super) async fn given_up(
        &self,
        (channel, event): (&str, &str),
        why: &str,
        tell: bool,
    ) -> Result<(), PlaneError> {
        self.record_dropped(event, why).await?;
        if tell {
            self.bot.sayings().speak(channel, &format!("given-up-{event}"), WORDS).await;
        }
        Ok(())
    }

    /// An event could not be handed over, and is passed over.
    pub(crate) async fn pass_over(&self, event: &Event, why: &str) -> Result<(), PlaneError> {
        let (message, edited) = match event {
            Event::Said(message) => (message, false),
            Event::Edited(message) => (message, true),
            other => return self.record_dropped(&other.name(), why).await,
        };
        let seen = Seen { message, edited };
        let tell = self.is_for_us_by_somebody(seen).await;
        self.given_up((&message.channel_id, &seen.id()), why, tell).await
    }

    async fn record_dropped(&self, what: &str, why: &str) -> Result<(), PlaneError> {
        self.bot.plane.count_error("skipped");
        let account = &self.bot.connector.account;
        tracing::error!(account, what, why, "given up after several tries");
        let (connector, what, why) = (self.bot.id(), what.to_owned(), short(why, 300));
        self.bot.plane.call(Dropped { connector, what, why }).await
    }

    /// Whether who wrote it is to be told that it is given up: nobody else hears anything of us.
    async fn is_for_us_by_somebody(&self, seen: Seen<'_>) -> bool {
        let (message, me) = (seen.message, self.bot.me.id.to_string());
        let meant = message.guild_id.is_none()
            || addressed::is_named(message, &me)
            || addressed::answers(message, &me);
        if !meant || !message.is_by_a_person() || message.author.id == me {
            return false;
        }
        let known = self.bot.plane.call(IsKnown { account: message.author.id.clone() }).await;
        known.unwrap_or_default()
    }
}
