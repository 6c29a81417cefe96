//! What tasks have chosen by themselves at hosts, and where those hosts were found.
//!
//! Promises: choices only add up, until a person lets a task begin anew; all that follows from one message of a
//! person, the tasks of its turn, those below them and those that their reports led to, shares one count for
//! each host.

use std::net::IpAddr;

use cloister_protocol::link::Cause;
use cloister_protocol::{TaskId, TurnId};

use crate::approvals::Approvals;
use crate::error::{StoreError, Tried, corrupt};

/// Where a host was found for a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundHost {
    pub host: String,
    pub addresses: Vec<IpAddr>,
    /// A person is shown them before they answer.
    pub shown: bool,
}

impl Approvals {
    /// The task at the top, above this one.
    pub async fn top_task(&self, task: TaskId) -> Result<TaskId, StoreError> {
        let number: u32 = sqlx::query_scalar(
            "WITH RECURSIVE above (id, parent) AS (SELECT id, parent_id FROM tasks WHERE id = ? UNION ALL \
             SELECT t.id, t.parent_id FROM tasks t JOIN above a ON t.id = a.parent) \
             SELECT id FROM above WHERE parent IS NULL",
        )
        .bind(task.number())
        .fetch_one(self.store.reader())
        .await
        .tried("find the task above")?;
        Ok(TaskId::from_number(number))
    }

    /// The first task that came of the message that this one came of in the end, however many reports lie
    /// between: whoever delegates again because of a report has been asked for nothing new.
    pub async fn first_task(&self, task: TaskId) -> Result<TaskId, StoreError> {
        let mut task = task;
        loop {
            let top = self.store.tasks().task(self.top_task(task).await?).await?;
            let row = match top.turn.message() {
                Some(row) => self.store.inbox().inbox_item(row).await?,
                None => None,
            };
            let reported = match row.map(|row| row.cause) {
                Some(Cause::TasksEnded { reports }) => {
                    // A report is about what was there before; else this might go round in circles.
                    reports.iter().map(|report| report.task).filter(|task| *task < top.id).min()
                }
                Some(Cause::Message { .. } | Cause::Clear) | None => None,
            };
            match reported {
                Some(before) => task = before,
                None => return self.first_of_turn(top.id, &top.turn).await,
            }
        }
    }

    /// The first of the tasks that a turn delegated.
    async fn first_of_turn(&self, task: TaskId, turn: &TurnId) -> Result<TaskId, StoreError> {
        let number: u32 = sqlx::query_scalar(
            "SELECT min(f.id) FROM tasks f JOIN tasks t ON t.workspace_id = f.workspace_id \
             WHERE t.id = ? AND f.turn = ? AND f.parent_id IS NULL",
        )
        .bind(task.number())
        .bind(turn.as_str())
        .fetch_one(self.store.reader())
        .await
        .tried("find the first task of a turn")?;
        Ok(TaskId::from_number(number))
    }

    /// How many bits a task has chosen at a host.
    pub async fn chosen_bits(&self, task: TaskId, host: &str) -> Result<u32, StoreError> {
        let bits: Option<i64> =
            sqlx::query_scalar("SELECT bits FROM task_choices WHERE task_id = ? AND host = ?")
                .bind(task.number())
                .bind(host)
                .fetch_optional(self.store.reader())
                .await
                .tried("read what a task chose")?;
        Ok(bits.and_then(|bits| u32::try_from(bits).ok()).unwrap_or_default())
    }

    /// Counts a choice before it is made; whether it is within the limit. If not, nothing is counted.
    pub async fn choose(
        &self,
        task: TaskId,
        host: &str,
        bits: u32,
        limit: u32,
    ) -> Result<bool, StoreError> {
        if bits > limit {
            return Ok(false);
        }
        let mut tx = self.store.begin_one().await?;
        let done = sqlx::query(
            "INSERT INTO task_choices (task_id, host, bits) VALUES (?1, ?2, ?3) \
             ON CONFLICT (task_id, host) DO UPDATE SET bits = task_choices.bits + excluded.bits \
             WHERE task_choices.bits + excluded.bits <= ?4",
        )
        .bind(task.number())
        .bind(host)
        .bind(bits)
        .bind(limit)
        .execute(&mut *tx)
        .await
        .tried("count what a task chose")?;
        tx.commit().await.tried("count what a task chose")?;
        Ok(done.rows_affected() == 1)
    }

    /// A person has let the task choose as much again.
    pub async fn choose_anew(&self, task: TaskId, host: &str) -> Result<(), StoreError> {
        let mut tx = self.store.begin_one().await?;
        sqlx::query("DELETE FROM task_choices WHERE task_id = ? AND host = ?")
            .bind(task.number())
            .bind(host)
            .execute(&mut *tx)
            .await
            .tried("let a task choose anew")?;
        tx.commit().await.tried("let a task choose anew")
    }

    pub async fn hosts_found(&self, task: TaskId) -> Result<Vec<FoundHost>, StoreError> {
        let rows: Vec<(String, String, bool)> = sqlx::query_as(
            "SELECT host, addresses, shown FROM task_addresses WHERE task_id = ? ORDER BY host",
        )
        .bind(task.number())
        .fetch_all(self.store.reader())
        .await
        .tried("read where hosts were found")?;
        rows.into_iter()
            .map(|(host, addresses, shown)| {
                let addresses = serde_json::from_str(&addresses)
                    .map_err(|error| corrupt("addresses", error))?;
                Ok(FoundHost { host, addresses, shown })
            })
            .collect()
    }

    /// Records where a host was found, before anyone is asked about it or it is dialled.
    pub async fn host_found(&self, task: TaskId, found: &FoundHost) -> Result<(), StoreError> {
        let addresses =
            serde_json::to_string(&found.addresses).map_err(|error| corrupt("addresses", error))?;
        let mut tx = self.store.begin_one().await?;
        sqlx::query(
            "INSERT INTO task_addresses (task_id, host, addresses, shown) VALUES (?, ?, ?, ?) \
             ON CONFLICT (task_id, host) DO UPDATE SET addresses = excluded.addresses, shown = excluded.shown",
        )
        .bind(task.number())
        .bind(&found.host)
        .bind(addresses)
        .bind(found.shown)
        .execute(&mut *tx)
        .await
        .tried("record where a host was found")?;
        tx.commit().await.tried("record where a host was found")
    }

    /// The host is not there any more.
    pub async fn host_lost(&self, task: TaskId, host: &str) -> Result<(), StoreError> {
        let mut tx = self.store.begin_one().await?;
        sqlx::query("DELETE FROM task_addresses WHERE task_id = ? AND host = ?")
            .bind(task.number())
            .bind(host)
            .execute(&mut *tx)
            .await
            .tried("forget where a host was")?;
        tx.commit().await.tried("forget where a host was")
    }
}
