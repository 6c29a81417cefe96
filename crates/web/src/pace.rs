//! How much one person may ask for: so many requests in a time, and so few at once.
//!
//! Promises: nobody's requests keep the pages of others waiting, however many they send; who is told to wait is told
//! for how long. Buckets are wide: nobody who reads and clicks comes to their edge.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::http::Method;
use cloister_protocol::{ErrorCode, UserId};
use cloister_words::say;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::reply::Failure;

/// So many at once, and so many a second again.
#[derive(Clone, Copy, Debug)]
struct Width {
    burst: f64,
    per_second: f64,
}

const READS: Width = Width { burst: 600.0, per_second: 10.0 };
const CHANGES: Width = Width { burst: 60.0, per_second: 1.0 };

/// Requests of one person that are worked on at once; further ones wait for these.
const READS_AT_ONCE: usize = 2;
const CHANGES_AT_ONCE: usize = 4;

/// A turn among the requests of a person: the next one comes when it is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Turn(#[expect(dead_code, reason = "held, not read")] Arc<OwnedSemaphorePermit>);

/// Counts what people ask for. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Turnstile {
    people: Arc<Mutex<HashMap<UserId, Person>>>,
}

#[derive(Debug)]
struct Person {
    reads: Bucket,
    changes: Bucket,
    reading: Arc<Semaphore>,
    changing: Arc<Semaphore>,
    searching: Arc<Semaphore>,
}

#[derive(Debug)]
struct Bucket {
    width: Width,
    left: f64,
    at: Instant,
}

impl Bucket {
    fn new(width: Width, now: Instant) -> Self {
        Self { width, left: width.burst, at: now }
    }

    /// Takes one out of it; the seconds until there is one, where it is empty.
    fn take(&mut self, now: Instant) -> Result<(), f64> {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + passed * self.width.per_second).min(self.width.burst);
        self.at = now;
        if self.left < 1.0 {
            return Err((1.0 - self.left) / self.width.per_second);
        }
        self.left -= 1.0;
        Ok(())
    }
}

impl Person {
    fn new(now: Instant) -> Self {
        Self {
            reads: Bucket::new(READS, now),
            changes: Bucket::new(CHANGES, now),
            reading: Arc::new(Semaphore::new(READS_AT_ONCE)),
            changing: Arc::new(Semaphore::new(CHANGES_AT_ONCE)),
            searching: Arc::new(Semaphore::new(1)),
        }
    }
}

impl Turnstile {
    /// Charges a request to who makes it, and waits for its turn among theirs.
    pub(crate) async fn enter(&self, user: UserId, method: &Method) -> Result<Turn, Failure> {
        let waits = self.charge(user, method, Instant::now())?;
        self.turn(waits).await
    }

    /// Charges what a program asks for with a session: it may do as much as who reads, and keeps nobody waiting.
    pub(crate) fn pass(&self, user: UserId) -> Result<(), Failure> {
        self.charge(user, &Method::GET, Instant::now()).map(drop)
    }

    /// The turn of a search among those of a person.
    pub(crate) async fn searching(&self, user: UserId) -> Result<Turn, Failure> {
        let waits = self.with(user, Instant::now(), |person| Arc::clone(&person.searching));
        self.turn(waits).await
    }

    async fn turn(&self, waits: Arc<Semaphore>) -> Result<Turn, Failure> {
        let closed = |_closed| Failure::new(ErrorCode::ShuttingDown, "the server is stopping");
        Ok(Turn(Arc::new(waits.acquire_owned().await.map_err(closed)?)))
    }

    fn charge(
        &self,
        user: UserId,
        method: &Method,
        now: Instant,
    ) -> Result<Arc<Semaphore>, Failure> {
        let reads = [Method::GET, Method::HEAD].contains(method);
        let (taken, waits) = self.with(user, now, |person| match reads {
            true => (person.reads.take(now), Arc::clone(&person.reading)),
            false => (person.changes.take(now), Arc::clone(&person.changing)),
        });
        let Err(seconds) = taken else { return Ok(waits) };
        let seconds = std::time::Duration::from_secs_f64(seconds).as_secs().saturating_add(1);
        let failure = Failure::said(ErrorCode::Busy, |to| {
            say!(to, "you asked for too much in too short a time")
        });
        Err(failure.fixed(|to| say!(to, "try again in {n} s", n = seconds)).again_in(seconds))
    }

    fn with<T>(&self, user: UserId, now: Instant, f: impl FnOnce(&mut Person) -> T) -> T {
        let mut people = self.people.lock().unwrap_or_else(PoisonError::into_inner);
        f(people.entry(user).or_insert_with(|| Person::new(now)))
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
