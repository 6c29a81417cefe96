//! Connectors that live in the background: each is begun anew when it fails inside and ends within a bounded time;
//! what an operator asked for is done to its end.
//!
//! Owns: tasks and their tokens. Knows nothing of a platform.

use std::collections::HashMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use cloister_protocol::admin::ConnectorState;
use cloister_protocol::surface::{ConnectorId, Health};
use cloister_protocol::{ErrorCode, with_causes};
use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::error::PlaneError;
use crate::plane::Plane;

/// How long a connector may take to stop.
const STOP_TIME: Duration = Duration::from_secs(5);
/// The pause after a failure of our own making.
const AFTER_PANIC: Duration = Duration::from_secs(30);
/// The pause after a panic beside the reading: a helper that begins anew has little to set up.
const HELPER_AFTER_PANIC: Duration = Duration::from_secs(5);
/// The connectors of one surface that live in the background.
pub struct Connections {
    plane: Plane,
    running: Mutex<HashMap<ConnectorId, Running>>,
    /// Connectors are added and removed one at a time.
    changing: tokio::sync::Mutex<()>,
    /// What was asked for goes on when the asker has gone.
    errands: TaskTracker,
    after_panic: Duration,
}

/// A connector that is connected, or tries to be.
struct Running {
    stop: CancellationToken,
    tracker: TaskTracker,
}

impl Running {
    async fn end(self) {
        self.stop.cancel();
        self.tracker.close();
        if tokio::time::timeout(STOP_TIME, self.tracker.wait()).await.is_err() {
            tracing::warn!(late = self.tracker.len(), "a connector did not stop in time");
        }
    }
}

impl Connections {
    pub fn new(plane: Plane) -> Self {
        Self {
            plane,
            running: Mutex::default(),
            changing: tokio::sync::Mutex::default(),
            errands: TaskTracker::new(),
            after_panic: AFTER_PANIC,
        }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<ConnectorId, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a connector live in the background until it ends by itself or is ended. What it starts belongs on
    /// the tracker and ends with the token. After a panic it is begun anew, with a new token. What lived of it
    /// before is told to end; who wants to be sure that it has, ends it first.
    pub fn run<F, Life>(&self, id: ConnectorId, life: F)
    where
        F: Fn(CancellationToken, TaskTracker) -> Life + Send + 'static,
        Life: Future<Output = ()> + Send + 'static,
    {
        let running = Running { stop: self.plane.stop_token(), tracker: TaskTracker::new() };
        // What was said of it in an earlier life is not true of this one.
        self.plane.forget_health(id);
        let (plane, pause) = (self.plane.clone(), self.after_panic);
        let (stop, tracker) = (running.stop.clone(), running.tracker.clone());
        running.tracker.spawn(async move {
            loop {
                let once = stop.child_token();
                let ends_with_it = once.clone().drop_guard();
                let lived = Box::pin(life(once, tracker.clone()));
                if AssertUnwindSafe(lived).catch_unwind().await.is_ok() {
                    return;
                }
                drop(ends_with_it);
                failed_inside(&plane, id);
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(pause) => {}
                }
            }
        });
        if let Some(before) = self.running().insert(id, running) {
            before.stop.cancel();
        }
    }

    /// Ends a connector's life; whether it had one.
    pub async fn end(&self, id: ConnectorId) -> bool {
        let running = self.running().remove(&id);
        match running {
            Some(running) => {
                running.end().await;
                true
            }
            None => false,
        }
    }

    /// Ends all of them, together, within a few seconds.
    pub async fn end_all(&self) {
        let running: Vec<Running> = self.running().drain().map(|(_, running)| running).collect();
        futures_util::future::join_all(running.into_iter().map(Running::end)).await;
    }

    /// Runs what must not stop half way to its end, whether or not the asker waits.
    pub async fn see_through<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, PlaneError>> + Send + 'static,
    ) -> Result<T, PlaneError> {
        if self.plane.stopping() {
            let message = "the control plane is stopping";
            return Err(PlaneError::refused(ErrorCode::ShuttingDown, message));
        }
        let done = self.errands.spawn(work).await;
        done.unwrap_or_else(|error| {
            let message = format!("it was not done: {error}", error = with_causes(&error));
            Err(PlaneError::refused(ErrorCode::Internal, message))
        })
    }

    /// Held while connectors are added or removed.
    pub async fn one_at_a_time(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.changing.lock().await
    }
}

/// Does what a connector needs done beside its reading until it ends by itself; after a panic it is begun anew,
/// after a pause and unless it is to stop. For a connector's tracker: a task that just ended there would be
/// missed by nobody but the people.
pub async fn kept<F, Work>(name: &'static str, stop: CancellationToken, begin: F)
where
    F: Fn() -> Work,
    Work: Future<Output = ()>,
{
    kept_after(HELPER_AFTER_PANIC, (name, stop), begin).await;
}

async fn kept_after<F, Work>(
    pause: Duration,
    (name, stop): (&'static str, CancellationToken),
    begin: F,
) where
    F: Fn() -> Work,
    Work: Future<Output = ()>,
{
    loop {
        let work = Box::pin(async { begin().await });
        if AssertUnwindSafe(work).catch_unwind().await.is_ok() {
            return;
        }
        tracing::error!(helper = name, "a helper of a connector failed inside; it is begun anew");
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// What works on a platform for a connector: there from when it can be worked with until it is taken away,
/// also while the platform can't be reached.
pub struct Bots<B>(Mutex<HashMap<ConnectorId, BotPlace<B>>>);

/// Where one of them goes as soon as there is one.
pub type BotPlace<B> = Arc<OnceLock<Arc<B>>>;

impl<B> Default for Bots<B> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<B> Bots<B> {
    fn all(&self) -> MutexGuard<'_, HashMap<ConnectorId, BotPlace<B>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An empty place for a connector that is about to live, instead of what was there.
    pub fn place(&self, id: ConnectorId) -> BotPlace<B> {
        let place = BotPlace::default();
        self.all().insert(id, Arc::clone(&place));
        place
    }

    pub fn get(&self, id: ConnectorId) -> Option<Arc<B>> {
        self.all().get(&id).and_then(|place| place.get().cloned())
    }

    pub fn take(&self, id: ConnectorId) -> Option<Arc<B>> {
        self.all().remove(&id).and_then(|place| place.get().cloned())
    }

    /// Every one that is there now.
    pub fn list(&self) -> Vec<Arc<B>> {
        self.all().values().filter_map(|place| place.get().cloned()).collect()
    }
}

/// A connector's task failed for a reason of our own.
fn failed_inside(plane: &Plane, id: ConnectorId) {
    tracing::error!(connector = %id, "a connector failed inside; it is connected anew");
    let problem = "it failed inside, which the log tells of; it is connected anew shortly";
    let health = Health {
        state: ConnectorState::Retrying,
        problem: Some(problem.to_owned()),
        last_heard_at: None,
        reconciled: None,
    };
    plane.report_health(id, health);
}
