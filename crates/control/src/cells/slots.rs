//! Room for coordinators: each chat has its own, and so many of one workspace run at once. Who comes when it
//! is full waits in order, and the one that has been idle for longest makes room.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cloister_protocol::WorkspaceId;
use futures_util::future::BoxFuture;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Workspaces that are remembered before those without a coordinator are forgotten.
const SWEEP_AT: usize = 1024;

/// A place for one coordinator; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    _permit: OwnedSemaphorePermit,
    // Keeps the count of its workspace.
    _of: Arc<Places>,
}

/// A place that is waited for; none when everything ends.
pub(super) type Waiting = BoxFuture<'static, Option<Slot>>;

#[derive(Debug)]
struct Places {
    free: Arc<Semaphore>,
    waiting: AtomicUsize,
}

#[derive(Debug, Default)]
pub(crate) struct Slots(Mutex<HashMap<WorkspaceId, Weak<Places>>>);

/// Counts who waits, for as long as it waits.
struct Counted(Arc<Places>);

impl Counted {
    fn new(places: &Arc<Places>) -> Self {
        places.waiting.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(places))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Slots {
    fn of(&self, workspace: WorkspaceId, most: usize) -> Arc<Places> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(places) = all.get(&workspace).and_then(Weak::upgrade) {
            return places;
        }
        if all.len() >= SWEEP_AT {
            all.retain(|_, places| places.strong_count() > 0);
        }
        let free = Arc::new(Semaphore::new(most.max(1)));
        let places = Arc::new(Places { free, waiting: AtomicUsize::new(0) });
        all.insert(workspace, Arc::downgrade(&places));
        places
    }

    /// A place now, if there is one that nobody waits for.
    pub(super) fn try_take(&self, workspace: WorkspaceId, most: usize) -> Option<Slot> {
        let places = self.of(workspace, most);
        let permit = Arc::clone(&places.free).try_acquire_owned().ok()?;
        Some(Slot { _permit: permit, _of: places })
    }

    /// A place as soon as there is one, in the order of who asks.
    pub(super) fn wait(&self, workspace: WorkspaceId, most: usize) -> Waiting {
        let places = self.of(workspace, most);
        let counted = Counted::new(&places);
        Box::pin(async move {
            let permit = Arc::clone(&places.free).acquire_owned().await.ok();
            drop(counted);
            permit.map(|permit| Slot { _permit: permit, _of: places })
        })
    }

    /// Whether somebody of this workspace waits.
    pub(super) fn is_wanted(&self, workspace: WorkspaceId) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let places = all.get(&workspace).and_then(Weak::upgrade);
        places.is_some_and(|places| places.waiting.load(Ordering::SeqCst) > 0)
    }
}

#[cfg(test)]
#[path = "slots_tests.rs"]
mod tests;
