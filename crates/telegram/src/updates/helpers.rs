//! What goes on beside the reading: topics are kept as the chats are, Telegram knows our commands, and we know
//! what the bot can do.

use std::sync::Arc;
use std::time::Duration;

use cloister_kit::{Backoff, PlaneError, keep_shown};
use cloister_protocol::surface::ChatsChanged;
use tokio_util::sync::CancellationToken;

use crate::bot::Bot;
use crate::outgoing;

/// How often the bot is asked about anew: topics are switched on elsewhere.
const LOOK_AT_BOT: Duration = Duration::from_secs(10 * 60);

/// Makes and renames topics.
pub(super) async fn keep_topics(bot: Arc<Bot>, stop: CancellationToken) {
    let of = (bot.connector.account.as_str(), "topics");
    let mend = || async {
        let mended = bot.topics().mend().await;
        if let Some(wait) = mended.as_ref().err().and_then(PlaneError::retry_after) {
            // Telegram says how long: nothing that happens here shortens it.
            tokio::time::sleep(wait).await;
        }
        mended
    };
    keep_shown(&bot.plane, of, &stop, mend).await;
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
