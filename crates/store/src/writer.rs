//! The one writer. Whoever writes at the same time shares a trip to the disk: a transaction that others
//! wait behind stays open for them, and one commit answers all of them.
//!
//! Promises: what `commit` has answered is on disk. A member that fails, or is dropped on its way, takes
//! nothing of the others with it; if the shared commit fails, every member is told so. A transaction is a task
//! that takes orders: whoever gives none, because it waits for something else or is never polled again, loses
//! it and keeps nobody else from writing. What every turn writes is one order: whoever gives it is woken once.

use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use tokio::sync::{Mutex, OwnedMutexGuard, mpsc, oneshot, watch};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::desk::{Connections, Desk, Group, GroupOutcome, Left, Opening};
use crate::holds::{CallSite, HoldKind, Holds, Ticket};
use crate::memory::Changes;
use crate::statement::Owned;
use crate::tx::{Follow, Order, Outlives, Then, WriteTx};

/// The longest a writer waits for those before it.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a transaction may be held without a statement, in turns of the runtime: so many of this length
/// must pass, so that a machine which stood still for a while takes nothing from anybody.
const IDLE_TURN: Duration = Duration::from_millis(250);
const IDLE_TURNS: usize = 8;

#[derive(Clone)]
pub(crate) struct Writer {
    desk: Arc<Mutex<Desk>>,
    /// Writers that wait for their turn and have not written yet.
    newcomers: Arc<AtomicUsize>,
    holds: Arc<Holds>,
    transactions: TaskTracker,
}

/// How much is written.
#[derive(Clone, Copy, Debug)]
enum Size {
    Statement,
    Several,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteKind {
    /// What every turn writes, and nobody remembers.
    OfTurn,
    Other,
}

/// A write that is one order.
enum Whole {
    Single(Owned),
    Several(Owned, Follow),
}

/// The desk in hand, which is in the books.
struct Turn {
    /// Before the desk: whoever has it next looks at what the books say of this one.
    ticket: Option<Ticket>,
    desk: OwnedMutexGuard<Desk>,
}

impl Deref for Turn {
    type Target = Desk;

    fn deref(&self) -> &Desk {
        &self.desk
    }
}

impl DerefMut for Turn {
    fn deref_mut(&mut self) -> &mut Desk {
        &mut self.desk
    }
}

/// A writer that wants a turn.
struct Newcomer {
    counted: Counted,
    ticket: Ticket,
    place: CallSite,
    size: Size,
    kind: WriteKind,
    outlives: Outlives,
}

/// Counts a writer that waits for its turn.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Writer {
    pub(crate) fn new(connections: Connections, holds: Arc<Holds>, changes: Changes) -> Self {
        Self {
            desk: Arc::new(Mutex::new(Desk::new(connections, changes))),
            newcomers: Arc::default(),
            holds,
            transactions: TaskTracker::new(),
        }
    }

    /// A transaction of several statements.
    #[track_caller]
    pub(crate) fn begin(&self) -> impl Future<Output = Result<WriteTx, sqlx::Error>> + Send {
        self.start(Size::Several, WriteKind::Other, Location::caller())
    }

    /// A transaction of one statement: alone, it needs neither a begin nor a commit.
    #[track_caller]
    pub(crate) fn begin_one(&self) -> impl Future<Output = Result<WriteTx, sqlx::Error>> + Send {
        self.start(Size::Statement, WriteKind::Other, Location::caller())
    }

    /// A transaction of what every turn writes: what is remembered stays true.
    #[track_caller]
    pub(crate) fn begin_turn(&self) -> impl Future<Output = Result<WriteTx, sqlx::Error>> + Send {
        self.start(Size::Several, WriteKind::OfTurn, Location::caller())
    }

    /// Writes a statement of what every turn writes.
    #[track_caller]
    pub(crate) fn write(
        &self,
        outlives: Outlives,
        statement: Owned,
    ) -> impl Future<Output = Result<(), sqlx::Error>> + Send {
        self.order(outlives, Whole::Single(statement), Location::caller())
    }

