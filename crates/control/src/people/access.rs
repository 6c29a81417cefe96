//! Tells whatever is open that somebody's access may have changed: whoever holds something open on the
//! strength of a session or a role listens, and looks again.

use tokio::sync::watch;

use crate::people::People;

#[derive(Debug)]
pub(crate) struct Access(watch::Sender<u64>);

impl Default for Access {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl Access {
    pub(crate) fn changed(&self) {
        self.0.send_modify(|count| *count = count.wrapping_add(1));
    }
}

/// The changes from now on.
#[derive(Clone, Debug)]
pub struct AccessChanges(watch::Receiver<u64>);

impl AccessChanges {
    /// Waits for the next change; several at once are one.
    pub async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            // Control is gone: nothing changes any more.
            std::future::pending::<()>().await;
        }
    }
}

impl People {
    pub(crate) fn access(&self) -> &Access {
        &self.control.inner.access
    }

    /// Somebody's access may have changed by something that is not control's own doing.
    pub fn access_changed(&self) {
        self.access().changed();
    }

    /// For who holds something open: when to look whether it still may be.
    pub fn access_changes(&self) -> AccessChanges {
        AccessChanges(self.access().0.subscribe())
    }
}
