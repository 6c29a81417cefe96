//! Grants: what people have allowed and what is left of it.
//!
//! Promises: a grant for once is used up in the transaction that records the effect it lets through,
//! so that no two effects pass by it; what has ended never comes back.

use cloister_policy::gate::{Cleared, PassedBy};
use cloister_protocol::{ApprovalId, ChatId, TaskId, UserId, WorkspaceId};

use crate::actor::Actor;
use crate::approvals::Approvals;
use crate::audit;
use crate::db::Tx;
use crate::error::{StoreError, Tried, corrupt, not_found};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Once,
    Task,
    Always,
}

impl Reach {
    const ALL: [Self; 3] = [Self::Once, Self::Task, Self::Always];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Task => "task",
            Self::Always => "always",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Grant {
    pub id: u32,
    /// Whose tasks it is for.
    pub user: UserId,
    pub workspace: WorkspaceId,
    /// Where it was asked for, and where alone it helps.
    pub chat: ChatId,
    pub reach: Reach,
    pub task: Option<TaskId>,
    pub digest: String,
    pub template: Option<String>,
    pub describes: String,
    pub approval: ApprovalId,
    pub given_by: String,
    pub created_at: i64,
}

struct Row {
    id: u32,
    user_id: u32,
    workspace_id: u32,
    chat: u32,
    reach: String,
    task_id: Option<u32>,
    digest: String,
    template: Option<String>,
    describes: String,
    approval_id: u32,
    given_by: String,
    created_at: i64,
}

from_row!(Row {
    id,
    user_id,
    workspace_id,
    chat,
    reach,
    task_id,
    digest,
    template,
    describes,
    approval_id,
    given_by,
    created_at,
});

/// A grant is of the chat whose question it answered, however old it is.
const SELECT: &str = "SELECT id, user_id, workspace_id, \
     (SELECT chat FROM approvals WHERE approvals.id = grants.approval_id) AS chat, reach, task_id, digest, template, describes, \
     approval_id, given_by, created_at FROM grants WHERE ended_at IS NULL";

impl Row {
    fn into_grant(self) -> Result<Grant, StoreError> {
        let reach = Reach::ALL.into_iter().find(|reach| reach.as_str() == self.reach);
        Ok(Grant {
            id: self.id,
            user: UserId::from_number(self.user_id),
            workspace: WorkspaceId::from_number(self.workspace_id),
            chat: ChatId::from_number(self.chat),
            reach: reach.ok_or_else(|| corrupt("grant", &self.reach))?,
            task: self.task_id.map(TaskId::from_number),
            digest: self.digest,
            template: self.template,
            describes: self.describes,
            approval: ApprovalId::from_number(self.approval_id),
            given_by: self.given_by,
            created_at: self.created_at,
        })
    }
}

/// Effects that have passed the gate and are about to happen together, with what is recorded of them.
///
/// ```
/// use cloister_policy::gate::Cleared;
/// use cloister_store::{Store, audit::Entry, grants::Passing};
/// async fn act(store: &Store, leave: Cleared, entry: Entry) {
///     store.approvals().pass(Passing::of(leave, vec![entry])).await.ok();
/// }
/// ```
///
/// Without the leave there is none, and nothing is recorded as passed:
///
/// ```compile_fail
/// use cloister_store::{Store, audit::Entry, grants::Passing};
/// async fn act(store: &Store, entry: Entry) {
///     store.approvals().pass(Passing { cleared: Vec::new(), entries: vec![entry] }).await.ok();
/// }
/// ```
///
/// ```compile_fail
/// use cloister_store::grants::Passing;
/// fn copied(passing: &Passing) -> Passing { Clone::clone(passing) }
/// ```
#[derive(Debug)]
pub struct Passing {
    cleared: Vec<Cleared>,
    entries: Vec<audit::Entry>,
}

impl Passing {
    pub fn of(cleared: Cleared, entries: Vec<audit::Entry>) -> Self {
        Self { cleared: vec![cleared], entries }
    }

