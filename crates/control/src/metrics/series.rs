//! What is counted with: counters by label, histograms, and a window over the last minutes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Series of one family; what would be one more is counted under `other`.
const MAX_SERIES: usize = 200;
const OTHER: &str = "other";

/// Counters that differ in the values of `N` labels.
#[derive(Debug)]
pub(super) struct Counters<const N: usize> {
    series: Mutex<BTreeMap<[String; N], u64>>,
}

impl<const N: usize> Default for Counters<N> {
    fn default() -> Self {
        let mut series = BTreeMap::new();
        if N == 0 {
            // The one series there can be is there from the start.
            series.insert([const { String::new() }; N], 0);
        }
        Self { series: Mutex::new(series) }
    }
}

impl<const N: usize> Counters<N> {
    pub(super) fn add(&self, labels: [&str; N], amount: u64) {
        let mut series = lock(&self.series);
        let mut key = labels.map(str::to_owned);
        if series.len() >= MAX_SERIES && !series.contains_key(&key) {
            key = [OTHER; N].map(str::to_owned);
        }
        let count = series.entry(key).or_default();
        *count = count.saturating_add(amount);
    }

    pub(super) fn increment(&self, labels: [&str; N]) {
        self.add(labels, 1);
    }

    pub(super) fn all(&self) -> Vec<([String; N], u64)> {
        lock(&self.series).iter().map(|(labels, count)| (labels.clone(), *count)).collect()
    }

    pub(super) fn total(&self) -> u64 {
        lock(&self.series).values().fold(0, |sum, count| sum.saturating_add(*count))
    }
}

/// The upper bounds of every histogram's buckets, in seconds.
pub(super) const BOUNDS: [f64; 16] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
];
const BUCKETS: usize = BOUNDS.len() + 1;

/// How long things took.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    /// Not cumulative; the last one is for what is beyond every bound.
    buckets: [AtomicU64; BUCKETS],
    sum_micros: AtomicU64,
}

/// A histogram at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Observed {
    pub(super) buckets: [u64; BUCKETS],
    pub(super) sum_s: f64,
}

impl Histogram {
    pub(super) fn observe(&self, took: Duration) {
        if let Some(bucket) = self.buckets.get(bucket_of(took)) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.sum_micros.fetch_add(micros, Ordering::Relaxed);
    }

    pub(super) fn observed(&self) -> Observed {
        let mut observed = Observed::default();
        for (to, from) in observed.buckets.iter_mut().zip(&self.buckets) {
            *to = from.load(Ordering::Relaxed);
        }
        let sum = Duration::from_micros(self.sum_micros.load(Ordering::Relaxed));
        observed.sum_s = sum.as_secs_f64();
        observed
    }
}

fn bucket_of(took: Duration) -> usize {
    let seconds = took.as_secs_f64();
    BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len())
}

pub(super) const SLOTS: usize = 10;
const SLOT: Duration = Duration::from_secs(60);

/// The last ten minutes of a histogram, a slot per minute.
#[derive(Debug)]
pub(super) struct Recent {
    began: Instant,
    slots: Mutex<[Slot; SLOTS]>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Which minute since the start it is about.
    minute: u64,
    buckets: [u64; BUCKETS],
}

impl Default for Recent {
    fn default() -> Self {
        Self { began: Instant::now(), slots: Mutex::default() }
    }
}

impl Recent {
    pub(super) fn observe(&self, took: Duration, now: Instant) {
        let minute = self.minute(now);
        let mut slots = lock(&self.slots);
        let place = usize::try_from(minute % SLOTS as u64).unwrap_or(0);
        let Some(slot) = slots.get_mut(place) else { return };
        if slot.minute != minute {
            *slot = Slot { minute, ..Slot::default() };
        }
        if let Some(bucket) = slot.buckets.get_mut(bucket_of(took)) {
            *bucket += 1;
        }
    }

    /// The bound that this share of the window's observations stayed under; none without any.
    pub(super) fn quantile(&self, share: f64, now: Instant) -> Option<Duration> {
        let now = self.minute(now);
        let mut buckets = [0; BUCKETS];
        for slot in
            lock(&self.slots).iter().filter(|slot| now.saturating_sub(slot.minute) < SLOTS as u64)
        {
            for (sum, count) in buckets.iter_mut().zip(slot.buckets) {
                *sum += count;
            }
        }
        quantile(&buckets, share)
    }

    fn minute(&self, now: Instant) -> u64 {
        minute_between(self.began, now)
    }
}

/// Which slot of a window that began then it is now.
pub(super) fn minute_between(began: Instant, now: Instant) -> u64 {
    now.saturating_duration_since(began).as_secs() / SLOT.as_secs()
}

fn quantile(buckets: &[u64; BUCKETS], share: f64) -> Option<Duration> {
    let total: u64 = buckets.iter().sum();
    if total == 0 {
        return None;
    }
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count; what is lost is below one"
    )]
    let rank = (total as f64 * share).ceil() as u64;
    let mut below = 0;
    for (count, bound) in buckets.iter().zip(BOUNDS) {
        below += count;
        if below >= rank {
            return Some(Duration::from_secs_f64(bound));
        }
    }
    Some(Duration::from_secs_f64(BOUNDS[BOUNDS.len() - 1]))
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
