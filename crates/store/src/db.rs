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
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteRow, SqliteSynchronous};
use sqlx::{ConnectOptions, Either, FromRow};
use tokio::sync::oneshot;

use crate::agents::Agents;
use crate::approvals::Approvals;
use crate::audit;
use crate::audit::{AuditLog, SqliteQuery};
use crate::beside::Beside;
use crate::branches::Branches;
use crate::chats::Chats;
use crate::clock::Clock;
use crate::conversations::Conversations;
use crate::desk::Connections;
use crate::egress::EgressRules;
use crate::error::{StoreError, Tried};
use crate::holds::Holds;
use crate::inbox::Inbox;
use crate::layers::Layers;
use crate::memory::{AskedOften, Changes};
use crate::migrations;
use crate::models::Models;
use crate::outbox::Outbox;
use crate::pki::Clients;
use crate::pulse::Platform;
use crate::readers::{Reader, Readers};
use crate::retention::Retention;
use crate::secrets::Secrets;
use crate::statement::{Owned, StatementStep};
use crate::task_documents::TaskDocuments;
use crate::tasks::Tasks;
use crate::telling::Tellers;
pub(crate) use crate::tx::{Outlives, Tx};
use crate::tx::{Then, WriteTx};
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
    pub(crate) beside: Beside,
    pub(crate) tellers: Tellers,
    pub clock: Clock,
    /// Everything is stopped: for all who share this database, from the moment it is said.
    pub stopped: Arc<AtomicBool>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

/// How a file is opened to be looked at. Who reads makes files beside it, as a rule; where none can be made, and no log
/// waits there to be taken over, it is read as it lies: nobody can write to it then.
async fn to_look_at(path: &Path) -> Result<SqliteConnectOptions, sqlx::Error> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .read_only(true)
        .busy_timeout(Duration::from_secs(10));
    let look = async {
        let mut file = options.connect().await?;
        sqlx::query("SELECT 1 FROM sqlite_schema LIMIT 1").execute(&mut file).await
    };
    match look.await {
        Err(error) if cannot_open(&error) && path.exists() && !has_log(path) => {
            Ok(options.immutable(true))
        }
        // What else stands in the way, whoever reads meets.
        Ok(_) | Err(_) => Ok(options),
    }
}

fn cannot_open(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(error) = error else { return false };
    let code = error.code().and_then(|code| code.parse::<u32>().ok());
    code.is_some_and(|code| code & 0xff == 14)
}

fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).is_ok_and(|log| log.len() > 0)
}

