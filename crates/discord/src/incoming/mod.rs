//! From Discord's events to messages: nothing is counted as heard before it is stored.
//!
//! Who speaks is the account that Discord vouches for, never a name; bots and webhooks are nobody. Where others
//! read along, only what is meant for the agent is taken: a mention of it or a reply to it.

mod addressed;
mod changes;
mod dropped;
mod files;
mod guilds;
mod memory;
mod messages;
mod places;
mod speakers;
mod text;
mod waiting;

use std::time::Duration;

use cloister_kit::PlaneError;
use cloister_kit::waiting::Outcome;
use cloister_protocol::surface::{LetWait, OnceAWhile, SendError, WaitsIn, WhyWaiting};
use cloister_protocol::{ErrorCode, with_causes};

use super::bot::Bot;
use super::gateway::Event;
use super::wire::Message;
pub(super) use memory::Memory;
pub(super) use places::Place;
pub(super) use speakers::Speaks;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);
/// When Discord is asked again what it could not be asked now.
const ASK_AGAIN: Duration = Duration::from_secs(5);
/// The longest that a sentence is held back because Discord asks for it.
const LONGEST_PAUSE: Duration = Duration::from_secs(3);

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

impl Bot {
    /// Whether an event is to be handed over at all. Nothing is asked for it: most of what is said on a server
    /// is nothing to us.
    pub(super) fn concerns(&self, event: &Event) -> bool {
        match event {
            Event::Said(message) => addressed::may_concern(message, &self.me.id.to_string()),
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
            Event::Guild(guild) => self.came_back_to(guild).await,
            Event::GuildGone(guild) => self.lost_guild(guild).await,
            Event::Channel(channel) => self.channel_changed(channel).await,
            Event::ChannelGone(channel) => self.lost_channel(channel).await,
            Event::Interaction(asked) => self.take_interaction(asked).await,
            Event::Ready(_) | Event::Resumed | Event::Threads(_) | Event::Nothing => Ok(()),
        }
    }

    async fn hear(&self, seen: Seen<'_>) -> Result<(), PlaneError> {
        let message = seen.message;
        if !message.is_by_a_person() || message.author.id == self.me.id.to_string() {
            return Ok(());
        }
        let guild = message.guild_id.as_deref();
        let Some(place) = self.place(&message.channel_id, guild).await? else { return Ok(()) };
        let meant = place.direct || self.is_addressed(message).await?;
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
            let (connector, place) = (self.id(), message.channel_id.clone());
            let waits = self.plane.call(WaitsIn { connector, place }).await?;
            waits.then_some(WhyWaiting::Busy)
        };
        let outcome = match after_others {
            // Whoever is not known here gets no file fetched, and nothing kept.
            Some(why) if self.speaker_of(&place, seen).await?.is_some() => Outcome::Later(why),
            Some(_) => Outcome::Done,
            None => Box::pin(self.take_words(&place, seen)).await?,
        };
        match outcome {
            Outcome::Done => Ok(()),
            Outcome::Later(why) => self.wait(seen, why).await,
        }
    }

    fn is_urgent(&self, message: &Message) -> bool {
        self.plane.commands().is_urgent(&text::own_words(message, &self.called(message)))
    }

    /// Does what a message asks for.
    async fn take_words(&self, place: &Place, seen: Seen<'_>) -> Result<Outcome, PlaneError> {
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
            connector: self.id(),
            place: channel.to_owned(),
            event: seen.id(),
            why,
            sealed: Some(kept),
        };
        if self.plane.call(waits).await? {
            self.incoming.working.wake();
        } else {
            let words = "Too many of your messages wait already: I did not take the last ones. Send them \
                         again in a few minutes.";
            self.tell(channel, "too-many", MINUTE, words).await;
        }
        Ok(())
    }

    /// Says something in a channel, unless it was said there so lately.
    async fn tell(&self, channel: &str, topic: &str, every: Duration, words: &str) {
        let now = self.plane.now_ms();
        if !self.incoming.lately.first_in(format!("{topic} {channel}"), every, now) {
            return;
        }
        let every = i64::try_from(every.as_millis()).unwrap_or(i64::MAX).max(1);
        self.speak(channel, &format!("{topic}-{}", now / every), words).await;
    }

    /// Says something in a channel; whether it could be said. That it could not is no reason to take the event
    /// again.
    async fn speak(&self, channel: &str, key: &str, words: &str) -> bool {
        let mut said = self.say(channel, key, words).await;
        if let Err(SendError::Wait(pause)) = &said {
            tokio::time::sleep((*pause).min(LONGEST_PAUSE)).await;
            said = self.say(channel, key, words).await;
        }
        if let Err(error) = &said {
            tracing::warn!(
                channel,
                error = with_causes(&error),
                "something could not be said in a channel"
            );
        }
        said.is_ok()
    }

    /// What an error means for a message: it waits, it is given up and the person told, or it is tried again.
    async fn not_taken(&self, seen: Seen<'_>, error: PlaneError) -> Result<Outcome, PlaneError> {
        let channel = seen.message.channel_id.as_str();
        if error.is_busy() {
            let body = error.body();
            let words =
                format!("{}. Your message waits, and is taken when there is room.", body.message);
            self.tell(channel, "busy", HOUR, &words).await;
            return Ok(Outcome::Later(WhyWaiting::Busy));
        }
        match error.code() {
            // That the control plane stops passes: a message is never skipped for it.
            ErrorCode::Internal | ErrorCode::ShuttingDown => return Err(error),
            code => {
                let words = why_not(&error);
                let key = format!("{channel} {code:?}");
                if self.plane.call(OnceAWhile { key }).await.unwrap_or(false) {
                    self.speak(channel, &format!("not-taken-{}", seen.id()), &words).await;
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