    /// The other happens as well, or neither does.
    pub fn and(mut self, other: Self) -> Self {
        self.cleared.extend(other.cleared);
        self.entries.extend(other.entries);
        self
    }
}

/// Effects that have passed the gate and are on record: they may happen now.
#[derive(Debug)]
pub struct Recorded(Vec<Cleared>);

impl Recorded {
    pub fn into_cleared(self) -> Vec<Cleared> {
        self.0
    }
}

/// A grant that was to be used has ended meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a grant has ended meanwhile")]
pub struct GrantEnded;

impl Approvals {
    /// The grants that are left for one task of a user, or for their coordinator.
    pub async fn live_grants(
        &self,
        user: UserId,
        workspace: WorkspaceId,
        task: Option<TaskId>,
    ) -> Result<Vec<Grant>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "{SELECT} AND workspace_id = ? AND user_id = ? AND (reach = 'always' OR task_id IS ?) ORDER BY id"
        )))
        .bind(workspace.number())
        .bind(user.number())
        .bind(task.map(TaskId::number))
        .fetch_all(self.store.reader())
        .await
        .tried("look for grants")?;
        rows.into_iter().map(Row::into_grant).collect()
    }

    /// How many grants that are left for one task of a user are about a host, under any of its names, and are not
    /// used up by one effect.
    pub async fn lasting_grants_at(
        &self,
        (user, workspace, task): (UserId, WorkspaceId, TaskId),
        names: [&str; 2],
    ) -> Result<usize, StoreError> {
        let count: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM grants g JOIN approvals a ON a.id = g.approval_id \
             WHERE g.ended_at IS NULL AND g.workspace_id = ? AND g.user_id = ? \
             AND (g.reach = 'always' OR (g.reach = 'task' AND g.task_id = ?)) AND a.host IN (?, ?)",
        )
        .bind(workspace.number())
        .bind(user.number())
        .bind(task.number())
        .bind(names[0])
        .bind(names[1])
        .fetch_one(self.store.reader())
        .await
        .tried("count grants")?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    /// Every grant of a workspace that is left.
    pub async fn grants(&self, workspace: WorkspaceId) -> Result<Vec<Grant>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "{SELECT} AND workspace_id = ? ORDER BY id"
        )))
        .bind(workspace.number())
        .fetch_all(self.store.reader())
        .await
        .tried("list grants")?;
        rows.into_iter().map(Row::into_grant).collect()
    }

    /// Takes a grant back. One that has ended, or is of another workspace, is not found.
    pub async fn revoke_grant(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        id: u32,
    ) -> Result<(), StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let done = sqlx::query(
            "UPDATE grants SET ended_at = ?, ended_by = ? \
             WHERE id = ? AND workspace_id = ? AND ended_at IS NULL",
        )
        .bind(now)
        .bind(actor.to_string())
        .bind(id)
        .bind(workspace.number())
        .execute(&mut *tx)
        .await
        .tried("revoke a grant")?;
        if done.rows_affected() == 0 {
            return Err(not_found("grant", format_args!("G{id}")));
        }
        let entry = audit::Entry::new(actor, "grant.revoke", format_args!("G{id}"));
        audit::record(&mut tx, now, entry.of_workspace(workspace)).await?;
        tx.commit().await.tried("revoke a grant")
    }

    /// Records what is about to happen and uses up what it takes: before the effect, or it must not
    /// happen.
    pub async fn pass(&self, passing: Passing) -> Result<Result<Recorded, GrantEnded>, StoreError> {
        if passing.entries.is_empty() && used_up(&passing.cleared).next().is_none() {
            return Ok(Ok(Recorded(passing.cleared)));
        }
        let mut tx = self.store.begin().await?;
        let recorded = pass_in(&mut tx, passing, self.store.clock.now_ms()).await?;
        if recorded.is_ok() {
            tx.commit().await.tried("record an effect")?;
        }
        Ok(recorded)
    }
}

/// The grants for once that effects use up.
fn used_up(cleared: &[Cleared]) -> impl Iterator<Item = u32> {
    cleared.iter().filter_map(|cleared| match cleared.by() {
        PassedBy::Grant { id, once: true } => Some(id.0),
        PassedBy::Grant { once: false, .. } | PassedBy::Policy | PassedBy::Plan => None,
    })
}

pub(crate) async fn pass_in(
    tx: &mut Tx,
    passing: Passing,
    now: i64,
) -> Result<Result<Recorded, GrantEnded>, StoreError> {
    for id in used_up(&passing.cleared) {
        let done = sqlx::query(
            "UPDATE grants SET ended_at = ?, ended_by = 'used up' \
             WHERE id = ? AND reach = 'once' AND ended_at IS NULL",
        )
        .bind(now)
        .bind(id)
        .execute(&mut *tx)
        .await
        .tried("use a grant up")?;
        if done.rows_affected() == 0 {
            return Ok(Err(GrantEnded));
        }
    }
    for entry in passing.entries {
        audit::record(tx, now, entry).await?;
    }
    Ok(Ok(Recorded(passing.cleared)))
}

/// The end of a task: what it asked is void, and what it was granted ends with it.
pub(crate) async fn end_with_task(tx: &mut Tx, task: TaskId, now: i64) -> Result<(), StoreError> {
    sqlx::query("UPDATE approvals SET state = 'void' WHERE task_id = ? AND state = 'pending'")
        .bind(task.number())
        .execute(&mut *tx)
        .await
        .tried("void the approvals of a task")?;
    sqlx::query(
        "UPDATE grants SET ended_at = ?, ended_by = 'end of the task' \
         WHERE task_id = ? AND ended_at IS NULL",
    )
    .bind(now)
    .bind(task.number())
    .execute(&mut *tx)
    .await
    .tried("end the grants of a task")?;
    Ok(())
}
