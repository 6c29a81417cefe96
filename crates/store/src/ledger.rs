//! The ledger of a task: what its executor did, step by step, journaled before it took effect.

use cloister_protocol::TaskId;
use cloister_protocol::link::Step;

use crate::db::Store;
use crate::error::{StoreError, Tried, corrupt};
use crate::grants::{self, GrantEnded, Passing};

/// What became of a step that was to be journaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Journaled {
    Stored,
    /// Another step has this place: two executors write, and this one is not the task's.
    Conflict,
    /// What was to let it through has ended meanwhile; nothing was stored.
    GrantEnded,
}

impl Store {
    /// Appends a step, with what passes by it. The same step at the same place again is stored
    /// already, and passes nothing more.
    pub async fn append_step(
        &self,
        task: TaskId,
        seq: u32,
        step: &Step,
        passing: Passing,
    ) -> Result<Journaled, StoreError> {
        let json = serde_json::to_string(step).map_err(|e| corrupt("step", e))?;
        let mut tx = self.begin().await?;
        let next: u32 = sqlx::query_scalar(
            "SELECT coalesce(max(seq) + 1, 0) FROM task_steps WHERE task_id = ?",
        )
        .bind(task.number())
        .fetch_one(&mut *tx)
        .await
        .tried("find the end of a ledger")?;
        if seq != next {
            let there: Option<String> =
                sqlx::query_scalar("SELECT step FROM task_steps WHERE task_id = ? AND seq = ?")
                    .bind(task.number())
                    .bind(seq)
                    .fetch_optional(&mut *tx)
                    .await
                    .tried("read a step")?;
            let same = there.as_deref() == Some(json.as_str());
            return Ok(if same { Journaled::Stored } else { Journaled::Conflict });
        }
        sqlx::query("INSERT INTO task_steps (task_id, seq, step, at) VALUES (?, ?, ?, ?)")
            .bind(task.number())
            .bind(seq)
            .bind(json)
            .bind(self.clock.now_ms())
            .execute(&mut *tx)
            .await
            .tried("journal a step")?;
        if let Err(GrantEnded) = grants::pass_in(&mut tx, passing, self.clock.now_ms()).await? {
            return Ok(Journaled::GrantEnded);
        }
        sqlx::query("UPDATE tasks SET attempts = 0 WHERE id = ? AND attempts > 0")
            .bind(task.number())
            .execute(&mut *tx)
            .await
            .tried("count an attempt as useful")?;
        tx.commit().await.tried("journal a step")?;
        Ok(Journaled::Stored)
    }

    pub async fn steps(&self, task: TaskId) -> Result<Vec<Step>, StoreError> {
        let rows: Vec<String> =
            sqlx::query_scalar("SELECT step FROM task_steps WHERE task_id = ? ORDER BY seq")
                .bind(task.number())
                .fetch_all(self.reader())
                .await
                .tried("read a ledger")?;
        rows.iter().map(|json| serde_json::from_str(json).map_err(|e| corrupt("step", e))).collect()
    }
}
