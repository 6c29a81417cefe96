//! What a platform shows is kept as the chats are.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::{Backoff, Plane, PlaneError};

/// How often it is looked without being told to.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// Has an account show what it is to show (its rooms, topics, threads): at the start, when chats or people change, and
/// once in a while, until it is stopped. That it can't is said once.
pub async fn keep_shown<Work>(
    plane: &Plane,
    (account, what): (&str, &str),
    stop: &CancellationToken,
    mend: impl Fn() -> Work,
) where
    Work: Future<Output = Result<(), PlaneError>>,
{
    let mut chats = plane.chat_changes();
    let mut people = plane.access_changes();
    let mut backoff = Backoff::new(LOOK_EVERY);
    let mut told = false;
    loop {
        let mended = tokio::select! {
            () = stop.cancelled() => return,
            mended = Box::pin(mend()) => mended,
        };
        let pause = match mended {
            Ok(()) => {
                backoff.reset();
                told = false;
                LOOK_EVERY
            }
            Err(error) => {
                if !std::mem::replace(&mut told, true) {
                    let why = error.chain();
                    tracing::warn!(account, what, why, "what is shown is not as it should be yet");
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
