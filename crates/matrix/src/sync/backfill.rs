//! Asks for events that a response left out, oldest first.

use std::time::Duration;

use cloister_kit::Backoff;
use matrix_sdk::Room;
use matrix_sdk::deserialized_responses::TimelineEvent;
use matrix_sdk::room::{Messages, MessagesOptions};
use matrix_sdk::ruma::UInt;
use tokio_util::sync::CancellationToken;

use super::news::{Gap, Until};
use crate::bot::Bot;
use crate::session::fault::{Fault, brief};

/// Events per request.
const PAGE: u32 = 100;
/// The most that is read back in one room: what is older was left unread for longer than anybody waits.
const MOST_PAGES: usize = 100;
/// What clocks of servers may differ by.
const SLACK_MS: i64 = 10 * 60 * 1000;
const REFUSALS: usize = 3;

/// What is missing; none: the account is to stop.
pub(crate) async fn missing(
    bot: &Bot,
    room: &Room,
    gap: &Gap,
    stop: &CancellationToken,
) -> Option<Vec<TimelineEvent>> {
    let mut newest_first = Vec::new();
    let mut from = gap.from.clone();
    for _ in 0..MOST_PAGES {
        let mut options = MessagesOptions::backward();
        options.from.clone_from(&from);
        options.limit = UInt::from(PAGE);
        if let Until::Position(position) = &gap.until {
            options.to = Some(position.clone());
        }
        let Some(page) = page(bot, room, options, stop).await? else { break };
        let before = newest_first.len();
        let whole = page.chunk.len();
        newest_first
            .extend(page.chunk.into_iter().take_while(|event| is_missing(event, &gap.until)));
        let reached_known = newest_first.len() - before < whole;
        let further = page.end.filter(|end| from.as_ref() != Some(end));
        if reached_known || further.is_none() {
            newest_first.reverse();
            return Some(newest_first);
        }
        from = further;
    }
    tracing::warn!(
        room = %room.room_id(),
        events = newest_first.len(),
        "not all that was missed in a room could be read"
    );
    newest_first.reverse();
    Some(newest_first)
}

fn is_missing(event: &TimelineEvent, until: &Until) -> bool {
    match until {
        Until::Position(_) => true,
        Until::HeardAt(heard) => {
            event.timestamp().is_none_or(|at| i64::from(at.0) > heard.saturating_sub(SLACK_MS))
        }
    }
}

/// One page. Outer none: the account is to stop; inner none: the server will not give it.
async fn page(
    bot: &Bot,
    room: &Room,
    options: MessagesOptions,
    stop: &CancellationToken,
) -> Option<Option<Messages>> {
    let mut backoff = Backoff::new(bot.options.retry_most());
    let mut refusals = 0;
    loop {
        let asked = clone(&options);
        let answer = tokio::select! {
            () = stop.cancelled() => return None,
            answer = room.messages(asked) => answer,
        };
        let error = match answer {
            Ok(page) => return Some(Some(page)),
            Err(error) => error,
        };
        let refused =
            error.as_client_api_error().is_some_and(|error| error.status_code.is_client_error());
        let pause = match Fault::of(&error, bot.plane.now_ms()) {
            Fault::Wait(pause) => pause,
            _ if refused => {
                refusals += 1;
                if refusals >= REFUSALS {
                    tracing::warn!(room = %room.room_id(), why = brief(&error), "missed events are not given");
                    return Some(None);
                }
                Duration::from_secs(1)
            }
            _ => backoff.pause(),
        };
        tokio::select! {
            () = stop.cancelled() => return None,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

fn clone(options: &MessagesOptions) -> MessagesOptions {
    let mut copy = MessagesOptions::new(options.dir);
    copy.from.clone_from(&options.from);
    copy.to.clone_from(&options.to);
    copy.limit = options.limit;
    copy
}
