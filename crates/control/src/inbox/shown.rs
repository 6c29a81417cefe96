//! What clients of the agent socket have been shown. It is noted beside: no answer, and no next message, waits for it.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cloister_protocol::{ChatId, WorkspaceId, with_causes};
use cloister_store::outbox::OutboxItem;

use crate::error::Fault;
use crate::inbox::Inbox;

/// Rows of the outbox that were shown, which the store does not know yet.
#[derive(Debug, Default)]
pub(crate) struct Shown(Mutex<ShownRows>);

#[derive(Debug, Default)]
struct ShownRows {
    all: BTreeSet<i64>,
    /// Those of them that nobody has begun to note.
    gathered: Vec<i64>,
    /// Somebody notes them, and looks for more.
    noting: bool,
}

impl Shown {
    fn rows(&self) -> MutexGuard<'_, ShownRows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody notes them yet: then whoever asks is to.
    fn gather(&self, row: i64) -> bool {
        let mut rows = self.rows();
        rows.all.insert(row);
        rows.gathered.push(row);
        !std::mem::replace(&mut rows.noting, true)
    }

    /// Those that are to be noted next; none: nobody notes any more.
    fn take(&self) -> Option<Vec<i64>> {
        let mut rows = self.rows();
        let gathered = std::mem::take(&mut rows.gathered);
        rows.noting = !gathered.is_empty();
        rows.noting.then_some(gathered)
    }

    fn forget(&self, noted: &[i64]) {
        let mut rows = self.rows();
        for row in noted {
            rows.all.remove(row);
        }
    }
}

impl Inbox {
    /// A client was sent a row of the outbox. If that can't be noted, the next one is sent it again.
    pub fn note_shown(&self, row: i64) {
        if !self.control.inner.shown.gather(row) {
            return;
        }
        let control = self.control.clone();
        // The store takes its time to write it: what is shown meanwhile goes together.
        self.control.inner.crew.go("noting-deliveries", async move {
            while let Some(gathered) = control.inner.shown.take() {
                if let Err(error) = control.store().outbox().mark_shown(&gathered).await {
                    tracing::error!(error = with_causes(&error), "deliveries could not be noted");
                }
                control.inner.shown.forget(&gathered);
            }
        });
    }

    /// What no client of a chat has been sent yet.
    pub async fn not_shown(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<Vec<OutboxItem>, Fault> {
        // Looked at before and after: what is noted meanwhile may have been read as it was.
        let mut noted = self.control.inner.shown.rows().all.clone();
        let mut rows = self.control.store().outbox().undelivered(workspace, chat).await?;
        noted.extend(self.control.inner.shown.rows().all.iter());
        rows.retain(|row| !noted.contains(&row.id));
        Ok(rows)
    }
}
