//! Opening the database, and the two ways into it: one writer, a few readers.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};

use crate::audit;
use crate::clock::Clock;
use crate::error::{StoreError, Tried};
use crate::models::Chains;
use crate::writer::{WriteTx, Writer};

/// A handle to the database; cheap to clone.
#[derive(Clone)]
pub struct Store {
    writer: Arc<Writer>,
    readers: SqlitePool,
    pub(crate) chains: Arc<Chains>,
    pub clock: Clock,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
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
            // What is erased is overwritten; a page that is split leaves no copy behind.
            .pragma("secure_delete", "fast")
            .busy_timeout(Duration::from_secs(10));
        let mut writer = options.connect().await.map_err(open_error)?;
        sqlx::migrate!()
            .run(&mut writer)
            .await
            .map_err(|source| StoreError::Migrate { path: path.to_owned(), source })?;
        audit::adopt_unchained(&mut writer).await?;
        let readers = SqlitePoolOptions::new()
            .max_connections(3)
            .acquire_timeout(Duration::from_secs(30))
            // A connection to a file does not break or age; asking it each time would double every query.
            .test_before_acquire(false)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_with(options.read_only(true).create_if_missing(false))
            .await
            .map_err(open_error)?;
        Ok(Self {
            writer: Arc::new(Writer::new(writer)),
            readers,
            chains: Arc::default(),
            clock: Clock,
        })
    }

    /// Opens the database to look at it: nothing is made, brought up to date or written, and whoever else
    /// has it open is not disturbed.
    pub async fn open_to_read(path: &Path) -> Result<Self, StoreError> {
        let open_error = |source| StoreError::Open { path: path.to_owned(), source };
        let options = SqliteConnectOptions::new()
            .filename(path)
            .read_only(true)
            .busy_timeout(Duration::from_secs(10));
        let writer = options.connect().await.map_err(open_error)?;
        let readers = SqlitePoolOptions::new()
            .max_connections(2)
            .acquire_timeout(Duration::from_secs(30))
            .connect_with(options)
            .await
            .map_err(open_error)?;
        Ok(Self {
            writer: Arc::new(Writer::new(writer)),
            readers,
            chains: Arc::default(),
            clock: Clock,
        })
    }

    pub(crate) fn reader(&self) -> &SqlitePool {
        &self.readers
    }

    /// A write transaction of several statements.
    pub(crate) async fn begin(&self) -> Result<WriteTx<'_>, StoreError> {
        self.writer.begin().await.tried("begin a transaction")
    }

    /// A write transaction of one statement, which costs no more than the statement.
    pub(crate) async fn begin_one(&self) -> Result<WriteTx<'_>, StoreError> {
        self.writer.begin_one().await.tried("begin a transaction")
    }

    /// Closes every connection; what was written is checkpointed.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.readers.close().await;
        self.writer.close().await.tried("be closed")
    }
}
