//! What follows from turns and nobody waits for: what calls have cost, what was shown, what is journaled. It is gathered
//! for a moment and written together, in one trip to the database that does not wait for the disk.
//!
//! Promises: what was answered outlives any kill. A power cut may take it back: then a call costs what was held for it,
//! something is shown again, or a message is handed over again to a coordinator that knows it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::audit::SqliteQuery;
use crate::budget::{Settled, settle};
use crate::clock::Clock;
use crate::error::{StoreError, Tried, corrupt};
use crate::statement::Owned;
use crate::tx::Outlives;
use crate::writer::Writer;

/// All of it. What is to be told in a conversation is delivered there, whoever else was shown it, unless nothing can be
/// sent there now.
const WRITE: &str = concat!(
    settle!("?1"),
    "; \
    UPDATE outbox SET delivered_at = ?4 WHERE id IN (SELECT value FROM json_each(?2)) \
      AND delivered_at IS NULL AND (conversation IS NULL OR conversation IN \
           (SELECT id FROM conversations WHERE broken IS NOT NULL)); \
    UPDATE inbox SET state = 'journaled' \
      WHERE id IN (SELECT value FROM json_each(?3)) AND state = 'accepted'"
);

/// How long what follows is gathered.
const GATHER: Duration = Duration::from_millis(50);

/// What follows from a turn.
#[derive(Debug)]
pub(crate) enum Deed {
    Settled(Settled),
    Shown(Vec<i64>),
    Journaled(i64),
}

#[derive(Clone)]
pub(crate) struct Beside {
    writer: Writer,
    gathered: Arc<Mutex<Gathered>>,
}

#[derive(Debug, Default)]
struct Gathered {
    settled: Vec<Settled>,
    shown: Vec<i64>,
    journaled: Vec<i64>,
    waiting: Vec<oneshot::Sender<Result<(), Arc<str>>>>,
}

impl Beside {
    pub(crate) fn new(writer: Writer) -> Self {
        Self { writer, gathered: Arc::default() }
    }

    /// Resolves when it is written. It is, also if nobody waits.
    pub(crate) async fn note(&self, deed: Deed, what: &'static str) -> Result<(), StoreError> {
        let (done, is_done) = oneshot::channel();
        if self.gather(deed, done) {
            let beside = self.clone();
            self.writer.spawn(async move {
                sleep(GATHER).await;
                beside.write().await;
            });
        }
        written(is_done, what).await
    }

    /// The same of what others must know before they go on: with what has been gathered by now.
    pub(crate) async fn note_at_once(
        &self,
        deed: Deed,
        what: &'static str,
    ) -> Result<(), StoreError> {
        let (done, is_done) = oneshot::channel();
        self.gather(deed, done);
        // Also if whoever waits is gone: should it be the first, nobody else writes it.
        let beside = self.clone();
        self.writer.spawn(async move { beside.write().await });
        written(is_done, what).await
    }

    /// Whether it is the first of what is gathered.
    fn gather(&self, deed: Deed, done: oneshot::Sender<Result<(), Arc<str>>>) -> bool {
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        match deed {
            Deed::Settled(call) => gathered.settled.push(call),
            Deed::Shown(rows) => gathered.shown.extend(rows),
            Deed::Journaled(message) => gathered.journaled.push(message),
        }
        gathered.waiting.push(done);
        gathered.waiting.len() == 1
    }

    pub(crate) async fn write(&self) {
        let gathered =
            std::mem::take(&mut *self.gathered.lock().unwrap_or_else(PoisonError::into_inner));
        if gathered.waiting.is_empty() {
            return;
        }
        let written = match gathered.statement() {
            Ok(statement) => self.writer.write(Outlives::Kills, statement).await.map_err(why),
            Err(error) => Err(error.to_string().into()),
        };
        for waiting in gathered.waiting {
            // Whoever is gone does not want to know.
            drop(waiting.send(written.clone()));
        }
    }
}

async fn written(
    is_done: oneshot::Receiver<Result<(), Arc<str>>>,
    what: &'static str,
) -> Result<(), StoreError> {
    let written = is_done.await.unwrap_or_else(|_gone| Err("the database is closed".into()));
    written.map_err(|why| sqlx::Error::Protocol(why.to_string())).tried(what)
}

fn why(error: sqlx::Error) -> Arc<str> {
    error.to_string().into()
}

impl Gathered {
    fn statement(&self) -> Result<Owned, StoreError> {
        let query: SqliteQuery = sqlx::query(WRITE)
            .bind(as_json(&self.settled)?)
            .bind(as_json(&self.shown)?)
            .bind(as_json(&self.journaled)?)
            .bind(Clock.now_ms());
        Owned::all(query).tried("write what follows from a turn")
    }
}

fn as_json(rows: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(rows).map_err(|e| corrupt("what follows from a turn", e))
}