impl Store {
    /// Opens (and creates, and migrates) the database at `path`.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, StoreOptions::default()).await
    }

    /// Whether the database of a file that nobody has open is whole. Changes nothing in it.
    pub async fn check_file(path: &Path) -> Result<(), StoreError> {
        let open_error = |source| StoreError::Open { path: path.to_owned(), source };
        let options = to_look_at(path).await.map_err(open_error)?;
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
        let light = options.clone().synchronous(SqliteSynchronous::Normal);
        // It forgets what it has read whenever the other has written.
        let light = light.pragma("cache_size", "-512");
        let light = light.connect().await.map_err(open_error)?;
        let connections = Connections { durable: writer, light };
        let (holds, changes) = (Arc::new(Holds::default()), Changes::default());
        let options = options.read_only(true).create_if_missing(false);
        let writer = Writer::new(connections, Arc::clone(&holds), changes.clone());
        let store = Self {
            readers: readers(options, chosen.readers, &holds).await.map_err(open_error)?,
            beside: Beside::new(writer.clone()),
            writer,
            holds,
            memory: Arc::new(AskedOften::new(&changes)),
            tellers: Tellers::default(),
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
        let options = to_look_at(path).await.map_err(open_error)?;
        let connect = async || options.connect().await.map_err(open_error);
        let connections = Connections { durable: connect().await?, light: connect().await? };
        let (holds, changes) = (Arc::new(Holds::default()), Changes::default());
        let writer = Writer::new(connections, Arc::clone(&holds), changes.clone());
        Ok(Self {
            readers: readers(options.clone(), READERS, &holds).await.map_err(open_error)?,
            beside: Beside::new(writer.clone()),
            writer,
            holds,
            memory: Arc::new(AskedOften::new(&changes)),
            tellers: Tellers::default(),
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
        let (begun, telling) = (self.writer.begin(), self.tellers.telling());
        async move { Ok(begun.await.tried("begin a transaction")?.telling(telling)) }
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

    /// Waits until the disk has all that was written.
    pub(crate) async fn reach_the_disk(&self) -> Result<(), StoreError> {
        // A row that comes and goes: only who writes something waits for the disk.
        let tx = self.begin_turn().await?;
        let comes_and_goes = "INSERT INTO audit_witnesses (name, number, at) VALUES ('', 0, 0); \
                              DELETE FROM audit_witnesses WHERE name = ''";
        tx.commit_after(sqlx::query(comes_and_goes)).await.tried("reach the disk")
    }

    /// A write of what every turn writes that is one statement.
    #[track_caller]
    pub(crate) fn write_one(
        &self,
        (outlives, what): (Outlives, &'static str),
        statement: SqliteQuery,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        let written = Owned::all(statement).map(|owned| self.writer.write(outlives, owned));
        async move { written.tried(what)?.await.tried(what) }
    }

    /// A write of what every turn writes, as one order: `first`, and what `follow` says when it sees its rows. What
    /// that brings counts when all is written; where it wants nothing of it, nothing is.
    #[track_caller]
    pub(crate) fn write_turn<R, T>(
        &self,
        (outlives, what): (Outlives, &'static str),
        first: SqliteQuery,
        follow: impl FnOnce(Vec<R>) -> Result<(Follows, T), StoreError> + Send + 'static,
    ) -> impl Future<Output = Result<T, StoreError>> + Send
    where
        R: for<'r> FromRow<'r, SqliteRow> + Send,
        T: Send + 'static,
    {
        let (found, mut is_found) = oneshot::channel();
        let follow = Box::new(move |steps: Vec<StatementStep>| {
            let rows = steps.into_iter().filter_map(Either::right);
            let rows = rows.map(|row| R::from_row(&row)).collect::<Result<Vec<R>, _>>();
            let decided = rows.tried(what).and_then(follow).and_then(|(follows, brought)| {
                let then = match follows {
                    Follows::Last(last) => Then::Last(Owned::all(last).tried(what)?),
                    Follows::Commit => Then::Commit,
                    Follows::Undo => Then::Undo,
                };
                Ok((then, brought))
            });
            let (then, brought) = match decided {
                Ok((then, brought)) => (then, Ok(brought)),
                Err(error) => (Then::Undo, Err(error)),
            };
            // Whoever gave the order is gone: then it is undone.
            if found.send(brought).is_err() { Then::Undo } else { then }
        });
        let written =
            Owned::all(first).map(|first| self.writer.write_both(outlives, first, follow));
        async move {
            written.tried(what)?.await.tried(what)?;
            is_found.try_recv().unwrap_or_else(|_fell_over| {
                Err(StoreError::Query { what, source: sqlx::Error::WorkerCrashed })
            })
        }
    }

    /// Closes every connection; what was written is checkpointed.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.readers.close().await;
        self.beside.write().await;
        self.writer.close().await.tried("be closed")
    }
}

/// What follows the first statement of a write that is one order.
pub(crate) enum Follows {
    /// The last statement, and the commit.
    Last(SqliteQuery),
    /// The commit.
    Commit,
    /// Nothing of it is to be.
    Undo,
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

    pub fn layers(&self) -> &Layers {
        Layers::ref_cast(self)
    }

    pub fn retention(&self) -> &Retention {
        Retention::ref_cast(self)
    }

    pub fn task_documents(&self) -> &TaskDocuments {
        TaskDocuments::ref_cast(self)
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
