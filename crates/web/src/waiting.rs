//! How many questions wait for a person, told to their open pages as it changes, in whichever chat they are asked.

use cloister_control::Control;
use cloister_protocol::UserId;
use serde_json::json;
use tokio::sync::watch;

pub(crate) struct WaitingQuestions {
    control: Control,
    user: UserId,
    changes: watch::Receiver<u64>,
    /// Something changed and has not been counted yet.
    stale: bool,
    /// What the page was told last.
    told: Option<usize>,
}

impl WaitingQuestions {
    pub(crate) fn of(control: &Control, user: UserId) -> Self {
        Self {
            changes: control.hub().questions(),
            control: control.clone(),
            user,
            // Who comes back is told how many there are by now.
            stale: true,
            told: None,
        }
    }

    /// Waits until the number has changed; the frame that tells a page. Nothing is lost if it is not waited for
    /// to the end.
    pub(crate) async fn next(&mut self) -> String {
        loop {
            if !self.stale && self.changes.changed().await.is_err() {
                // Control is gone: nothing changes any more.
                std::future::pending::<()>().await;
            }
            self.stale = true;
            let waiting = self.control.gates().approvals_for(self.user).await;
            self.stale = false;
            match waiting {
                Ok(waiting) if self.told == Some(waiting.len()) => {}
                Ok(waiting) => {
                    let count = waiting.len();
                    self.told = Some(count);
                    return json!({"type": "update", "kind": "waiting", "count": count})
                        .to_string();
                }
                Err(error) => {
                    tracing::error!(error = error.chain(), "questions could not be counted");
                }
            }
        }
    }
}
