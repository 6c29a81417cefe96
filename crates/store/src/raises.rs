//! More money: what a person is asked for at a limit, who waits for the answer, and what a yes does.
//!
//! Promises: one limit is asked about once, whoever runs into it and however often; the raise, the answer,
//! its audit entry and the end of the wait are one transaction; what was refused is not asked again at that
//! limit; a question about a day ends with the day, or when its limit is raised in another way.

use cloister_protocol::{TaskId, UserId};

use crate::actor::Actor;
use crate::approvals::{self, Approval, ApprovalState, Asked, NewApproval};
use crate::audit;
use crate::budget::Dollars;
use crate::db::Tx;
use crate::error::{StoreError, Tried};
use crate::tasks::Tasks;

/// What a yes raises. In nano-dollars.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum Raise {
    /// The limit of a task and of those above it.
    Task { task: TaskId, by: i64 },
    /// What the user may spend on this day.
    Day { day: String, by: i64 },
}

impl Tasks {
    /// Asks for more, unless that limit was asked about; a task that ran into it waits for the answer.
    pub async fn ask_for_more(
        &self,
        new: NewApproval,
        waits: Option<TaskId>,
    ) -> Result<Asked, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let (approval, told) = match known(&mut tx, &new).await? {
            Some(approval) => (approval, None),
            None => {
                approvals::refuse_flood(&mut tx, &new).await?;
                let approval = approvals::insert(&mut tx, &new, now).await?;
                let told = approvals::tell(&mut tx, &approval, now).await?;
                (approval, Some(told))
            }
        };
        if let Some(task) = waits.filter(|_| approval.state == ApprovalState::Pending) {
            sqlx::query(
                "INSERT INTO approval_waits (approval_id, task_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
            )
            .bind(approval.id.number())
            .bind(task.number())
            .execute(&mut *tx)
            .await
            .tried("note who waits for more")?;
            sqlx::query(
                "UPDATE tasks SET state = 'waiting', attempts = 0 WHERE id = ? AND state = 'running'",
            )
            .bind(task.number())
            .execute(&mut *tx)
            .await
            .tried("let a task wait")?;
        }
        tx.commit().await.tried("ask for more")?;
        Ok(Asked { approval, told })
    }

    /// Questions about days that are over: they are void, and whoever waited has a new day. How many.
    pub async fn end_past_days(&self) -> Result<u64, StoreError> {
        let today = self.store.clock.today();
        let past: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM approvals WHERE state = 'pending' AND raise_day < ?)",
        )
        .bind(&today)
        .fetch_one(self.store.reader())
        .await
        .tried("look for questions of past days")?;
        if !past {
            return Ok(0);
        }
        let mut tx = self.store.begin().await?;
        let ended = end(&mut tx, Past::Before(&today)).await?;
        tx.commit().await.tried("end the questions of past days")?;
        Ok(ended)
    }
}

/// Questions about a day's limit that nobody needs to answer any more.
enum Past<'a> {
    /// The day is over.
    Before(&'a str),
    /// There is room: what they were about is raised.
    Raised { user: UserId },
}

/// Makes them void, and lets who waited for an answer try again. How many.
async fn end(tx: &mut Tx, past: Past<'_>) -> Result<u64, StoreError> {
    const OPEN: &str = "state = 'pending' AND raise_day < ?1 AND ?2 IS NULL OR state = 'pending' \
         AND raise_day IS NOT NULL AND workspace_id IN (SELECT id FROM workspaces WHERE user_id = ?2)";
    let (day, user) = match past {
        Past::Before(day) => (Some(day), None),
        Past::Raised { user } => (None, Some(user.number())),
    };
    let waited = format!(
        "UPDATE tasks SET state = 'queued' WHERE state = 'waiting' AND id IN \
         (SELECT task_id FROM approval_waits WHERE approval_id IN (SELECT id FROM approvals WHERE {OPEN}))"
    );
    let waited = sqlx::query(sqlx::AssertSqlSafe(waited)).bind(day).bind(user);
    waited.execute(&mut *tx).await.tried("queue what waited for an answer that nobody needs")?;
    let open = format!("UPDATE approvals SET state = 'void' WHERE {OPEN}");
    let void = sqlx::query(sqlx::AssertSqlSafe(open)).bind(day).bind(user);
    let void = void.execute(&mut *tx).await.tried("void questions that nobody needs to answer")?;
    Ok(void.rows_affected())
}

