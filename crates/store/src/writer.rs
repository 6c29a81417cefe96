//! The one writer. Whoever writes at the same time shares a trip to the disk: a transaction that others
//! wait behind stays open for them, and one commit answers all of them.
//!
//! Promises: what `commit` has answered is on disk. A member that fails, or is dropped on its way, takes
//! nothing of the others with it; if the shared commit fails, every member is told so.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection, Executor};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, OwnedMutexGuard, watch};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

/// The longest a writer waits for those before it.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Writer {
    desk: Arc<Mutex<Desk>>,
    /// Writers that wait for their turn and have not written yet.
    newcomers: AtomicUsize,
    /// Commits that others wait for: they go on whatever becomes of whoever began them.
    commits: TaskTracker,
}

/// What the one whose turn it is holds.
struct Desk {
    connection: SqliteConnection,
    /// The transaction that is open, if one is.
    group: Option<Group>,
    /// What is left to do if whoever has the desk leaves it now.
    left: Option<Left>,
}

/// Members of one transaction.
struct Group {
    outcome: watch::Sender<Outcome>,
    /// How many have joined whoever began it.
    joined: usize,
    /// Some have written and wait for the commit.
    awaited: bool,
}

#[derive(Clone, Debug)]
enum Outcome {
    Open,
    Stored,
    Failed(Arc<str>),
}

/// Where a member is, and would be dropped.
#[derive(Clone, Copy, Debug)]
enum Left {
    /// In a group that it has begun.
    First,
    /// Behind the savepoint of this number.
    Joined(usize),
    /// In a single statement inside a group, which takes effect whole or not at all.
    Single,
    /// In a commit that may have happened.
    Commit,
}

/// A write transaction; dropped without `commit` it leaves no trace.
pub(crate) struct WriteTx<'a> {
    writer: &'a Writer,
    desk: OwnedMutexGuard<Desk>,
    /// Dropped after the desk is free.
    _tidies: Tidies<'a>,
}

/// Tidies up after whoever left the desk, if nobody else is about to: other processes wait for the file, too.
struct Tidies<'a>(&'a Writer);

impl Drop for Tidies<'_> {
    fn drop(&mut self) {
        // Whoever has the desk, or waits for it, tidies up first.
        let Ok(mut desk) = Arc::clone(&self.0.desk).try_lock_owned() else { return };
        if desk.left.is_some()
            && let Ok(runtime) = Handle::try_current()
        {
            self.0.commits.spawn_on(async move { desk.tidy().await }, &runtime);
        }
    }
}

impl Deref for WriteTx<'_> {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.desk.connection
    }
}

impl DerefMut for WriteTx<'_> {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.desk.connection
    }
}

/// Counts a writer that waits for its turn.
struct Newcomer<'a>(&'a AtomicUsize);

impl<'a> Newcomer<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Newcomer<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Writer {
    pub(crate) fn new(connection: SqliteConnection) -> Self {
        let desk = Desk { connection, group: None, left: None };
        Self {
            desk: Arc::new(Mutex::new(desk)),
            newcomers: AtomicUsize::new(0),
            commits: TaskTracker::new(),
        }
    }

    /// A transaction of several statements.
    pub(crate) async fn begin(&self) -> Result<WriteTx<'_>, sqlx::Error> {
        let mut tx = self.turn().await?;
        let joined = tx.desk.group.as_mut().map(|group| {
            group.joined += 1;
            group.joined
        });
        match joined {
            None => tx.begin_group().await?,
            Some(number) => {
                tx.desk.left = Some(Left::Joined(number));
                // Named apart, so that undoing one can never reach into another.
                tx.desk.run(format!("SAVEPOINT member_{number}")).await?;
            }
        }
        Ok(tx)
    }

    /// A transaction of one statement: alone, it needs neither a begin nor a commit.
    pub(crate) async fn begin_one(&self) -> Result<WriteTx<'_>, sqlx::Error> {
        let mut tx = self.turn().await?;
        if tx.desk.group.is_some() {
            tx.desk.left = Some(Left::Single);
        } else if self.others_wait() {
            tx.begin_group().await?;
        }
        Ok(tx)
    }

    /// Waits for its turn among the writers, and tidies up after whoever was dropped.
    async fn turn(&self) -> Result<WriteTx<'_>, sqlx::Error> {
        let newcomer = Newcomer::new(&self.newcomers);
        let desk = timeout(PATIENCE, Arc::clone(&self.desk).lock_owned()).await;
        drop(newcomer);
        let desk = desk.map_err(|_late: tokio::time::error::Elapsed| sqlx::Error::PoolTimedOut)?;
        Ok(WriteTx { writer: self, desk: self.tidied(desk).await?, _tidies: Tidies(self) })
    }

    /// The desk, after what somebody left behind is done; others may wait for that.
    async fn tidied(
        &self,
        mut desk: OwnedMutexGuard<Desk>,
    ) -> Result<OwnedMutexGuard<Desk>, sqlx::Error> {
        if desk.left.is_none() {
            return Ok(desk);
        }
        let tidying = self.commits.spawn(async move {
            desk.tidy().await;
            desk
        });
        tidying.await.map_err(|_ended: tokio::task::JoinError| sqlx::Error::WorkerCrashed)
    }

    fn others_wait(&self) -> bool {
        self.newcomers.load(Ordering::SeqCst) > 0
    }

    /// Waits until a group is committed; commits it when nobody did before its turn came again.
    async fn settled(&self, group: watch::Receiver<Outcome>) -> Result<(), sqlx::Error> {
        let mut watched = group.clone();
        let told =
            async { watched.wait_for(|outcome| !matches!(outcome, Outcome::Open)).await.is_ok() };
        let in_turn = async {
            let desk = self.tidied(Arc::clone(&self.desk).lock_owned().await).await;
            // Another group may be open by now: ours is settled then.
            let ours = |open: &Group| open.outcome.subscribe().same_channel(&group);
            if let Ok(desk) = desk
                && desk.group.as_ref().is_some_and(ours)
            {
                // The outcome is told to every member, this one included.
                drop(self.commit(desk).await);
            }
            true
        };
        let settled = async {
            tokio::select! {
                biased;
                settled = told => settled,
                settled = in_turn => settled,
            }
        };
        match timeout(PATIENCE, settled).await {
            Ok(_) => group.borrow().result(),
            Err(_late) => Err(sqlx::Error::PoolTimedOut),
        }
    }

    /// Commits the open group.
    async fn commit(&self, mut desk: OwnedMutexGuard<Desk>) -> Result<(), sqlx::Error> {
        if !desk.group.as_ref().is_some_and(|group| group.awaited) {
            return desk.commit().await;
        }
        let committing = self.commits.spawn(async move { desk.commit().await });
        committing.await.unwrap_or(Err(sqlx::Error::WorkerCrashed))
    }

    /// Commits what is open and closes the connection. Whoever writes afterwards is refused.
    pub(crate) async fn close(&self) -> Result<(), sqlx::Error> {
        let mut desk = self.desk.lock().await;
        desk.tidy().await;
        if desk.group.is_some() {
            desk.commit().await?;
        }
        let nothing = SqliteConnectOptions::new().in_memory(true).connect().await?;
        std::mem::replace(&mut desk.connection, nothing).close().await
    }
}

