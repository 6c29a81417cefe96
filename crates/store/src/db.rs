//! Opening the database, and the two ways into it: one writer, a few readers.

use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Sqlite, Transaction};

use crate::clock::Clock;
use crate::error::{StoreError, Tried};

/// A handle to the database; cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    writer: SqlitePool,
    readers: SqlitePool,
    pub clock: Clock,
}

impl Store {
    /// Opens (and creates, and migrates) the database at `path`.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let open_error = |source| StoreError::Open { path: path.to_owned(), source };
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // A commit that was answered survives a power cut.
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(Duration::from_secs(10));
        let writer = SqlitePoolOptions::new()
            .max_connections(1)
            .acquire_timeout(Duration::from_secs(30))
            // A connection to a file does not break or age; asking it each time would double every query.
            .test_before_acquire(false)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_with(options.clone())
            .await
            .map_err(open_error)?;
        sqlx::migrate!()
            .run(&writer)
            .await
            .map_err(|source| StoreError::Migrate { path: path.to_owned(), source })?;
        let readers = SqlitePoolOptions::new()
            .max_connections(3)
            .acquire_timeout(Duration::from_secs(30))
            .test_before_acquire(false)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_with(options.read_only(true).create_if_missing(false))
            .await
            .map_err(open_error)?;
        Ok(Self { writer, readers, clock: Clock })
    }

    pub(crate) fn reader(&self) -> &SqlitePool {
        &self.readers
    }

    /// A write transaction. There is one writer, so it never meets another.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Sqlite>, StoreError> {
        self.writer.begin_with("BEGIN IMMEDIATE").await.tried("begin a transaction")
    }

    pub(crate) fn writer(&self) -> &SqlitePool {
        &self.writer
    }

    /// Closes every connection; what was written is checkpointed.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}
