//! The ledger of a task: what its executor did, step by step, journaled before it took effect.

use cloister_protocol::link::{CallStatus, Step};
use cloister_protocol::{TaskId, WorkspaceId};

use crate::audit::{self, Fingerprint};
use crate::error::{StoreError, Tried, corrupt, not_found};
use crate::grants::{self, GrantEnded, Passing};
use crate::tasks::Tasks;

/// What became of a step that was to be journaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Journaled {
    Stored,
    /// Another step has this place: two executors write, and this one is not the task's.
    Conflict,
    /// What was to let it through has ended meanwhile; nothing was stored.
    GrantEnded,
}

/// What a result shows to the model, so that it can be proved; the words are in the ledger.
fn shown_by(seq: u32, step: &Step) -> Option<String> {
    let Step::Result { call, outcome } = step else { return None };
    let status = match outcome.status {
        CallStatus::Ok => "ok",
        CallStatus::Failed => "failed",
        CallStatus::Refused => "refused",
        CallStatus::Unknown => "unknown",
    };
    let shown = Fingerprint::of(outcome.output.as_bytes());
    Some(format!("{call} {status}: {shown}; whole in step {seq}"))
}

impl Tasks {
    /// Appends a step, with what passes by it. What a result shows to the model is in the audit trail
    /// with it. The same step at the same place again is stored already, and passes nothing more.
    pub async fn append_step(
        &self,
        task: TaskId,
        seq: u32,
        step: &Step,
        passing: Passing,
    ) -> Result<Journaled, StoreError> {
        let json = serde_json::to_string(step).map_err(|e| corrupt("step", e))?;
        let mut tx = self.store.begin().await?;
        let found: Option<(u32, u32)> = sqlx::query_as(
            "SELECT workspace_id, coalesce((SELECT max(seq) + 1 FROM task_steps WHERE task_id = ?1), 0) \
             FROM tasks WHERE id = ?1",
        )
        .bind(task.number())
        .fetch_optional(&mut *tx)
        .await
        .tried("find the end of a ledger")?;
        let (workspace, next) = found.ok_or_else(|| not_found("task", task))?;
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
            .bind(self.store.clock.now_ms())
            .execute(&mut *tx)
            .await
            .tried("journal a step")?;
        if let Err(GrantEnded) =
            grants::pass_in(&mut tx, passing, self.store.clock.now_ms()).await?
        {
            return Ok(Journaled::GrantEnded);
        }
        if let Some(detail) = shown_by(seq, step) {
            let workspace = WorkspaceId::from_number(workspace);
            let entry = audit::Entry::of_cell(workspace, "tool.result", task).with(detail);
            audit::record(&mut tx, self.store.clock.now_ms(), entry).await?;
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
                .fetch_all(self.store.reader())
                .await
                .tried("read a ledger")?;
        rows.iter().map(|json| serde_json::from_str(json).map_err(|e| corrupt("step", e))).collect()
    }
}