impl WriteTx<'_> {
    /// Puts what was written on disk, together with what others wrote meanwhile.
    pub(crate) async fn commit(mut self) -> Result<(), sqlx::Error> {
        // A statement that was alone has committed itself.
        let Some(member) = self.desk.left.take() else { return Ok(()) };
        let waits = self.writer.others_wait();
        let Some(group) = &mut self.desk.group else { return Ok(()) };
        if !waits {
            self.desk.left = Some(member);
            return self.writer.commit(self.desk).await;
        }
        group.awaited = true;
        let outcome = group.outcome.subscribe();
        drop(self.desk);
        self.writer.settled(outcome).await
    }

    /// Takes back what was written, now rather than before the next write.
    pub(crate) async fn rollback(mut self) -> Result<(), sqlx::Error> {
        self.desk.tidy().await;
        Ok(())
    }

    async fn begin_group(&mut self) -> Result<(), sqlx::Error> {
        self.desk.left = Some(Left::First);
        sqlx::query("BEGIN IMMEDIATE").execute(&mut self.desk.connection).await?;
        let outcome = watch::Sender::new(Outcome::Open);
        self.desk.group = Some(Group { outcome, joined: 0, awaited: false });
        Ok(())
    }
}

impl Outcome {
    fn result(&self) -> Result<(), sqlx::Error> {
        match self {
            Self::Stored => Ok(()),
            Self::Failed(why) => Err(sqlx::Error::Protocol(why.to_string())),
            Self::Open => Err(sqlx::Error::Protocol("the commit was given up".to_owned())),
        }
    }
}

impl Desk {
    async fn run(&mut self, sql: String) -> Result<(), sqlx::Error> {
        self.connection.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(sql))).await?;
        Ok(())
    }

    /// Ends the open group and tells its members.
    async fn commit(&mut self) -> Result<(), sqlx::Error> {
        self.left = Some(Left::Commit);
        let committed = sqlx::query("COMMIT").execute(&mut self.connection).await;
        match &committed {
            Ok(_) => self.end_group(Outcome::Stored),
            Err(error) => self.abandon(error).await,
        }
        self.left = None;
        committed.map(|_done| ())
    }

    /// Takes back all that the group wrote.
    async fn abandon(&mut self, error: &sqlx::Error) {
        // SQLite may have taken it back already; then there is nothing to roll back.
        drop(sqlx::query("ROLLBACK").execute(&mut self.connection).await);
        self.end_group(Outcome::Failed(error.to_string().into()));
    }

    fn end_group(&mut self, outcome: Outcome) {
        if let Some(group) = self.group.take() {
            group.outcome.send_replace(outcome);
        }
    }

    /// Undoes what a dropped member left. It may be dropped itself: what is left stays noted until done.
    async fn tidy(&mut self) {
        let Some(left) = self.left else { return };
        match left {
            Left::First => {
                let dropped = sqlx::Error::Protocol("the transaction was dropped".to_owned());
                self.abandon(&dropped).await;
            }
            Left::Joined(savepoint) => {
                // It fails if SQLite has taken the whole transaction back: then all must know.
                let undone = self.run(format!("ROLLBACK TO member_{savepoint}")).await;
                if let Err(error) = undone {
                    self.abandon(&error).await;
                }
            }
            Left::Single | Left::Commit if self.group.is_some() => {
                // Whether it worked is told to the members; it is no concern of the next writer.
                drop(self.commit().await);
            }
            Left::Single | Left::Commit => {}
        }
        self.left = None;
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
