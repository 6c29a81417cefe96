//! What goes on beside the reading: topics are kept as the chats are, Telegram knows our commands, and we know
//! what the bot can do.

use std::sync::Arc;
use std::time::Duration;

use cloister_kit::Backoff;
use cloister_protocol::surface::ChatsChanged;
use tokio_util::sync::CancellationToken;

use crate::bot::Bot;
use crate::outgoing;

/// How often topics are looked at without being told to.
const LOOK_AT_TOPICS: Duration = Duration::from_secs(60);
/// How often the bot is asked about anew: topics are switched on elsewhere.
const LOOK_AT_BOT: Duration = Duration::from_secs(10 * 60);

/// Makes and renames topics, at the start, when chats or people change, and once in a while.
pub(super) async fn keep_topics(bot: Arc<Bot>, stop: CancellationToken) {
    let mut chats = bot.plane.chat_changes();
    let mut people = bot.plane.access_changes();
    let mut backoff = Backoff::new(LOOK_AT_TOPICS);
    let mut told = false;
    loop {
        let mended = tokio::select! {
            () = stop.cancelled() => return,
            mended = Box::pin(bot.topics().mend()) => mended,
        };
        if let Err(error) = mended {
            if !std::mem::replace(&mut told, true) {
                let (account, why) = (&bot.connector.account, error.chain());
                tracing::warn!(account, why, "topics are not as they should be yet");
            }
            let wait = error.retry_after().unwrap_or_default();
            // Telegram says how long: nothing that happens here shortens it.
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(backoff.pause().max(wait)) => {}
            }
            continue;
        }
        backoff.reset();
        told = false;
        tokio::select! {
            () = stop.cancelled() => return,
            () = chats.next() => {}
            () = people.next() => {}
            () = tokio::time::sleep(LOOK_AT_TOPICS) => {}
        }
    }
}

/// Tells Telegram our commands, and asks now and then what the bot can do.
pub(super) async fn keep_known(bot: Arc<Bot>, stop: CancellationToken) {
    let mut backoff = Backoff::new(LOOK_AT_BOT);
    loop {
        let work = async {
            outgoing::set_commands(&bot).await?;
            let me = bot.api.me().await?;
            if bot.topics().set_enabled(me.has_topics_enabled.unwrap_or(false)) {
                bot.plane.tell(ChatsChanged {});
            }
            Ok::<_, crate::session::Fault>(())
        };
        let done = tokio::select! {
            () = stop.cancelled() => return,
            done = Box::pin(work) => done,
        };
        let pause = match done {
            Ok(()) => {
                backoff.reset();
                LOOK_AT_BOT
            }
            Err(fault) => {
                tracing::debug!(%fault, "Telegram was not told our commands yet");
                backoff.pause()
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}
