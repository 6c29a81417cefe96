//! What works beside everything else: each has a name, a panic in it is told, and a stop says by name who is late.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long whoever fell over rests before it is begun anew.
const AFTER_PANIC: Duration = Duration::from_secs(5);
/// So many rounds must have been missed before somebody is late, and so much time gone: a busy machine is no fault.
const MISSED: u32 = 3;
const SURELY_LATE: Duration = Duration::from_secs(30);

/// The work of one control plane, cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Crew {
    tracker: TaskTracker,
    stop: CancellationToken,
    by_name: Arc<Mutex<BTreeMap<&'static str, Hands>>>,
}

/// All that have one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Hands {
    busy: usize,
    /// How often one fell over since the start.
    fell: u64,
    /// When the last round began, and how long after it the next was to begin.
    round: Option<(Instant, Duration)>,
}

/// By which who is kept says that they still go round.
#[derive(Clone, Debug)]
pub(crate) struct Rounds {
    crew: Crew,
    name: &'static str,
}

impl Rounds {
    /// A round begins, and the next one this much later.
    pub(crate) fn begins(&self, next: Duration) {
        self.crew.hands().entry(self.name).or_default().round = Some((Instant::now(), next));
    }
}

/// One that is at work, until this is dropped.
struct AtWork {
    crew: Crew,
    name: &'static str,
}

impl Drop for AtWork {
    fn drop(&mut self) {
        if let Some(hands) = self.crew.hands().get_mut(self.name) {
            hands.busy = hands.busy.saturating_sub(1);
        }
    }
}

impl Crew {
    /// Works until `stop`.
    pub(crate) fn new(stop: CancellationToken) -> Self {
        Self { tracker: TaskTracker::new(), stop, by_name: Arc::default() }
    }

    /// Does something once; it ends by itself, or minds the stop by itself.
    pub(crate) fn go(&self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        let at_work = self.at_work(name);
        self.tracker.spawn(async move {
            at_work.watched(work).await;
        });
    }

    /// Has work counted under this name that somebody else waits for: a panic in it goes on to them.
    pub(crate) fn counted<Work: Future + Send>(
        &self,
        name: &'static str,
        work: Work,
    ) -> impl Future<Output = Work::Output> + Send + use<Work> {
        let at_work = self.at_work(name);
        async move {
            match AssertUnwindSafe(work).catch_unwind().await {
                Ok(done) => done,
                Err(panic) => {
                    at_work.fell();
                    resume_unwind(panic)
                }
            }
        }
    }

    /// Does something for as long as the control plane lives: whoever falls over is begun anew after a pause.
    pub(crate) fn keep<Work>(
        &self,
        name: &'static str,
        begin: impl Fn(Rounds) -> Work + Send + 'static,
    ) where
        Work: Future<Output = ()> + Send + 'static,
    {
        let (at_work, stop) = (self.at_work(name), self.stop.clone());
        let rounds = Rounds { crew: self.clone(), name };
        self.tracker.spawn(async move {
            while !at_work.watched(begin(rounds.clone())).await {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(AFTER_PANIC) => {}
                }
            }
        });
    }

    /// Who is at work, by name and how many.
    pub(crate) fn busy(&self) -> Vec<String> {
        let hands = self.hands();
        let busy = hands.iter().filter(|(_, hands)| hands.busy > 0);
        busy.map(|(name, hands)| counted(name, hands.busy as u64)).collect()
    }

    /// Who fell over since the start, by name and how often.
    pub(crate) fn fell(&self) -> Vec<String> {
        let hands = self.hands();
        let fell = hands.iter().filter(|(_, hands)| hands.fell > 0);
        fell.map(|(name, hands)| counted(name, hands.fell)).collect()
    }

    /// Who was to go round again and does not, by name and since when.
    pub(crate) fn late(&self) -> Vec<String> {
        let now = Instant::now();
        let hands = self.hands();
        let late = hands.iter().filter_map(|(name, hands)| {
            let (began, next) = hands.round.filter(|_| hands.busy > 0)?;
            let gone = now.saturating_duration_since(began);
            (gone > next.saturating_mul(MISSED).max(SURELY_LATE))
                .then(|| format!("{name} (last seen {} s ago)", gone.as_secs()))
        });
        late.collect()
    }

    /// Takes nothing new and waits for those who are at work. Says who was late.
    pub(crate) async fn end(&self, within: Duration) -> Vec<String> {
        self.tracker.close();
        match tokio::time::timeout(within, self.tracker.wait()).await {
            Ok(()) => Vec::new(),
            Err(_elapsed) => self.busy(),
        }
    }

    fn at_work(&self, name: &'static str) -> AtWork {
        self.hands().entry(name).or_default().busy += 1;
        AtWork { crew: self.clone(), name }
    }

    fn hands(&self) -> MutexGuard<'_, BTreeMap<&'static str, Hands>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AtWork {
    /// Says whether it came to its end without falling over.
    async fn watched(&self, work: impl Future<Output = ()> + Send) -> bool {
        // What is shared behind locks is looked at anew by whoever takes them next.
        let done = AssertUnwindSafe(Box::pin(work)).catch_unwind().await.is_ok();
        if !done {
            self.fell();
            tracing::error!(work = self.name, "work of the control plane failed inside");
        }
        done
    }

    fn fell(&self) {
        if let Some(hands) = self.crew.hands().get_mut(self.name) {
            hands.fell += 1;
        }
    }
}

fn counted(name: &str, count: u64) -> String {
    if count == 1 { name.to_owned() } else { format!("{name} ×{count}") }
}

#[cfg(test)]
#[path = "crew_tests.rs"]
mod tests;
