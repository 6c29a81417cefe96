//! Hands what a platform tells over to the parts that store it: places side by side, within a place in order.
//!
//! Promises: the position moves only past what was handed over in full, and never back; a place that fails holds
//! the position, and no other place.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{Mutex, Semaphore, oneshot};
use tokio_util::task::TaskTracker;

use crate::ledger::{Entry, Ledger};
use crate::tries::Handed;

/// How much of what came may be on its way; the next waits.
const AT_ONCE: usize = 1024;
/// How many places are remembered before it is looked which of them have ended.
const PLACES_KEPT: usize = 16;

/// Who hands things over: how that is done, and where it is kept how far it is.
pub trait HandsOver: Send + Sync + 'static {
    /// How far the platform was heard when something came.
    type Mark: Send + 'static;
    /// A part of what came: of one place.
    type Work: Send + 'static;

    /// The place whose order it keeps.
    fn place(work: &Self::Work) -> String;

    fn hand_over(&self, work: Self::Work) -> impl Future<Output = Handed> + Send;

    /// Everything up to here is handed over. Told one after the other, each further than the one before; `stored`:
    /// something was, rather than that something came which concerns nobody.
    fn reached(&self, mark: Self::Mark, stored: bool) -> impl Future<Output = ()> + Send;
}

/// Of one connection to a platform.
pub struct Handover<H: HandsOver> {
    shared: Arc<Shared<H>>,
    tracker: TaskTracker,
    under_way: Arc<Semaphore>,
    /// The last job of each place: the next one begins when it ends.
    last: HashMap<String, oneshot::Receiver<()>>,
}

struct Shared<H: HandsOver> {
    who: H,
    ledger: Mutex<Ledger<H::Mark>>,
}

impl<H: HandsOver> Handover<H> {
    pub fn new(who: H, tracker: TaskTracker) -> Self {
        Self {
            shared: Arc::new(Shared { who, ledger: Mutex::default() }),
            tracker,
            under_way: Arc::new(Semaphore::new(AT_ONCE)),
            last: HashMap::new(),
        }
    }

    /// Begins to hand something over; the mark is reached when all of it and all before it is.
    pub async fn begin(&mut self, mark: H::Mark, work: Vec<H::Work>) {
        let entry = self.shared.ledger.lock().await.open(mark, work.len());
        if work.is_empty() {
            return self.shared.move_on(false).await;
        }
        let Ok(permit) = Arc::clone(&self.under_way).acquire_owned().await else { return };
        let permit = Arc::new(permit);
        if self.last.len() > PLACES_KEPT {
            self.last.retain(|_, job| matches!(job.try_recv(), Err(TryRecvError::Empty)));
        }
        for work in work {
            let (done, job) = oneshot::channel();
            let before = self.last.insert(H::place(&work), job);
            let (shared, permit) = (Arc::clone(&self.shared), Arc::clone(&permit));
            self.tracker.spawn(async move {
                Box::pin(shared.hand_over(work, before, entry)).await;
                drop(permit);
                // Nobody may wait for it.
                done.send(()).ok();
            });
        }
    }
}

impl<H: HandsOver> Shared<H> {
    async fn hand_over(&self, work: H::Work, before: Option<oneshot::Receiver<()>>, entry: Entry) {
        if let Some(before) = before {
            before.await.ok();
        }
        if self.who.hand_over(work).await == Handed::Over {
            self.ledger.lock().await.done(entry);
            self.move_on(true).await;
        }
    }

    async fn move_on(&self, stored: bool) {
        // Held while it is written down: two who finish at once must not write in the wrong order.
        let mut ledger = self.ledger.lock().await;
        if let Some(mark) = ledger.reached() {
            self.who.reached(mark, stored).await;
        }
    }
}

#[cfg(test)]
#[path = "handover_tests.rs"]
mod tests;