    /// Writes what every turn writes: a statement, and what `follow` says then.
    #[track_caller]
    pub(crate) fn write_both(
        &self,
        outlives: Outlives,
        first: Owned,
        follow: Follow,
    ) -> impl Future<Output = Result<(), sqlx::Error>> + Send {
        self.order(outlives, Whole::Several(first, follow), Location::caller())
    }

    /// Lets something run that writes a little later.
    pub(crate) fn spawn(&self, later: impl Future<Output = ()> + Send + 'static) {
        self.transactions.spawn(later);
    }

    async fn order(
        &self,
        outlives: Outlives,
        whole: Whole,
        place: CallSite,
    ) -> Result<(), sqlx::Error> {
        let newcomer = self.newcomer((Size::Several, WriteKind::OfTurn), outlives, place)?;
        let (done, is_done) = oneshot::channel();
        self.transactions.spawn(self.clone().carry_out(newcomer, whole, done));
        is_done.await.unwrap_or(Err(sqlx::Error::WorkerCrashed))
    }

    async fn start(
        &self,
        size: Size,
        kind: WriteKind,
        place: CallSite,
    ) -> Result<WriteTx, sqlx::Error> {
        let newcomer = self.newcomer((size, kind), Outlives::PowerCuts, place)?;
        let (orders, taken) = mpsc::channel(1);
        let (begun, begins) = oneshot::channel();
        self.transactions.spawn(self.clone().transact(newcomer, begun, taken));
        begins.await.unwrap_or(Err(sqlx::Error::WorkerCrashed))?;
        Ok(WriteTx::new(orders))
    }

    fn newcomer(
        &self,
        (size, kind): (Size, WriteKind),
        outlives: Outlives,
        place: CallSite,
    ) -> Result<Newcomer, sqlx::Error> {
        let ticket = self.holds.wait(HoldKind::Writer, place).ok_or(sqlx::Error::PoolTimedOut)?;
        self.newcomers.fetch_add(1, Ordering::SeqCst);
        let counted = Counted(Arc::clone(&self.newcomers));
        Ok(Newcomer { counted, ticket, place, size, kind, outlives })
    }

    /// A write from its beginning to its end, which is one order. All waiting is done here, as in `transact`.
    async fn carry_out(
        self,
        newcomer: Newcomer,
        whole: Whole,
        done: oneshot::Sender<Result<(), sqlx::Error>>,
    ) {
        let place = newcomer.place;
        let written = match self.first_turn(newcomer).await {
            Err(error) => Err(error),
            // Whoever is gone by now wants it no more.
            Ok(turn) if done.is_closed() => return turn.undo().await,
            Ok(turn) => match whole {
                Whole::Single(statement) => self.last(turn, place, statement).await,
                Whole::Several(first, follow) => {
                    self.both(turn, place, (first, follow), &done).await
                }
            },
        };
        drop(done.send(written));
    }

    async fn both(
        &self,
        mut turn: Turn,
        place: CallSite,
        (first, follow): (Owned, Follow),
        done: &oneshot::Sender<Result<(), sqlx::Error>>,
    ) -> Result<(), sqlx::Error> {
        let ran = turn.run(first).await;
        turn.note(&ran);
        let then = match &ran {
            Ok(_) if !done.is_closed() => ran.map(follow),
            Ok(_) => Ok(Then::Undo),
            Err(_) => ran.map(|_steps| Then::Undo),
        };
        match then {
            Ok(Then::Last(statement)) => self.last(turn, place, statement).await,
            Ok(Then::Commit) => self.commit(turn, place).await,
            Ok(Then::Undo) => {
                turn.undo().await;
                Ok(())
            }
            Err(error) => {
                turn.undo().await;
                Err(error)
            }
        }
    }

