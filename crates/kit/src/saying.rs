//! Sentences of a connector's own. That one could not be said is no reason to take an event again.

use std::time::Duration;

use cloister_protocol::surface::SendError;

/// The longest that a sentence is held back because the platform asks for it.
const LONGEST_PAUSE: Duration = Duration::from_secs(3);

/// Says something, and once more where the platform asks to wait: for that long, within bounds.
pub async fn say_patiently<T, F>(say: impl Fn() -> F) -> Result<T, SendError>
where
    F: Future<Output = Result<T, SendError>>,
{
    match say().await {
        Err(SendError::Wait(pause)) => {
            tokio::time::sleep(pause.min(LONGEST_PAUSE)).await;
            say().await
        }
        said => said,
    }
}

#[cfg(test)]
#[path = "saying_tests.rs"]
mod tests;