/// A user may spend more a day than before: nobody has to be asked whether they may.
pub(crate) async fn day_is_raised(tx: &mut Tx, user: UserId) -> Result<(), StoreError> {
    end(tx, Past::Raised { user }).await.map(|_ended| ())
}

/// The question about this limit that still says something: it waits, or was refused.
async fn known(tx: &mut Tx, new: &NewApproval) -> Result<Option<Approval>, StoreError> {
    let id: Option<u32> = sqlx::query_scalar(
        "SELECT id FROM approvals WHERE workspace_id = ? AND digest = ? AND raise_by IS NOT NULL \
         AND state IN ('pending', 'denied') ORDER BY id DESC LIMIT 1",
    )
    .bind(new.workspace.number())
    .bind(&new.digest)
    .fetch_optional(&mut *tx)
    .await
    .tried("find a question for more")?;
    match id {
        Some(id) => {
            approvals::one(tx, cloister_protocol::ApprovalId::from_number(id)).await.map(Some)
        }
        None => Ok(None),
    }
}

/// Does what a yes says, in its transaction.
pub(crate) async fn raise(
    tx: &mut Tx,
    approval: &Approval,
    raise: &Raise,
    actor: &Actor,
    now: i64,
) -> Result<(), StoreError> {
    let (subject, amount) = match raise {
        Raise::Task { task, by: amount } => {
            raise_task(tx, *task, *amount).await?;
            (task.to_string(), *amount)
        }
        Raise::Day { day, by: amount } => {
            let owner: u32 = sqlx::query_scalar("SELECT user_id FROM workspaces WHERE id = ?")
                .bind(approval.workspace.number())
                .fetch_one(&mut *tx)
                .await
                .tried("find whose day it is")?;
            sqlx::query(
                "INSERT INTO budget_extra (user_id, day, approval_id, amount) VALUES (?, ?, ?, ?)",
            )
            .bind(owner)
            .bind(day)
            .bind(approval.id.number())
            .bind(*amount)
            .execute(&mut *tx)
            .await
            .tried("raise the budget of a day")?;
            day_is_raised(tx, UserId::from_number(owner)).await?;
            (format!("{} {day}", UserId::from_number(owner)), *amount)
        }
    };
    let detail = format!("{} more by {}", Dollars(amount), approval.id);
    let entry = audit::Entry::new(actor, "budget.raise", subject).with(detail);
    audit::record(tx, now, entry.of_workspace(approval.workspace)).await
}

async fn raise_task(tx: &mut Tx, task: TaskId, amount: i64) -> Result<(), StoreError> {
    sqlx::query(
        "WITH RECURSIVE line (id, parent_id) AS ( \
           SELECT id, parent_id FROM tasks WHERE id = ?1 \
           UNION ALL SELECT t.id, t.parent_id FROM tasks t JOIN line ON t.id = line.parent_id) \
         UPDATE tasks SET budget = budget + ?2 WHERE id IN (SELECT id FROM line)",
    )
    .bind(task.number())
    .bind(amount)
    .execute(&mut *tx)
    .await
    .tried("raise the budget of a task")?;
    Ok(())
}

/// An answer is there: who waited for it goes on.
pub(crate) async fn wake(tx: &mut Tx, approval: &Approval) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE tasks SET state = 'queued' WHERE state = 'waiting' AND id IN \
         (SELECT task_id FROM approval_waits WHERE approval_id = ?)",
    )
    .bind(approval.id.number())
    .execute(&mut *tx)
    .await
    .tried("queue what waited for an answer")?;
    Ok(())
}
