//! The readers. A read runs to its end in a task of its own, and only what it found leaves it.
//!
//! Promises: nobody can hold a reader and wait for something else. Whoever asked may be slow, may never be
//! polled again or may be dropped: the read ends, and its connection is free for the next. What waits for a
//! reader is limited, and so is for how long.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::holds::{CallSite, HoldKind, Holds};
use crate::statement::{Owned, StatementStep, executes_by_running};

/// The longest a read waits for those before it.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest a read may take.
const LONGEST: Duration = Duration::from_secs(60);

pub(crate) struct Readers {
    desk: Arc<Desk>,
    holds: Arc<Holds>,
    reads: TaskTracker,
}

/// The connections, and who may have one.
struct Desk {
    options: SqliteConnectOptions,
    turns: Semaphore,
    /// One for every turn that nobody has; one that broke is opened again by the next.
    idle: Mutex<Vec<SqliteConnection>>,
}

impl fmt::Debug for Readers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readers").finish_non_exhaustive()
    }
}

impl Readers {
    pub(crate) async fn open(
        options: SqliteConnectOptions,
        count: u32,
        holds: Arc<Holds>,
    ) -> Result<Self, sqlx::Error> {
        let mut idle = Vec::new();
        for _ in 0..count.max(1) {
            idle.push(options.connect().await?);
        }
        let turns = Semaphore::new(idle.len());
        let desk = Arc::new(Desk { options, turns, idle: Mutex::new(idle) });
        Ok(Self { desk, holds, reads: TaskTracker::new() })
    }

    /// A read of one statement, for `fetch_one` and its like.
    pub(crate) fn reader(&self, place: CallSite) -> Reader<'_> {
        Reader { readers: self, place }
    }

    /// Runs a statement to its end, on a connection of its own. All waiting is done by the task: a turn that
    /// has come to somebody who does not look would be a turn lost.
    async fn run(
        &self,
        place: CallSite,
        statement: Owned,
    ) -> Result<Vec<StatementStep>, sqlx::Error> {
        let ticket = self.holds.wait(HoldKind::Reader, place).ok_or(sqlx::Error::PoolTimedOut)?;
        let desk = Arc::clone(&self.desk);
        let read = self.reads.spawn(async move {
            let turn = match timeout(PATIENCE, desk.turns.acquire()).await {
                Ok(turn) => turn.map_err(|_closed| sqlx::Error::PoolClosed)?,
                Err(_late) => return Err(sqlx::Error::PoolTimedOut),
            };
            ticket.has_turn();
            let found = desk.read(statement).await;
            if let Err(error) = &found {
                ticket.failed(error);
            }
            drop(turn);
            found
        });
        read.await.unwrap_or(Err(sqlx::Error::WorkerCrashed))
    }

    /// Lets what runs end, and closes every connection. Whoever reads afterwards is refused.
    pub(crate) async fn close(&self) {
        self.desk.turns.close();
        self.reads.close();
        self.reads.wait().await;
        let idle = std::mem::take(&mut *self.desk.idle());
        for connection in idle {
            // It has written nothing; what it can't say any more nobody needs.
            drop(connection.close().await);
        }
    }
}

impl Desk {
    async fn read(&self, statement: Owned) -> Result<Vec<StatementStep>, sqlx::Error> {
        let idle = self.idle().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.options.connect().await?,
        };
        let found = timeout(LONGEST, statement.run(&mut connection)).await;
        let found = found.unwrap_or(Err(sqlx::Error::PoolTimedOut));
        // One that was cut short or broke is not used again: what it is at is not known.
        if !matches!(found, Err(sqlx::Error::PoolTimedOut | sqlx::Error::WorkerCrashed)) {
            self.idle().push(connection);
        }
        found
    }

    fn idle(&self) -> MutexGuard<'_, Vec<SqliteConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where one statement reads. There is no connection to be had from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    readers: &'a Readers,
    place: CallSite,
}

impl Reader<'_> {
    async fn run(
        self,
        statement: Result<Owned, sqlx::Error>,
    ) -> Result<Vec<StatementStep>, sqlx::Error> {
        self.readers.run(self.place, statement?).await
    }
}

executes_by_running!('c, Reader<'c>);

#[cfg(test)]
#[path = "readers_tests.rs"]
mod tests;
