//! Trying until something is taken: what fails because of us or of the platform is tried for as long as that lasts,
//! what fails for a reason of its own for about a minute, then it is passed over. A panic is such a reason.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::error::PlaneError;

/// The pauses between the tries of what fails for a reason of its own.
const PAUSES: [Duration; 4] = [
    Duration::from_secs(2),
    Duration::from_secs(8),
    Duration::from_secs(20),
    Duration::from_secs(30),
];
/// The pause between the tries of what fails because of us, such as a full disk.
const LONG_PAUSE: Duration = Duration::from_secs(5);

/// Whether something was handed over, or the connector is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handed {
    Over,
    Stopped,
}

/// Something that is tried.
pub trait Attempt: Send + Sync {
    /// What it is, for the log.
    fn what(&self) -> String;

    fn once(&self) -> impl Future<Output = Result<(), PlaneError>> + Send;

    /// Whether a failure is none of its own.
    fn may_pass(&mut self, error: &PlaneError) -> bool {
        error.may_pass()
    }

    /// It will not be taken, which goes on record. Where that can't be done yet, it is tried on.
    fn pass_over(&self, why: &str) -> impl Future<Output = Result<(), PlaneError>> + Send;
}

/// Tries until it works, is passed over, or is to stop. Each try waits for its turn.
pub async fn patiently(
    turns: &Semaphore,
    stop: &CancellationToken,
    attempt: &mut impl Attempt,
) -> Handed {
    let tried = async {
        let mut pauses = PAUSES.into_iter();
        let mut told = false;
        loop {
            let (why, passing) = match once(turns, attempt).await {
                Ok(()) => return Handed::Over,
                Err(Failed::Error(error)) => (error.chain(), attempt.may_pass(&error)),
                Err(Failed::Panic) => ("a panic; the log has it".to_owned(), false),
            };
            let pause = if passing { Some(LONG_PAUSE) } else { pauses.next() };
            let pause = match pause {
                Some(pause) => pause,
                None => match attempt.pass_over(&why).await {
                    Ok(()) => return Handed::Over,
                    Err(error) => {
                        let why = error.chain();
                        tracing::error!(why, "what is passed over is not on record yet");
                        LONG_PAUSE
                    }
                },
            };
            if !std::mem::replace(&mut told, true) {
                tracing::warn!(what = attempt.what(), why, "not taken yet; it is tried again");
            }
            tokio::time::sleep(pause).await;
        }
    };
    tokio::select! {
        // Nothing is begun any more, however quick it would be.
        biased;
        () = stop.cancelled() => Handed::Stopped,
        handed = tried => handed,
    }
}

async fn once(turns: &Semaphore, attempt: &impl Attempt) -> Result<(), Failed> {
    let _turn = turns.acquire().await;
    match AssertUnwindSafe(Box::pin(attempt.once())).catch_unwind().await {
        Ok(done) => done.map_err(Failed::Error),
        Err(_panic) => Err(Failed::Panic),
    }
}

enum Failed {
    Error(PlaneError),
    Panic,
}

#[cfg(test)]
#[path = "tries_tests.rs"]
mod tests;
