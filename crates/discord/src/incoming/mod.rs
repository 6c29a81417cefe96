//! From Discord's events to messages: nothing is counted as heard before it is stored.
//!
//! Who speaks is the account that Discord vouches for, never a name; bots and webhooks are nobody. Where others
//! read along, only what is meant for the agent is taken: a mention of it or a reply to it.

mod addressed;
mod changes;
mod dropped;
mod files;
mod guilds;
mod messages;
mod places;
mod saying;
mod speakers;
mod text;
mod waiting;

use std::time::Duration;

use cloister_kit::waiting::{Outcome, Working};
use cloister_kit::{Patience, PlaneError, part};
use cloister_protocol::ErrorCode;
use cloister_protocol::surface::{LetWait, OnceAWhile, WaitsIn, WhyWaiting};

use super::bot::Bot;
use super::gateway::Event;
use super::wire::Message;
pub(super) use places::{ChannelPlace, PlacesState};
pub(super) use saying::{Sayings, SayingsState};
pub(super) use speakers::Speaks;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);
/// When Discord is asked again what it could not be asked now.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// A message, or other words in the place of one.
#[derive(Clone, Copy, Debug)]
struct Seen<'a> {
    message: &'a Message,
    edited: bool,
}

impl Seen<'_> {
    /// What the inbox knows it by.
    fn id(&self) -> String {
        if self.edited { text::edit_id(self.message) } else { self.message.id.clone() }
    }
}

/// What the intake remembers of a bot while it runs.
#[derive(Default)]
pub(crate) struct IntakeState {
    patience: Patience,
    working: Working,
}

part! {
    /// Who speaks, and whether to us.
    pub(crate) struct Speakers of Bot;
}

part! {
    /// The servers, channels and threads that the bot is in.
    pub(crate) struct Places of Bot;
}

part! {
    /// The intake: what people say, stored before it counts as heard.
    pub(crate) struct Intake of Bot;
}

impl Intake {
    /// Whether an event is to be handed over at all. Nothing is asked for it: most of what is said on a server
    /// is nothing to us.
    pub(super) fn concerns(&self, event: &Event) -> bool {
        match event {
            Event::Said(message) => addressed::may_concern(message, &self.bot.me.id.to_string()),
            // What was not meant for us may be what was stored before.
            Event::Edited(message) => {
                message.is_by_a_person() && message.edited_timestamp.is_some()
            }
            Event::Guild(_)
            | Event::GuildGone(_)
            | Event::Deleted(_)
            | Event::Channel(_)
            | Event::ChannelGone(_)
            | Event::Interaction(_) => true,
            Event::Ready(_) | Event::Resumed | Event::Threads(_) | Event::Nothing => false,
        }
    }

    /// Takes one event. Ok: all that must be stored is stored. An error may pass, and the same event is to be
    /// handed over again.
    pub(super) async fn take(&self, event: &Event) -> Result<(), PlaneError> {
        match event {
            Event::Said(message) => self.hear(Seen { message, edited: false }).await,
            Event::Edited(message) => self.hear(Seen { message, edited: true }).await,
            Event::Deleted(deleted) => self.take_deletion(deleted).await,
            Event::Guild(guild) => self.bot.places().came_back_to(guild).await,
            Event::GuildGone(guild) => self.bot.places().lost_guild(guild).await,
            Event::Channel(channel) => self.bot.places().channel_changed(channel).await,
            Event::ChannelGone(channel) => self.bot.places().lost_channel(channel).await,
            Event::Interaction(asked) => self.bot.interactions().take(asked).await,
            Event::Ready(_) | Event::Resumed | Event::Threads(_) | Event::Nothing => Ok(()),
        }
    }

