//! The connections that write, and the transaction that is open on one of them.
//!
//! There are two, for SQLite fixes with a connection's statements whether its commits wait for the disk: what only has to
//! outlive kills is written on the other. Whoever has the desk has both, so that they never meet.
//!
//! A trip to the connection costs more than most statements: a transaction begins with its first statement, on
//! the same way, and may end with its last.

use std::sync::Arc;

use futures_util::TryStreamExt;
use sqlx::sqlite::SqliteConnection;
use sqlx::{Either, Executor};
use tokio::sync::watch;

use crate::memory::Changes;
use crate::statement::{Owned, StatementStep};
use crate::tx::Outlives;

/// What the one whose turn it is holds.
pub(crate) struct Desk {
    connections: Connections,
    /// Which of them is used: that of the open group, if there is one.
    pub(crate) outlives: Outlives,
    /// The transaction that is open, if one is.
    pub(crate) group: Option<Group>,
    /// How the next statement begins what it belongs to.
    pub(crate) opening: Opening,
    /// What is left to do if whoever has the desk leaves it now.
    pub(crate) left: Option<Left>,
    /// What is being written may be remembered somewhere as it was.
    pub(crate) touches: bool,
    pub(crate) changes: Changes,
}

/// The connections of a desk.
pub(crate) struct Connections {
    /// Waits for the disk with each commit.
    pub(crate) durable: SqliteConnection,
    pub(crate) light: SqliteConnection,
}

/// Members of one transaction.
pub(crate) struct Group {
    pub(crate) outcome: watch::Sender<GroupOutcome>,
    /// Somebody has joined whoever began it: what they wrote is behind a savepoint.
    joined: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum GroupOutcome {
    Open,
    Stored,
    Failed(Arc<str>),
}

/// Where a member is, and would be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// In a group that it has begun.
    First,
    /// Behind its savepoint.
    Joined,
    /// In a single statement inside a group, which takes effect whole or not at all.
    Single,
    /// In a commit that may have happened.
    Commit,
}

/// What goes before a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// Nothing: it is alone, or what it belongs to is open.
    Nothing,
    /// It begins a group.
    Group,
    /// It joins a group that is open.
    Member,
}

impl Opening {
    /// The statements, and how many they are. The savepoint of the member before, if there was one, is let go of:
    /// what was committed can't be undone any more, and one name is enough.
    const fn sql(self, joined: bool) -> (&'static str, usize) {
        match self {
            Self::Nothing => ("", 0),
            Self::Group => ("BEGIN IMMEDIATE; ", 1),
            Self::Member if joined => ("RELEASE member; SAVEPOINT member; ", 2),
            Self::Member => ("SAVEPOINT member; ", 1),
        }
    }
}

impl GroupOutcome {
    pub(crate) fn result(&self) -> Result<(), sqlx::Error> {
        match self {
            Self::Stored => Ok(()),
            Self::Failed(why) => Err(sqlx::Error::Protocol(why.to_string())),
            Self::Open => Err(sqlx::Error::Protocol("the commit was given up".to_owned())),
        }
    }
}

impl Desk {
    pub(crate) fn new(connections: Connections, changes: Changes) -> Self {
        let (group, left, opening) = (None, None, Opening::Nothing);
        let outlives = Outlives::PowerCuts;
        Self { connections, outlives, group, opening, left, touches: false, changes }
    }

    fn connection(&mut self) -> &mut SqliteConnection {
        match self.outlives {
            Outlives::PowerCuts => &mut self.connections.durable,
            Outlives::Kills => &mut self.connections.light,
        }
    }

    /// Puts others in their place, which are told nothing of it.
    pub(crate) fn replace(&mut self, connections: Connections) -> Connections {
        std::mem::replace(&mut self.connections, connections)
    }

    /// The next statement joins the group that is open, or begins one.
    pub(crate) fn join_or_begin(&mut self) {
        self.opening = if self.group.is_some() { Opening::Member } else { Opening::Group };
    }

    /// Runs a statement, after what has to come before it.
    pub(crate) async fn run(
        &mut self,
        statement: Owned,
    ) -> Result<Vec<StatementStep>, sqlx::Error> {
        if self.opening == Opening::Nothing {
            return statement.run(self.connection()).await;
        }
        let only_first = statement.is_first();
        let mut steps = self.run_between(statement, "").await?;
        if only_first {
            steps.retain(Either::is_right);
            steps.truncate(1);
        }
        Ok(steps)
    }

