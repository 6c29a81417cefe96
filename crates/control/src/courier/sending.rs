//! One call to a surface: not too many at once over the whole connector, not for ever, and counted.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::Pace;
use super::posting::Halt;
use crate::control::Control;
use crate::metrics::Metrics;
use crate::ports::{Posting, Recipient, SendError, Surface};

pub(super) struct Sending {
    pub(super) control: Control,
    pub(super) surface: Arc<dyn Surface>,
    /// How much is sent at once over the whole connector.
    pub(super) sends: Arc<Semaphore>,
    pub(super) stop: CancellationToken,
    pub(super) pace: Pace,
}

impl Sending {
    pub(super) async fn post(
        &self,
        to: &Recipient,
        key: &str,
        posting: &Posting,
    ) -> Result<String, Halt> {
        let Some(_permit) = self.permit().await else { return Err(Halt::Stopped) };
        let patience = self.patience(posting);
        let sent = timeout(patience, self.surface.post(to, key, posting)).await;
        let sent = sent.unwrap_or_else(|_late| Err(no_answer(patience)));
        self.count(&sent, |metrics, surface| metrics.posted(surface));
        Ok(sent?)
    }

    pub(super) async fn edit(
        &self,
        to: &Recipient,
        key: &str,
        message: &str,
        posting: &Posting,
    ) -> Result<(), Halt> {
        let Some(_permit) = self.permit().await else { return Err(Halt::Stopped) };
        let patience = self.patience(posting);
        let sent = timeout(patience, self.surface.edit(to, key, message, posting)).await;
        let sent = sent.unwrap_or_else(|_late| Err(no_answer(patience)));
        self.count(&sent, |metrics, surface| metrics.edited(surface));
        Ok(sent?)
    }

    /// Shows what there is of an answer, without a message.
    pub(super) async fn draft(
        &self,
        to: &Recipient,
        key: &str,
        posting: &Posting,
    ) -> Result<(), Halt> {
        let Some(_permit) = self.permit().await else { return Err(Halt::Stopped) };
        let patience = self.patience(posting);
        let sent = timeout(patience, self.surface.draft(to, key, posting)).await;
        let sent = sent.unwrap_or_else(|_late| Err(no_answer(patience)));
        self.count(&sent, |metrics, surface| metrics.edited(surface));
        Ok(sent?)
    }

    /// The right to send one thing; none when the courier stops.
    async fn permit(&self) -> Option<SemaphorePermit<'_>> {
        if self.stop.is_cancelled() {
            return None;
        }
        tokio::select! {
            biased;
            () = self.stop.cancelled() => None,
            permit = self.sends.acquire() => permit.ok(),
        }
    }

    /// How long a surface may take for something.
    fn patience(&self, posting: &Posting) -> Duration {
        let upload = match posting {
            // As slow as 64 kB in a second.
            Posting::File(file) => Duration::from_secs(file.size >> 16),
            Posting::Answer { .. } | Posting::Notice { .. } | Posting::Question { .. } => {
                Duration::ZERO
            }
        };
        self.pace.call + upload
    }

    fn count<T>(&self, sent: &Result<T, SendError>, good: impl FnOnce(&Metrics, &'static str)) {
        let (metrics, surface) = (self.control.metrics(), self.surface.name());
        match sent {
            Ok(_) => good(metrics, surface),
            Err(SendError::Wait(_)) => metrics.asked_to_wait(surface),
            Err(SendError::Unreachable(_)) => metrics.not_posted(surface, "unreachable"),
            Err(SendError::Gone(_)) => metrics.not_posted(surface, "gone"),
            Err(SendError::Refused(_)) => metrics.not_posted(surface, "refused"),
        }
    }
}

fn no_answer(within: Duration) -> SendError {
    SendError::Unreachable(format!("no answer within {} s", within.as_secs()))
}
