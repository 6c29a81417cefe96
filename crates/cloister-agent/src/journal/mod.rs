//! The journal: each chat's `history.db`, on a thread of its own so that the event loop never waits
//! for a disk.
//!
//! Promises: what a finished call has written survives a crash. What is acted upon survives a power cut before that;
//! how a turn ended, which the control plane has as well, a moment later, and nobody waits for it. A database that can't be read is set
//! aside and a new one begun; the next answer says so. Databases open when needed and close when idle.

mod chat_db;
mod shelf;

use std::path::PathBuf;
use std::time::Duration;

use cloister_protocol::ChatId;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

pub(crate) use chat_db::{Accepted, ChatDb, Ending, PastTurn, Recorded, Replaced};
use shelf::Shelf;

const QUEUE: usize = 64;
const CLOSE_IDLE_AFTER: Duration = Duration::from_secs(20);
/// How long what has ended may wait for the disk, so that several turns wait for it once.
const SETTLE_AFTER: Duration = Duration::from_millis(500);

#[derive(Debug, thiserror::Error)]
pub(crate) enum JournalError {
    #[error("can't use the journal of chat {chat}")]
    Database { chat: ChatId, source: rusqlite::Error },
    #[error("can't set aside the damaged journal of chat {chat}")]
    SetAside { chat: ChatId, source: std::io::Error },
    #[error("the journal is closed")]
    Closed,
}

impl JournalError {
    /// Writing is refused because there is no room: the person can do something about it.
    pub(crate) fn is_full(&self) -> bool {
        use rusqlite::ErrorCode as Sqlite;
        let Self::Database { source, .. } = self else { return false };
        matches!(
            source.sqlite_error_code(),
            Some(
                Sqlite::DiskFull | Sqlite::SystemIoFailure | Sqlite::ReadOnly | Sqlite::CannotOpen
            )
        )
    }
}

type Job = Box<dyn FnOnce(&mut Shelf) + Send>;

/// A handle to the journal thread: cheap to clone. The thread ends when the last handle is gone.
#[derive(Clone)]
pub(crate) struct Journal {
    jobs: mpsc::Sender<Job>,
}

/// Resolves when the journal thread has finished everything it was given.
pub(crate) struct Finished(oneshot::Receiver<()>);

impl Finished {
    pub(crate) async fn wait(self) {
        // The sender is only ever dropped: the error is the news.
        self.0.await.unwrap_or_default();
    }
}

impl Journal {
    pub(crate) fn start(workspace: PathBuf) -> std::io::Result<(Self, Finished)> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let (alive, finished) = oneshot::channel();
        let clock = tokio::runtime::Handle::current();
        std::thread::Builder::new().name("journal".to_owned()).spawn(move || {
            serve(&clock, queue, Shelf::new(workspace));
            drop(alive);
        })?;
        Ok((Self { jobs }, Finished(finished)))
    }

    /// Queues `work`, in the order of the calls. It may run twice: the second time on a new database,
    /// when the first turned out to be damaged.
    pub(crate) async fn submit<T: Send + 'static>(
        &self,
        chat: ChatId,
        work: impl Fn(&ChatDb) -> rusqlite::Result<T> + Send + 'static,
    ) -> Submitted<T> {
        let (answer, result) = oneshot::channel();
        let job: Job = Box::new(move |shelf| {
            // Whoever asked may have been cancelled; the work is done all the same.
            drop(answer.send(shelf.with(chat, work)));
        });
        // A closed queue drops the job and with it the answer's sender: `wait` tells.
        drop(self.jobs.send(job).await);
        Submitted(result)
    }

    pub(crate) async fn with<T: Send + 'static>(
        &self,
        chat: ChatId,
        work: impl Fn(&ChatDb) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, JournalError> {
        self.submit(chat, work).await.wait().await
    }
}

/// Work that is in the queue.
pub(crate) struct Submitted<T>(oneshot::Receiver<Result<T, JournalError>>);

impl<T> Submitted<T> {
    pub(crate) async fn wait(self) -> Result<T, JournalError> {
        self.0.await.unwrap_or_else(|_dropped: oneshot::error::RecvError| Err(JournalError::Closed))
    }
}

fn serve(clock: &tokio::runtime::Handle, mut queue: mpsc::Receiver<Job>, mut shelf: Shelf) {
    let mut settle_at = None;
    loop {
        let next = match settle_at {
            None if shelf.is_empty() => Ok(queue.blocking_recv()),
            None => clock.block_on(async { timeout(CLOSE_IDLE_AFTER, queue.recv()).await }),
            Some(at) => clock.block_on(async { timeout_at(at, queue.recv()).await }),
        };
        match next {
            Ok(Some(job)) => job(&mut shelf),
            Ok(None) => return,
            Err(_idle) if settle_at.is_none() => shelf.close_all(),
            Err(_due) => {}
        }
        settle_at = match settle_at {
            Some(due) if due <= Instant::now() => {
                shelf.settle();
                None
            }
            None if shelf.is_loose() => Some(Instant::now() + SETTLE_AFTER),
            waiting => waiting,
        };
    }
}