    /// Runs the last statement of a member and commits the group, in one trip. Where it fails, it is not known at which
    /// of the two: the member is to be undone.
    pub(crate) async fn run_last(&mut self, statement: Owned) -> Result<(), sqlx::Error> {
        self.run_between(statement, "; COMMIT").await?;
        self.stored();
        Ok(())
    }

    async fn run_between(
        &mut self,
        statement: Owned,
        after: &'static str,
    ) -> Result<Vec<StatementStep>, sqlx::Error> {
        let opening = std::mem::replace(&mut self.opening, Opening::Nothing);
        let joined = self.group.as_ref().is_some_and(|group| group.joined);
        let (before, mut to_open) = opening.sql(joined);
        match opening {
            Opening::Nothing => {}
            Opening::Group => self.left = Some(Left::First),
            Opening::Member => self.left = Some(Left::Joined),
        }
        let mut steps = Vec::new();
        let mut found = self.connection().fetch_many(statement.between(before, after));
        let ran = loop {
            match found.try_next().await {
                // What the statements before it have changed is not of its own.
                Ok(Some(Either::Left(_))) if to_open > 0 => to_open -= 1,
                Ok(Some(step)) => steps.push(step),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        drop(found);
        match &ran {
            Err(error) if to_open > 0 => self.not_opened(opening, error).await,
            Ok(()) | Err(_) => self.opened(opening),
        }
        ran.map(|()| steps)
    }

    fn opened(&mut self, opening: Opening) {
        match (opening, &mut self.group) {
            (Opening::Group, _) => {
                let outcome = watch::Sender::new(GroupOutcome::Open);
                self.group = Some(Group { outcome, joined: false });
            }
            (Opening::Member, Some(group)) => group.joined = true,
            (Opening::Member, None) | (Opening::Nothing, _) => {}
        }
    }

    /// What a statement was to belong to could not be begun: it has not run. It begins anew with the next.
    async fn not_opened(&mut self, opening: Opening, error: &sqlx::Error) {
        self.left = None;
        if opening == Opening::Member {
            // There is no transaction to be in: all that it held is gone.
            self.abandon(error).await;
        }
        self.join_or_begin();
    }

    /// Ends the open group and tells its members.
    pub(crate) async fn commit(&mut self) -> Result<(), sqlx::Error> {
        self.left = Some(Left::Commit);
        let committed = sqlx::query("COMMIT").execute(self.connection()).await;
        match &committed {
            Ok(_) => self.stored(),
            Err(error) => self.abandon(error).await,
        }
        self.left = None;
        committed.map(|_done| ())
    }

    /// The open group is on disk.
    fn stored(&mut self) {
        // Before anybody is told: who knows that it is stored must not find what was before.
        self.say_changes();
        self.end_group(GroupOutcome::Stored);
        self.left = None;
    }

    /// What was written counts now: what is remembered does not.
    pub(crate) fn say_changes(&self) {
        if self.touches {
            self.changes.add();
        }
    }

    /// Takes back all that the group wrote.
    async fn abandon(&mut self, error: &sqlx::Error) {
        // SQLite may have taken it back already; then there is nothing to roll back.
        drop(sqlx::query("ROLLBACK").execute(self.connection()).await);
        self.end_group(GroupOutcome::Failed(error.to_string().into()));
    }

    fn end_group(&mut self, outcome: GroupOutcome) {
        if let Some(group) = self.group.take() {
            group.outcome.send_replace(outcome);
        }
    }

    /// Undoes what a dropped member left. It may be dropped itself: what is left stays noted until done.
    pub(crate) async fn tidy(&mut self) {
        self.opening = Opening::Nothing;
        let Some(left) = self.left else { return };
        match left {
            Left::First => {
                let dropped = sqlx::Error::Protocol("the transaction was dropped".to_owned());
                self.abandon(&dropped).await;
            }
            Left::Joined => {
                // It fails if SQLite has taken the whole transaction back: then all must know.
                let undone = sqlx::query("ROLLBACK TO member").execute(self.connection()).await;
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
