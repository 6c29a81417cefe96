//! What was said in a channel while nobody listened: asked for page by page, from the oldest on, up to the time
//! at which it was begun. The next page is asked for when the one before is handed over.

use std::time::Duration;

use cloister_kit::{Backoff, PlaneError};
use cloister_protocol::surface::{ContextOf, Conversations};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::super::bot::{Bot, channel};
use super::super::incoming::ChannelPlace;
use super::super::rest::{Fault, at};
use super::super::wire::{Guild, Message, snowflake, snowflake_at, snowflake_since};
use super::CLOCKS_DIFFER_MS;

/// How many messages come at once.
const PAGE: u16 = 100;
/// How many requests for what was missed are under way at once, of all connections of a bot: the others are
/// people who wait for an answer.
pub(super) const ASKED_AT_ONCE: usize = 4;
/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// One channel that is asked.
pub(super) struct Backfill<'a> {
    bot: &'a Bot,
    channel: &'a str,
    turns: &'a Semaphore,
    stop: &'a CancellationToken,
    /// The newest message that was asked for.
    after: u64,
    /// What is newer is told by itself.
    until: u64,
    /// What it is, once that is known.
    known: Option<ChannelPlace>,
    ended: bool,
}

/// What comes next.
pub(super) enum Next {
    /// The oldest first, and the newest that was looked at.
    Page(Vec<Message>, u64),
    End,
    /// The bot is to stop.
    Stopped,
}

impl<'a> Backfill<'a> {
    /// Everything said in a channel after a message.
    pub(super) fn new(
        bot: &'a Bot,
        (channel, after): (&'a str, u64),
        turns: &'a Semaphore,
        stop: &'a CancellationToken,
    ) -> Self {
        let now = bot.plane.now_ms();
        let until = snowflake_at(now.saturating_add(CLOCKS_DIFFER_MS));
        Self { bot, channel, turns, stop, after, until, known: None, ended: false }
    }

    pub(super) async fn next(&mut self) -> Next {
        if self.ended {
            return Next::End;
        }
        let place = match self.known.clone() {
            Some(known) => known,
            None => match self.place().await {
                Some(Some(place)) => self.known.insert(place).clone(),
                Some(None) => return Next::End,
                None => return Next::Stopped,
            },
        };
        let Some(mut page) = self.page().await else { return Next::Stopped };
        page.sort_by_key(|message| snowflake(&message.id));
        let last = page.last().and_then(|message| snowflake(&message.id)).unwrap_or(0);
        self.ended = page.len() < usize::from(PAGE) || last <= self.after || last > self.until;
        self.after = self.after.max(last);
        // What is asked for does not say which server it is from.
        let named = |message| Message { guild_id: place.guild.clone(), ..message };
        Next::Page(page.into_iter().map(named).collect(), self.after)
    }

    /// What the channel is, or none where nothing can be read any more; none of either: the bot is to stop.
    async fn place(&self) -> Option<Option<ChannelPlace>> {
        let mut backoff = Backoff::new(LONGEST_PAUSE);
        loop {
            let asked = async {
                let _turn = self.turns.acquire().await;
                self.bot.places().place(self.channel, None).await
            };
            let asked = tokio::select! {
                () = self.stop.cancelled() => return None,
                asked = asked => asked,
            };
            if let Ok(found) = asked {
                return Some(found);
            }
            self.pause(backoff.pause()).await?;
        }
    }

    /// One page; an empty one where there is nothing to be had any more.
    async fn page(&self) -> Option<Vec<Message>> {
        let place = self.channel;
        let mut backoff = Backoff::new(LONGEST_PAUSE);
        let Some(channel) = channel(place) else { return Some(Vec::new()) };
        loop {
            let asked = async {
                let _turn = self.turns.acquire().await;
                let after = self.after.max(1);
                self.bot.get::<Vec<Message>>(at::messages_after(channel, after, PAGE)).await
            };
            let asked = tokio::select! {
                () = self.stop.cancelled() => return None,
                asked = asked => asked,
            };
            let pause = match asked {
                Ok(page) => return Some(page),
                Err(Fault::Wait(wait)) => wait.max(backoff.pause()),
                Err(Fault::Unreachable(why)) => {
                    tracing::debug!(place, why, "a channel could not be read");
                    backoff.pause()
                }
                // The connection ends for the same reason, and says so.
                Err(Fault::Unauthorized) => LONGEST_PAUSE,
                Err(fault) => {
                    tracing::info!(place, %fault, "a channel can't be read");
                    return Some(Vec::new());
                }
            };
            self.pause(pause).await?;
        }
    }

    /// None: the bot is to stop.
    async fn pause(&self, pause: Duration) -> Option<()> {
        tokio::select! {
            () = self.stop.cancelled() => None,
            () = tokio::time::sleep(pause) => Some(()),
        }
    }
}

/// Every conversation that something may have been said in.
pub(super) async fn known(bot: &Bot) -> Result<Vec<String>, PlaneError> {
    let known = bot.plane.call(Conversations { connector: bot.id() }).await?;
    Ok(known.into_iter().filter_map(|conversation| conversation.external_id).collect())
}

/// The channels and threads of a server that somebody connected and something was said in, each with from where on: what
/// was said before the bot was there, or before the channel was connected, was not said to it.
pub(super) async fn spoken_in(
    bot: &Bot,
    guild: Guild,
    since: u64,
) -> Result<Vec<(String, u64)>, PlaneError> {
    let came = guild.joined_at.as_deref().and_then(snowflake_since).unwrap_or(0);
    let mut found = Vec::new();
    for channel in guild.channels.iter().chain(&guild.threads) {
        let last = channel.last_message_id.as_deref().and_then(snowflake);
        if last.is_none_or(|last| last <= since.max(came)) {
            continue;
        }
        let parent = channel.parent_id.as_deref().filter(|_| channel.is_thread());
        for id in [Some(channel.id.as_str()), parent].into_iter().flatten() {
            if let Some(context) = bot.plane.call(ContextOf { place: id.to_owned() }).await? {
                let connected = snowflake_at(context.created_at);
                found.push((channel.id.clone(), since.max(came).max(connected)));
                break;
            }
        }
    }
    Ok(found)
}