    /// A transaction from its beginning to its end. All waiting is done here: a turn that has come to somebody
    /// who does not look would be a turn lost.
    async fn transact(
        self,
        newcomer: Newcomer,
        begun: oneshot::Sender<Result<(), sqlx::Error>>,
        orders: mpsc::Receiver<Order>,
    ) {
        let place = newcomer.place;
        match self.first_turn(newcomer).await {
            Ok(turn) if begun.is_closed() => turn.undo().await,
            Ok(turn) => {
                // Whoever is gone by now gives no order either.
                drop(begun.send(Ok(())));
                self.obey(turn, place, orders).await;
            }
            Err(error) => drop(begun.send(Err(error))),
        }
    }

    async fn obey(&self, mut turn: Turn, place: CallSite, mut orders: mpsc::Receiver<Order>) {
        loop {
            match next(&mut orders).await {
                Ok(Some(Order::Run { statement, found })) => {
                    let ran = turn.run(statement).await;
                    turn.note(&ran);
                    if turn.group.is_none() {
                        // Alone, it has committed itself.
                        turn.say_changes();
                    }
                    drop(found.send(ran));
                }
                Ok(Some(Order::Last { statement, done })) => {
                    drop(done.send(self.last(turn, place, statement).await));
                    return;
                }
                Ok(Some(Order::Commit { done })) => {
                    drop(done.send(self.commit(turn, place).await));
                    return;
                }
                Ok(Some(Order::Undo { done })) => {
                    turn.undo().await;
                    drop(done.send(Ok(())));
                    return;
                }
                Ok(None) => return turn.undo().await,
                Err(Idle) => {
                    tracing::warn!(
                        %place,
                        "a write is taken back: whoever began it did not go on with it"
                    );
                    return turn.undo().await;
                }
            }
        }
    }

    /// Waits for a turn among the writers, and tidies up after whoever was cut short. It begins with its first statement.
    async fn first_turn(&self, newcomer: Newcomer) -> Result<Turn, sqlx::Error> {
        let Newcomer { counted, ticket, size, kind, outlives, .. } = newcomer;
        let desk = timeout(PATIENCE, Arc::clone(&self.desk).lock_owned()).await;
        drop(counted);
        let desk = desk.map_err(|_late: tokio::time::error::Elapsed| sqlx::Error::PoolTimedOut)?;
        ticket.has_turn();
        let mut turn = Turn { desk, ticket: Some(ticket) };
        turn.tidy().await;
        if turn.group.is_none() {
            turn.outlives = outlives;
        }
        turn.touches = kind == WriteKind::Other || (turn.touches && turn.group.is_some());
        match size {
            Size::Several => turn.join_or_begin(),
            Size::Statement if turn.group.is_some() => turn.left = Some(Left::Single),
            Size::Statement if self.others_wait() => turn.join_or_begin(),
            Size::Statement => {}
        }
        Ok(turn)
    }

    /// Runs the last statement, and commits on the same way where nobody writes meanwhile.
    async fn last(
        &self,
        mut turn: Turn,
        place: CallSite,
        statement: Owned,
    ) -> Result<(), sqlx::Error> {
        let is_member = turn.opening != Opening::Nothing
            || matches!(turn.left, Some(Left::First | Left::Joined));
        if is_member && !self.stays_open(&turn) {
            let ran = turn.run_last(statement).await;
            turn.note_stored(&ran);
            if ran.is_err() {
                turn.undo().await;
            }
            return ran;
        }
        let ran = turn.run(statement).await;
        turn.note(&ran);
        if turn.group.is_none() {
            turn.say_changes();
        }
        match ran {
            Ok(_) => self.commit(turn, place).await,
            Err(error) => {
                turn.undo().await;
                Err(error)
            }
        }
    }

    /// Whether what is written is left for others to join. What does not wait for the disk has nothing to share, and
    /// those who come may need more of their commit.
    fn stays_open(&self, turn: &Turn) -> bool {
        self.others_wait() && turn.outlives == Outlives::PowerCuts
    }

