//! Room for coordinators: each chat has its own, and so many of one workspace run at once. Who comes when it
//! is full waits in order, and the one that has been idle for longest makes room. In a community each person has a
//! share of it: whose chats have used theirs up wait for one of those, and keep nobody else waiting.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cloister_protocol::{UserId, WorkspaceId};
use futures_util::future::BoxFuture;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Workspaces and people that are remembered before those without a coordinator are forgotten.
const SWEEP_AT: usize = 1024;

/// Who wants a place, and how many there are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat {
    pub(super) workspace: WorkspaceId,
    /// Of the workspace.
    pub(super) most: usize,
    /// For whom it is, and how many are theirs; none: all of it is one person's.
    pub(super) person: Option<(UserId, usize)>,
}

impl Seat {
    /// What it takes a place of: first of the person, so that who waits for their own holds nothing up.
    fn kinds(self) -> impl Iterator<Item = ((WorkspaceId, Option<UserId>), usize)> {
        let own = self.person.map(|(person, share)| ((self.workspace, Some(person)), share));
        own.into_iter().chain([((self.workspace, None), self.most)])
    }
}

/// A place for one coordinator; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    places: Vec<(OwnedSemaphorePermit, Arc<Places>)>,
}

impl Slot {
    /// Whether somebody waits whom this place would help.
    pub(super) fn is_wanted(&self) -> bool {
        self.places.iter().any(|(_, places)| places.waiting.load(Ordering::SeqCst) > 0)
    }
}

/// A place that is waited for; none when everything ends.
pub(super) type Waiting = BoxFuture<'static, Option<Slot>>;

#[derive(Debug)]
struct Places {
    free: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// A workspace, or one person's share of it.
type SlotsOf = (WorkspaceId, Option<UserId>);

#[derive(Debug, Default)]
pub(crate) struct Slots(Mutex<HashMap<SlotsOf, Weak<Places>>>);

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
    fn of(&self, whose: (WorkspaceId, Option<UserId>), most: usize) -> Arc<Places> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(places) = all.get(&whose).and_then(Weak::upgrade) {
            return places;
        }
        if all.len() >= SWEEP_AT {
            all.retain(|_, places| places.strong_count() > 0);
        }
        let free = Arc::new(Semaphore::new(most.max(1)));
        let places = Arc::new(Places { free, waiting: AtomicUsize::new(0) });
        all.insert(whose, Arc::downgrade(&places));
        places
    }

    /// A place now, if there is one that nobody waits for.
    pub(super) fn try_take(&self, seat: Seat) -> Option<Slot> {
        let mut taken = Vec::new();
        for (whose, most) in seat.kinds() {
            let places = self.of(whose, most);
            taken.push((Arc::clone(&places.free).try_acquire_owned().ok()?, places));
        }
        Some(Slot { places: taken })
    }

    /// A place as soon as there is one, in the order of who asks.
    pub(super) fn wait(&self, seat: Seat) -> Waiting {
        let all: Vec<_> = seat.kinds().map(|(whose, most)| self.of(whose, most)).collect();
        // Counted from now on, before it is looked at for the first time.
        let mut counted = all.first().map(Counted::new);
        Box::pin(async move {
            let mut taken = Vec::new();
            for places in all {
                let waits = counted.take().unwrap_or_else(|| Counted::new(&places));
                let permit = Arc::clone(&places.free).acquire_owned().await.ok()?;
                drop(waits);
                taken.push((permit, places));
            }
            Some(Slot { places: taken })
        })
    }

    /// Whose share is used up, if it is that: one of theirs must make room.
    pub(super) fn lacks_share(&self, seat: Seat) -> Option<UserId> {
        let (person, share) = seat.person?;
        let own = self.of((seat.workspace, Some(person)), share);
        (own.free.available_permits() == 0).then_some(person)
    }
}

#[cfg(test)]
#[path = "slots_tests.rs"]
mod tests;
