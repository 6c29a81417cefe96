//! What was said in a channel while nobody listened: asked for page by page, from the oldest on.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::super::bot::{Bot, channel};
use super::super::incoming::Place;
use super::super::rest::Fault;
use super::super::wire::{Message, snowflake};
use crate::backoff::Backoff;

/// How many messages come at once.
const PAGE: u16 = 100;
/// How many pages are asked for at most; who wrote more than this to a bot that was away writes again.
const MOST_PAGES: usize = 50;
/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Everything said in a channel after a message, the oldest first; none: the bot is to stop.
pub(super) async fn missed(
    bot: &Bot,
    place: &str,
    after: u64,
    stop: &CancellationToken,
) -> Option<Vec<Message>> {
    let mut found: Vec<Message> = Vec::new();
    let mut after = after;
    let Some(Place { guild, .. }) = place_of(bot, place, stop).await? else { return Some(found) };
    for _ in 0..MOST_PAGES {
        let mut page = page(bot, place, after, stop).await?;
        let full = page.len() >= usize::from(PAGE);
        page.sort_by_key(|message| snowflake(&message.id));
        let last = page.last().and_then(|message| snowflake(&message.id));
        // What is asked for does not say which server it is from.
        found
            .extend(page.into_iter().map(|message| Message { guild_id: guild.clone(), ..message }));
        match last.filter(|last| full && *last > after) {
            Some(last) => after = last,
            None => return Some(found),
        }
    }
    tracing::warn!(place, "more was said while nobody listened than is asked for");
    Some(found)
}

/// What a channel is, or none where nothing can be read any more; none of either: the bot is to stop.
async fn place_of(bot: &Bot, place: &str, stop: &CancellationToken) -> Option<Option<Place>> {
    let mut backoff = Backoff::new(LONGEST_PAUSE);
    loop {
        if let Ok(found) = bot.place(place, None).await {
            return Some(found);
        }
        tokio::select! {
            () = stop.cancelled() => return None,
            () = tokio::time::sleep(backoff.next()) => {}
        }
    }
}

/// One page; an empty one where there is nothing to be had any more.
async fn page(
    bot: &Bot,
    place: &str,
    after: u64,
    stop: &CancellationToken,
) -> Option<Vec<Message>> {
    let mut backoff = Backoff::new(LONGEST_PAUSE);
    let (Some(id), Some(after)) =
        (channel(place), twilight_model::id::Id::new_checked(after.max(1)))
    else {
        return Some(Vec::new());
    };
    loop {
        let request = bot.http.channel_messages(id).limit(PAGE).after(after);
        let asked = bot.read::<Vec<Message>, _, _>(request);
        let asked = tokio::select! {
            () = stop.cancelled() => return None,
            asked = asked => asked,
        };
        let pause = match asked {
            Ok(page) => return Some(page),
            Err(Fault::Wait(wait)) => wait.max(backoff.next()),
            Err(Fault::Unreachable(why)) => {
                tracing::debug!(place, why, "a channel could not be read");
                backoff.next()
            }
            // The connection ends for the same reason, and says so.
            Err(Fault::Unauthorized) => LONGEST_PAUSE,
            Err(fault) => {
                tracing::info!(place, %fault, "a channel can't be read");
                return Some(Vec::new());
            }
        };
        tokio::select! {
            () = stop.cancelled() => return None,
            () = tokio::time::sleep(pause) => {}
        }
    }
}