    fn others_wait(&self) -> bool {
        self.newcomers.load(Ordering::SeqCst) > 0
    }

    /// Puts what was written on disk, together with what others write meanwhile.
    async fn commit(&self, mut turn: Turn, place: CallSite) -> Result<(), sqlx::Error> {
        // A statement that was alone has committed itself.
        let Some(member) = turn.left.take() else { return Ok(()) };
        let stays_open = self.stays_open(&turn);
        let Some(group) = &mut turn.group else { return Ok(()) };
        if !stays_open {
            turn.left = Some(member);
            return turn.store().await;
        }
        let outcome = group.outcome.subscribe();
        drop(turn);
        self.settled(outcome, place).await
    }

    /// Waits until a group is committed; commits it when nobody did before its turn came again.
    async fn settled(
        &self,
        group: watch::Receiver<GroupOutcome>,
        place: CallSite,
    ) -> Result<(), sqlx::Error> {
        let mut watched = group.clone();
        let told = async {
            watched.wait_for(|outcome| !matches!(outcome, GroupOutcome::Open)).await.is_ok()
        };
        let in_turn = async {
            let ticket = self.holds.wait(HoldKind::Writer, place);
            let desk = Arc::clone(&self.desk).lock_owned().await;
            ticket.iter().for_each(Ticket::has_turn);
            let mut turn = Turn { desk, ticket };
            turn.tidy().await;
            // Another group may be open by now: ours is settled then.
            let ours = |open: &Group| open.outcome.subscribe().same_channel(&group);
            if turn.group.as_ref().is_some_and(ours) {
                // The outcome is told to every member, this one included.
                drop(turn.store().await);
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

    /// Commits what is open and closes the connection. Whoever writes afterwards is refused.
    pub(crate) async fn close(&self) -> Result<(), sqlx::Error> {
        let mut desk = self.desk.lock().await;
        desk.tidy().await;
        if desk.group.is_some() {
            desk.commit().await?;
        }
        let nothing = SqliteConnectOptions::new().in_memory(true);
        let nothing = async || nothing.connect().await;
        let nothing = Connections { durable: nothing().await?, light: nothing().await? };
        let Connections { durable, light } = desk.replace(nothing);
        light.close().await?;
        durable.close().await
    }
}

/// Nobody went on with a transaction.
struct Idle;

/// The next order; none: whoever gave them is gone.
async fn next(orders: &mut mpsc::Receiver<Order>) -> Result<Option<Order>, Idle> {
    for _ in 0..IDLE_TURNS {
        if let Ok(order) = timeout(IDLE_TURN, orders.recv()).await {
            return Ok(order);
        }
    }
    Err(Idle)
}

impl Turn {
    /// Puts it into the books where another program had the database all the time, or the database is in trouble.
    fn note<T>(&self, done: &Result<T, sqlx::Error>) {
        let Err(error) = done else { return };
        if let Some(ticket) = &self.ticket {
            if is_locked(error) {
                ticket.is_shut_out();
            }
            ticket.failed(error);
        }
    }

    /// The same of what put it on the disk.
    fn note_stored<T>(&self, done: &Result<T, sqlx::Error>) {
        self.note(done);
        if done.is_ok() {
            self.ticket.iter().for_each(Ticket::has_written);
        }
    }

    /// Commits the group that is open.
    async fn store(&mut self) -> Result<(), sqlx::Error> {
        let stored = self.commit().await;
        self.note_stored(&stored);
        stored
    }

    /// Takes back what was written.
    async fn undo(mut self) {
        self.tidy().await;
    }
}

/// Whether another connection has the database: `SQLITE_BUSY`, in any of its kinds.
fn is_locked(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.and_then(|code| code.parse::<i32>().ok()).is_some_and(|code| code & 0xff == 5)
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
