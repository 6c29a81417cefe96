//! Opening the database, and the two ways into it: one writer, a few readers.
//!
//! Neither hands out a connection. A read is one statement, `fetch_…(self.reader())`, which runs to its end in
//! a task of its own. A write is `self.begin()`, statements on `&mut *tx` (helpers take `&mut Tx`), `commit`;
//! the connection stays in a task that takes these as orders. So a caller that is slow, is never polled again
//! or is dropped keeps nobody else from the database.

use std::panic::Location;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ref_cast::RefCast;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};

use crate::agents::Agents;
use crate::approvals::Approvals;
use crate::audit;
use crate::audit::AuditLog;
use crate::branches::Branches;
use crate::chats::Chats;
use crate::clock::Clock;
use crate::conversations::Conversations;
use crate::egress::EgressRules;
use crate::error::{StoreError, Tried};
use crate::holds::Holds;
use crate::inbox::Inbox;
use crate::memory::{AskedOften, Changes};
use crate::migrations;
use crate::models::Models;
use crate::outbox::Outbox;
use crate::pki::Clients;
use crate::pulse::Platform;
use crate::readers::{Reader, Readers};
use crate::secrets::Secrets;
use crate::tasks::Tasks;
pub(crate) use crate::tx::Tx;
use crate::tx::WriteTx;
use crate::users::Users;
use crate::writer::Writer;

/// How many reads run at the same time, unless it is said otherwise.
const READERS: u32 = 3;
/// More bring nothing: each is a thread, and they share a disk.
const MOST_READERS: u32 = 32;

/// `[store]` of the configuration: how the database is opened.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreOptions {
    /// How many reads run at the same time.
    #[serde(deserialize_with = "some_readers")]
    pub readers: u32,
}

fn some_readers<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let readers = u32::deserialize(from)?;
    if (1..=MOST_READERS).contains(&readers) {
        return Ok(readers);
    }
    Err(D::Error::custom(format!("readers must be from 1 to {MOST_READERS}, not {readers}")))
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { readers: READERS }
    }
}

/// A handle to the database; cheap to clone.
#[derive(Clone)]
pub struct Store {
    writer: Writer,
    readers: Arc<Readers>,
    holds: Arc<Holds>,
    pub(crate) memory: Arc<AskedOften>,
    pub clock: Clock,
    /// Everything is stopped: for all who share this database, from the moment it is said.
    pub stopped: Arc<AtomicBool>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

impl Store {
    /// Opens (and creates, and migrates) the database at `path`.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, StoreOptions::default()).await
    }

    /// Whether the database of a file that nobody has open is whole. Changes nothing in it.
    pub async fn check_file(path: &Path) -> Result<(), StoreError> {
        let open_error = |source| StoreError::Open { path: path.to_owned(), source };
        let options = SqliteConnectOptions::new().filename(path).read_only(true);
        let mut file = options.connect().await.map_err(open_error)?;
        let found: String = sqlx::query_scalar("PRAGMA quick_check(1)")
            .fetch_one(&mut file)
            .await
            .map_err(open_error)?;
        match found.as_str() {
            "ok" => Ok(()),
            _ => {
                let found = found.replace('\n', "; ");
                Err(StoreError::Damaged { path: path.to_owned(), found })
            }
        }
    }

    /// The same, with options.
    pub async fn open_with(path: &Path, chosen: StoreOptions) -> Result<Self, StoreError> {
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
        migrations::all()
            .run(&mut writer)
            .await
            .map_err(|source| StoreError::Migrate { path: path.to_owned(), source })?;
        let (holds, changes) = (Arc::new(Holds::default()), Changes::default());
        let options = options.read_only(true).create_if_missing(false);
        let store = Self {
            readers: readers(options, chosen.readers, &holds).await.map_err(open_error)?,
            writer: Writer::new(writer, Arc::clone(&holds), changes.clone()),
            holds,
            memory: Arc::new(AskedOften::new(&changes)),
            clock: Clock,
            stopped: Arc::default(),
        };
        audit::adopt_unchained(&store).await?;
        Ok(store)
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
        let (holds, changes) = (Arc::new(Holds::default()), Changes::default());
        Ok(Self {
            readers: readers(options, READERS, &holds).await.map_err(open_error)?,
            writer: Writer::new(writer, Arc::clone(&holds), changes.clone()),
            holds,
            memory: Arc::new(AskedOften::new(&changes)),
            clock: Clock,
            stopped: Arc::default(),
        })
    }

    /// Where one statement reads.
    #[track_caller]
    pub(crate) fn reader(&self) -> Reader<'_> {
        self.readers.reader(Location::caller())
    }

    pub(crate) fn holds(&self) -> &Holds {
        &self.holds
    }

    /// A write transaction of several statements.
    #[track_caller]
    pub(crate) fn begin(&self) -> impl Future<Output = Result<WriteTx, StoreError>> + Send {
        let begun = self.writer.begin();
        async move { begun.await.tried("begin a transaction") }
    }

    /// A write transaction of one statement, which costs no more than the statement.
    #[track_caller]
    pub(crate) fn begin_one(&self) -> impl Future<Output = Result<WriteTx, StoreError>> + Send {
        let begun = self.writer.begin_one();
        async move { begun.await.tried("begin a transaction") }
    }

    /// A write transaction of what every turn writes: nothing of it is ever remembered, so all that is stays so.
    #[track_caller]
    pub(crate) fn begin_turn(&self) -> impl Future<Output = Result<WriteTx, StoreError>> + Send {
        let begun = self.writer.begin_turn();
        async move { begun.await.tried("begin a transaction") }
    }

    /// Closes every connection; what was written is checkpointed.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.readers.close().await;
        self.writer.close().await.tried("be closed")
    }
}

async fn readers(
    options: SqliteConnectOptions,
    count: u32,
    holds: &Arc<Holds>,
) -> Result<Arc<Readers>, sqlx::Error> {
    Ok(Arc::new(Readers::open(options, count, Arc::clone(holds)).await?))
}

/// The tables, by what they are about.
impl Store {
    pub fn users(&self) -> &Users {
        Users::ref_cast(self)
    }

    pub fn clients(&self) -> &Clients {
        Clients::ref_cast(self)
    }

    pub fn agents(&self) -> &Agents {
        Agents::ref_cast(self)
    }

    pub fn chats(&self) -> &Chats {
        Chats::ref_cast(self)
    }

    pub fn branches(&self) -> &Branches {
        Branches::ref_cast(self)
    }

    pub fn conversations(&self) -> &Conversations {
        Conversations::ref_cast(self)
    }

    pub fn inbox(&self) -> &Inbox {
        Inbox::ref_cast(self)
    }

    pub fn outbox(&self) -> &Outbox {
        Outbox::ref_cast(self)
    }

    pub fn tasks(&self) -> &Tasks {
        Tasks::ref_cast(self)
    }

    pub fn approvals(&self) -> &Approvals {
        Approvals::ref_cast(self)
    }

    pub fn models(&self) -> &Models {
        Models::ref_cast(self)
    }

    pub fn egress(&self) -> &EgressRules {
        EgressRules::ref_cast(self)
    }

    pub fn secrets(&self) -> &Secrets {
        Secrets::ref_cast(self)
    }

    pub fn audit(&self) -> &AuditLog {
        AuditLog::ref_cast(self)
    }

    pub fn platform(&self) -> &Platform {
        Platform::ref_cast(self)
    }
}
