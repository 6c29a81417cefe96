//! A write transaction, as whoever writes has it: it gives orders, and the connection stays where it is.

use std::ops::{Deref, DerefMut};

use sqlx::{Execute, Sqlite};
use tokio::sync::{mpsc, oneshot};

use crate::statement::{Owned, StatementStep, executes_by_running};
use crate::telling::Telling;

/// What a commit that was answered outlives. What is not made for the disk survives any kill of a process, and a power
/// cut from the next commit on that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outlives {
    Kills,
    PowerCuts,
}

/// What follows the first statement of a write that is one order.
pub(crate) enum Then {
    /// The last statement, and the commit.
    Last(Owned),
    /// The commit.
    Commit,
    /// Nothing of it is to be.
    Undo,
}

/// Decides that by what the first statement brought.
pub(crate) type Follow = Box<dyn FnOnce(Vec<StatementStep>) -> Then + Send>;

/// What a transaction is told to do.
pub(crate) enum Order {
    Run {
        statement: Owned,
        found: oneshot::Sender<Result<Vec<StatementStep>, sqlx::Error>>,
    },
    /// The last statement, and the commit.
    Last {
        statement: Owned,
        done: oneshot::Sender<Result<(), sqlx::Error>>,
    },
    Commit {
        done: oneshot::Sender<Result<(), sqlx::Error>>,
    },
    Undo {
        done: oneshot::Sender<Result<(), sqlx::Error>>,
    },
}

/// A write transaction; dropped without `commit` it leaves no trace.
pub(crate) struct WriteTx(Tx);

/// Where the statements of a transaction run.
#[derive(Debug)]
pub(crate) struct Tx {
    orders: mpsc::Sender<Order>,
    pub(crate) telling: Telling,
}

impl WriteTx {
    pub(crate) fn new(orders: mpsc::Sender<Order>) -> Self {
        Self(Tx { orders, telling: Telling::default() })
    }

    pub(crate) fn telling(mut self, telling: Telling) -> Self {
        self.0.telling = telling;
        self
    }

    /// Puts what was written on disk, together with what others wrote meanwhile.
    pub(crate) async fn commit(self) -> Result<(), sqlx::Error> {
        let (done, is_done) = oneshot::channel();
        self.0.order(Order::Commit { done }, is_done).await?;
        self.0.telling.pass_on();
        Ok(())
    }

    /// Runs the last statement and commits: one trip to the database where it takes two else.
    pub(crate) fn commit_after<'q>(
        self,
        last: impl Execute<'q, Sqlite>,
    ) -> impl Future<Output = Result<(), sqlx::Error>> + Send {
        let statement = Owned::all(last);
        async move {
            let (done, is_done) = oneshot::channel();
            self.0.order(Order::Last { statement: statement?, done }, is_done).await?;
            self.0.telling.pass_on();
            Ok(())
        }
    }

    /// Takes back what was written.
    pub(crate) async fn rollback(self) -> Result<(), sqlx::Error> {
        let (done, is_done) = oneshot::channel();
        self.0.order(Order::Undo { done }, is_done).await
    }
}

impl Deref for WriteTx {
    type Target = Tx;

    fn deref(&self) -> &Tx {
        &self.0
    }
}

impl DerefMut for WriteTx {
    fn deref_mut(&mut self) -> &mut Tx {
        &mut self.0
    }
}

impl Tx {
    async fn order<T>(
        &self,
        order: Order,
        answer: oneshot::Receiver<Result<T, sqlx::Error>>,
    ) -> Result<T, sqlx::Error> {
        let taken_back = || {
            sqlx::Error::Protocol("the write was taken back: it was held for too long".to_owned())
        };
        self.orders.send(order).await.map_err(|_gone| taken_back())?;
        answer.await.unwrap_or_else(|_gone| Err(taken_back()))
    }

    async fn run(
        &self,
        statement: Result<Owned, sqlx::Error>,
    ) -> Result<Vec<StatementStep>, sqlx::Error> {
        let (found, is_found) = oneshot::channel();
        self.order(Order::Run { statement: statement?, found }, is_found).await
    }
}

executes_by_running!('c, &'c mut Tx);