    async fn hear(&self, seen: Seen<'_>) -> Result<(), PlaneError> {
        let message = seen.message;
        if !message.is_by_a_person() || message.author.id == self.bot.me.id.to_string() {
            return Ok(());
        }
        let guild = message.guild_id.as_deref();
        let Some(place) = self.bot.places().place(&message.channel_id, guild).await? else {
            return Ok(());
        };
        let meant = place.direct || self.bot.speakers().is_addressed(message).await?;
        // Other words for what was meant for us are meant for us.
        let meant = meant || seen.edited && self.was_stored(message).await?;
        if !meant {
            return Ok(());
        }
        let files = text::files_of(message);
        let after_others = if !seen.edited && !files.is_empty() {
            Some(WhyWaiting::NoFile)
        } else if self.is_urgent(message) {
            // What helps against a flood goes ahead; what changes the chat comes after what was said before it.
            None
        } else {
            let (connector, place) = (self.bot.id(), message.channel_id.clone());
            let waits = self.bot.plane.call(WaitsIn { connector, place }).await?;
            waits.then_some(WhyWaiting::Busy)
        };
        let outcome = match after_others {
            // Whoever is not known here gets no file fetched, and nothing kept.
            Some(why) if self.bot.speakers().speaker_of(&place, seen).await?.is_some() => {
                Outcome::Later(why)
            }
            Some(_) => Outcome::Done,
            None => Box::pin(self.take_words(&place, seen)).await?,
        };
        match outcome {
            Outcome::Done => Ok(()),
            Outcome::Later(why) => self.wait(seen, why).await,
        }
    }

    fn is_urgent(&self, message: &Message) -> bool {
        self.bot
            .plane
            .commands()
            .is_urgent(&text::own_words(message, &self.bot.speakers().called(message)))
    }

    /// Does what a message asks for.
    async fn take_words(
        &self,
        place: &ChannelPlace,
        seen: Seen<'_>,
    ) -> Result<Outcome, PlaneError> {
        if seen.edited {
            self.take_edit(place, seen).await
        } else {
            self.take_message(place, seen).await
        }
    }

    /// Keeps a message for later, or says that too many wait.
    async fn wait(&self, seen: Seen<'_>, why: WhyWaiting) -> Result<(), PlaneError> {
        let channel = seen.message.channel_id.as_str();
        let kept = serde_json::to_string(seen.message).unwrap_or_default();
        let waits = LetWait {
            connector: self.bot.id(),
            place: channel.to_owned(),
            event: seen.id(),
            why,
            sealed: Some(kept),
        };
        if self.bot.plane.call(waits).await? {
            self.bot.intake.working.wake();
        } else {
            let words = "Too many of your messages wait already: I did not take the last ones. Send them \
                         again in a few minutes.";
            self.bot.sayings().tell(channel, "too-many", MINUTE, words).await;
        }
        Ok(())
    }

    /// What an error means for a message: it waits, it is given up and the person told, or it is tried again.
    async fn not_taken(&self, seen: Seen<'_>, error: PlaneError) -> Result<Outcome, PlaneError> {
        let channel = seen.message.channel_id.as_str();
        if error.is_busy() {
            let body = error.body();
            let words =
                format!("{}. Your message waits, and is taken when there is room.", body.message);
            self.bot.sayings().tell(channel, "busy", HOUR, &words).await;
            return Ok(Outcome::Later(WhyWaiting::Busy));
        }
        match error.code() {
            // That the control plane stops passes: a message is never skipped for it.
            ErrorCode::Internal | ErrorCode::ShuttingDown => return Err(error),
            code => {
                let words = why_not(&error);
                let key = format!("{channel} {code:?}");
                if self.bot.plane.call(OnceAWhile { key }).await.unwrap_or(false) {
                    self.bot
                        .sayings()
                        .speak(channel, &format!("not-taken-{}", seen.id()), &words)
                        .await;
                }
            }
        }
        Ok(Outcome::Done)
    }
}

/// Why something was not taken, for who wrote it.
pub(super) fn why_not(error: &PlaneError) -> String {
    let body = error.body();
    let fix = body.fix.map(|fix| format!(" ({fix})")).unwrap_or_default();
    format!("I did not take that: {}{fix}.", body.message)
}
