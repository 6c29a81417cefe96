//! The handle that everything else holds: what control is made of, how it starts and stops.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cloister_protocol::{TaskId, WorkspaceId};
use cloister_store::Store;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cells::Poke;
use crate::error::ControlError;
use crate::hub::Hub;
use crate::layout::Layout;
use crate::options::{CellOptions, UserOptions, WorkOptions};
use crate::ports::{CellBackend, Doors};
use crate::tasks::Running;

/// How long a stop waits for cells and executors to end by themselves.
const DRAIN: Duration = Duration::from_secs(8);

/// What control is built from.
pub struct Parts {
    pub store: Store,
    pub layout: Layout,
    pub cells: CellOptions,
    pub users: UserOptions,
    pub work: WorkOptions,
    pub backend: Arc<dyn CellBackend>,
    pub doors: Arc<dyn Doors>,
}

/// Control, cheap to clone.
#[derive(Clone)]
pub struct Control {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) parts: Parts,
    pub(crate) hub: Hub,
    /// Every background job; a stop waits for them.
    pub(crate) tracker: TaskTracker,
    pub(crate) stop: CancellationToken,
    /// Something may have become startable.
    pub(crate) task_signal: Notify,
    actors: Mutex<HashMap<WorkspaceId, mpsc::Sender<Poke>>>,
    running: Mutex<HashMap<TaskId, Running>>,
}

impl Control {
    pub fn new(parts: Parts) -> Self {
        let inner = Inner {
            parts,
            hub: Hub::default(),
            tracker: TaskTracker::new(),
            stop: CancellationToken::new(),
            task_signal: Notify::new(),
            actors: Mutex::default(),
            running: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Takes up what a stop or a kill left behind, then works in the background until `shut_down`.
    pub async fn start(&self) -> Result<(), ControlError> {
        self.inner.parts.backend.sweep().await;
        let failed = "the run directory could not be cleared";
        self.layout().clear_run().map_err(ControlError::io(failed))?;
        let requeued = self.store().requeue_running().await?;
        let settled = self.store().settle_leftovers().await?;
        let waiting = self.store().workspaces_with_unanswered().await?;
        if requeued > 0 || !waiting.is_empty() {
            tracing::info!(requeued, settled, workspaces = waiting.len(), "taking up open work");
        }
        for workspace in waiting {
            self.poke(workspace, Poke::Inbox);
        }
        let scheduler = self.clone();
        self.inner.tracker.spawn(async move { scheduler.schedule_tasks().await });
        let quota = self.clone();
        self.inner.tracker.spawn(async move { quota.watch_quotas().await });
        self.inner.task_signal.notify_one();
        Ok(())
    }

    /// Stops everything that `start` began. Open work stays in the database.
    pub async fn shut_down(&self) {
        self.inner.stop.cancel();
        self.inner.tracker.close();
        if tokio::time::timeout(DRAIN, self.inner.tracker.wait()).await.is_err() {
            tracing::warn!(
                late = self.inner.tracker.len(),
                "some work did not stop in time and is dropped"
            );
        }
    }

    pub fn store(&self) -> &Store {
        &self.inner.parts.store
    }

    pub fn layout(&self) -> &Layout {
        &self.inner.parts.layout
    }

    pub fn hub(&self) -> &Hub {
        &self.inner.hub
    }

    pub fn users(&self) -> &UserOptions {
        &self.inner.parts.users
    }

    pub fn work(&self) -> &WorkOptions {
        &self.inner.parts.work
    }

    pub fn backend(&self) -> &dyn CellBackend {
        &*self.inner.parts.backend
    }

    pub fn stopping(&self) -> bool {
        self.inner.stop.is_cancelled()
    }
}

impl Inner {
    pub(crate) fn actors(&self) -> MutexGuard<'_, HashMap<WorkspaceId, mpsc::Sender<Poke>>> {
        self.actors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn running(&self) -> MutexGuard<'_, HashMap<TaskId, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
