//! Approvals: questions that only a person may answer, bound to what exactly was asked.

use cloister_protocol::{AgentFrame, Answer, ApprovalId, Ask, ChatId, TaskId, WorkspaceId};
use sha2::{Digest, Sha256};
use sqlx::FromRow;

use crate::audit;
use crate::db::Store;
use crate::error::{StoreError, Tried, corrupt, not_found};
use crate::outbox::{self, OutboxItem};
use crate::tasks::Task;

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    Pending,
    Allowed,
    Denied,
    /// The task ended before anyone answered.
    Void,
}

#[derive(Clone, Debug, serde::Serialize)]
pub struct Approval {
    pub id: ApprovalId,
    pub workspace: WorkspaceId,
    pub chat: ChatId,
    pub task: TaskId,
    pub title: String,
    pub text: String,
    pub state: ApprovalState,
    pub asked_at: i64,
}

#[derive(FromRow)]
struct Row {
    id: u32,
    workspace_id: u32,
    chat: u32,
    task_id: u32,
    title: String,
    text: String,
    state: String,
    asked_at: i64,
}

const COLUMNS: &str = "id, workspace_id, chat, task_id, title, text, state, asked_at";

impl Row {
    fn into_approval(self) -> Result<Approval, StoreError> {
        let state = match self.state.as_str() {
            "pending" => ApprovalState::Pending,
            "allowed" => ApprovalState::Allowed,
            "denied" => ApprovalState::Denied,
            "void" => ApprovalState::Void,
            other => return Err(corrupt("approval state", other)),
        };
        Ok(Approval {
            id: ApprovalId::from_number(self.id),
            workspace: WorkspaceId::from_number(self.workspace_id),
            chat: ChatId::from_number(self.chat),
            task: TaskId::from_number(self.task_id),
            title: self.title,
            text: self.text,
            state,
            asked_at: self.asked_at,
        })
    }
}

/// What asking did.
#[derive(Debug)]
pub struct Asked {
    pub approval: Approval,
    /// The question, to be sent; none when it was asked before.
    pub told: Option<OutboxItem>,
}

impl Store {
    /// Asks for an approval and lets the task wait for it. The same text asked again by the same
    /// task is the same question.
    pub async fn ask(&self, task: &Task, title: &str, text: &str) -> Result<Asked, StoreError> {
        let now = self.clock.now_ms();
        let hash: String =
            Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        let mut tx = self.begin().await?;
        let inserted: Option<u32> = sqlx::query_scalar(
            "INSERT INTO approvals (workspace_id, chat, task_id, title, text, text_hash, state, asked_at) \
             VALUES (?, ?, ?, ?, ?, ?, 'pending', ?) ON CONFLICT (task_id, text_hash) DO NOTHING RETURNING id",
        )
        .bind(task.workspace.number())
        .bind(task.chat.number())
        .bind(task.id.number())
        .bind(title)
        .bind(text)
        .bind(&hash)
        .bind(now)
        .fetch_optional(&mut *tx)
        .await
        .tried("ask for an approval")?;
        let row: Row = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "SELECT {COLUMNS} FROM approvals WHERE task_id = ? AND text_hash = ?"
        )))
        .bind(task.id.number())
        .bind(&hash)
        .fetch_one(&mut *tx)
        .await
        .tried("find an approval")?;
        let approval = row.into_approval()?;
        if approval.state == ApprovalState::Pending {
            sqlx::query("UPDATE tasks SET state = 'waiting', attempts = 0 WHERE id = ? AND state = 'running'")
                .bind(task.id.number())
                .execute(&mut *tx)
                .await
                .tried("let a task wait")?;
        }
        let mut told = None;
        if inserted.is_some() {
            let frame = AgentFrame::Ask(Ask {
                approval: approval.id,
                task: Some(task.id),
                title: title.to_owned(),
                text: text.to_owned(),
                digest: hash.clone(),
                class: String::new(),
                reason: "a plan is put to you before anything is changed".to_owned(),
                sources: Vec::new(),
                offered: vec![Answer::Allow, Answer::Deny, Answer::DenyAndStop],
                people: 1,
            });
            let turn = format!("ask-{}", approval.id);
            told =
                Some(outbox::push(&mut tx, (task.workspace, task.chat), &turn, &frame, now).await?);
            let entry =
                audit::Entry::of_cell(task.workspace, "approval.ask", approval.id).with(hash);
            audit::record(&mut tx, now, entry).await?;
        }
        tx.commit().await.tried("ask for an approval")?;
        Ok(Asked { approval, told })
    }

    /// Answers a pending approval and queues its task again. An approval that is not pending, or of
    /// another workspace, is not found.
    pub async fn answer(
        &self,
        workspace: WorkspaceId,
        id: ApprovalId,
        answer: Answer,
        by: &str,
    ) -> Result<Approval, StoreError> {
        let now = self.clock.now_ms();
        let state = if answer.is_allowing() { "allowed" } else { "denied" };
        let mut tx = self.begin().await?;
        let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "UPDATE approvals SET state = ?, answered_by = ?, answered_at = ? \
             WHERE id = ? AND workspace_id = ? AND state = 'pending' RETURNING {COLUMNS}"
        )))
        .bind(state)
        .bind(by)
        .bind(now)
        .bind(id.number())
        .bind(workspace.number())
        .fetch_optional(&mut *tx)
        .await
        .tried("answer an approval")?;
        let approval = row.ok_or_else(|| not_found("pending approval", id))?.into_approval()?;
        sqlx::query("UPDATE tasks SET state = 'queued' WHERE id = ? AND state = 'waiting'")
            .bind(approval.task.number())
            .execute(&mut *tx)
            .await
            .tried("queue a task again")?;
        let entry = audit::Entry::new(by, "approval.answer", id).with(state);
        audit::record(&mut tx, now, entry.of_workspace(workspace)).await?;
        tx.commit().await.tried("answer an approval")?;
        Ok(approval)
    }

    /// Whether a plan of this task has been allowed.
    pub async fn has_allowed(&self, task: TaskId) -> Result<bool, StoreError> {
        sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM approvals WHERE task_id = ? AND state = 'allowed')",
        )
        .bind(task.number())
        .fetch_one(self.reader())
        .await
        .tried("look for an approval")
    }

    pub async fn pending_approvals(
        &self,
        workspace: WorkspaceId,
    ) -> Result<Vec<Approval>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "SELECT {COLUMNS} FROM approvals WHERE workspace_id = ? AND state = 'pending' ORDER BY id"
        )))
        .bind(workspace.number())
        .fetch_all(self.reader())
        .await
        .tried("list approvals")?;
        rows.into_iter().map(Row::into_approval).collect()
    }
}
