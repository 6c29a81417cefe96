//! What goes on beside the sync: rooms are kept as the chats are, and messages are read when their keys come.

use std::sync::Arc;
use std::time::Duration;

use cloister_kit::keep_shown;
use cloister_kit::waiting::keep_taking;
use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::bot::Bot;

/// The pause before the keys are looked for where there were none.
const LOOK_FOR_KEYS: Duration = Duration::from_secs(30);

/// Makes, renames and puts away rooms.
pub(crate) async fn keep_rooms(bot: Arc<Bot>, stop: CancellationToken) {
    let of = (bot.connector.account.as_str(), "rooms");
    keep_shown(&bot.plane, of, &stop, || bot.rooms().mend()).await;
}

/// Takes what waits for a key or a file, as soon as it can be.
pub(crate) async fn keep_reading(bot: Arc<Bot>, tracker: TaskTracker, stop: CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = keep_taking(Arc::clone(&bot), tracker, stop.clone()) => {}
        () = wake_for_keys(&bot) => {}
    }
}

/// Says when keys came. Does not end.
async fn wake_for_keys(bot: &Bot) {
    loop {
        if let Some(keys) = bot.client.encryption().room_keys_received_stream().await {
            let mut keys = Box::pin(keys);
            while keys.next().await.is_some() {
                bot.intake.wake();
            }
        }
        // The keys' store is not there yet, or was opened anew.
        tokio::time::sleep(LOOK_FOR_KEYS).await;
    }
}
