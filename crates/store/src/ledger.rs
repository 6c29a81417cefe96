//! The ledger of a task: what its executor did, step by step, journaled before it took effect.

use cloister_protocol::link::{CallStatus, Step};
use cloister_protocol::{TaskId, WorkspaceId};

use crate::audit::{self, Fingerprint};
use crate::error::{StoreError, Tried, corrupt, not_found};
use crate::grants::{self, GrantEnded, Passing, Recorded};
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

/// What became of a call that was to be journaled.
#[derive(Debug)]
pub enum Called {
    /// It may be made now.
    New(Recorded),
    /// It is stored already, and was passed then.
    Known,
    Conflict,
    GrantEnded,
}

/// A step by which nothing is done: what the model answered, or what came of a call.
#[derive(Clone, Copy, Debug)]
pub struct SaidStep<'a>(&'a Step);

impl<'a> SaidStep<'a> {
    /// None for a call: that needs to have passed the gate.
    pub const fn of(step: &'a Step) -> Option<Self> {
        match step {
            Step::Answer { .. } | Step::Result { .. } => Some(Self(step)),
            Step::Call { .. } => None,
        }
    }
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

/// What goes into the audit trail with a step.
enum With<'a> {
    Passing { passing: Passing, recorded: &'a mut Option<Recorded> },
    Noted(Vec<audit::Entry>),
}

impl Tasks {
    /// Appends a call, with what passes by it. The same at the same place again is stored already, and passes
    /// nothing more.
    pub async fn append_call(
        &self,
        task: TaskId,
        seq: u32,
        call: &str,
        passing: Passing,
    ) -> Result<Called, StoreError> {
        let step = Step::Call { call: call.to_owned() };
        let mut recorded = None;
        let with = With::Passing { passing, recorded: &mut recorded };
        Ok(match (self.append(task, seq, &step, with).await?, recorded) {
            (Journaled::Stored, Some(recorded)) => Called::New(recorded),
            (Journaled::Stored, None) => Called::Known,
            (Journaled::Conflict, _) => Called::Conflict,
            (Journaled::GrantEnded, _) => Called::GrantEnded,
        })
    }

    /// Appends what was said, with what is noted of it. What a result shows to the model is in the audit trail
    /// with it.
    pub async fn append_said(
        &self,
        task: TaskId,
        seq: u32,
        said: SaidStep<'_>,
        noted: Vec<audit::Entry>,
    ) -> Result<Journaled, StoreError> {
        self.append(task, seq, said.0, With::Noted(noted)).await
    }

    async fn append(
        &self,
        task: TaskId,
        seq: u32,
        step: &Step,
        with: With<'_>,
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
        let now = self.store.clock.now_ms();
        match with {
            With::Passing { passing, recorded } => {
                match grants::pass_in(&mut tx, passing, now).await? {
                    Ok(passed) => *recorded = Some(passed),
                    Err(GrantEnded) => return Ok(Journaled::GrantEnded),
                }
            }
            With::Noted(entries) => {
                for entry in entries {
                    audit::record(&mut tx, now, entry).await?;
                }
            }
        }
        if let Some(detail) = shown_by(seq, step) {
            let workspace = WorkspaceId::from_number(workspace);
            let entry =
                audit::Entry::of_cell((workspace, Some(task)), "tool.result", task).with(detail);
            audit::record(&mut tx, now, entry).await?;
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
