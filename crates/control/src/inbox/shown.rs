//! What clients of the agent socket have been shown. It is noted beside: no answer, and no next message, waits for it.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cloister_protocol::{ChatId, WorkspaceId, with_causes};
use cloister_store::outbox::OutboxItem;

use crate::error::Fault;
use crate::inbox::Inbox;

/// Rows of the outbox that were shown, which the store does not know yet.
#[derive(Debug, Default)]
pub(crate) struct Shown(Mutex<BTreeSet<i64>>);

impl Shown {
    fn rows(&self) -> MutexGuard<'_, BTreeSet<i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inbox {
    /// A client was sent a row of the outbox. If that can't be noted, the next one is sent it again.
    pub fn note_shown(&self, row: i64) {
        self.control.inner.shown.rows().insert(row);
        let control = self.control.clone();
        self.control.inner.crew.go("noting-deliveries", async move {
            if let Err(error) = control.store().outbox().mark_shown(row).await {
                tracing::error!(error = with_causes(&error), "a delivery could not be noted");
            }
            control.inner.shown.rows().remove(&row);
        });
    }

    /// What no client of a chat has been sent yet.
    pub async fn not_shown(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<Vec<OutboxItem>, Fault> {
        // Looked at before and after: what is noted meanwhile may have been read as it was.
        let mut noted = self.control.inner.shown.rows().clone();
        let mut rows = self.control.store().outbox().undelivered(workspace, chat).await?;
        noted.extend(self.control.inner.shown.rows().iter());
        rows.retain(|row| !noted.contains(&row.id));
        Ok(rows)
    }
}
