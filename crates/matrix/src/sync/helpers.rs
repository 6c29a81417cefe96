//! What goes on beside the sync: rooms are kept as the chats are, and messages are read when their keys come.

use std::sync::Arc;
use std::time::Duration;

use cloister_kit::Backoff;
use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::bot::Bot;

/// How often rooms are looked at without being told to.
const LOOK_AT_ROOMS: Duration = Duration::from_secs(60);
/// The pause before the keys are looked for where there were none.
const LOOK_FOR_KEYS: Duration = Duration::from_secs(30);

/// Makes, renames and puts away rooms, at the start, when chats or people change, and once in a while.
pub(crate) async fn keep_rooms(bot: Arc<Bot>, stop: CancellationToken) {
    let mut chats = bot.plane.chat_changes();
    let mut people = bot.plane.access_changes();
    let mut backoff = Backoff::new(LOOK_AT_ROOMS);
    let mut told = false;
    loop {
        let work = Box::pin(bot.rooms().mend());
        let mended = tokio::select! {
            () = stop.cancelled() => return,
            mended = work => mended,
        };
        let pause = match mended {
            Ok(()) => {
                backoff.reset();
                told = false;
                LOOK_AT_ROOMS
            }
            Err(error) => {
                if !std::mem::replace(&mut told, true) {
                    let account = &bot.connector.account;
                    tracing::warn!(
                        account,
                        why = error.chain(),
                        "rooms are not as they should be yet"
                    );
                }
                backoff.pause()
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = chats.next() => {}
            () = people.next() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Takes what waits for a key or a file, as soon as it can be.
pub(crate) async fn keep_reading(bot: Arc<Bot>, stop: CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = Box::pin(bot.intake().take_waiting()) => {}
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
