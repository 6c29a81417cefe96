//! Artifacts: files as they were when they were sent.

use cloister_protocol::{AgentFrame, ChatId, SendFile, TaskId, TurnId, WorkspaceId};

use crate::error::{StoreError, Tried, not_found};
use crate::outbox::Outbox;
use crate::outbox::{self, OutboxItem};
use crate::{audit, requests};

#[derive(Clone, Debug)]
pub struct Artifact {
    pub id: String,
    pub name: String,
    pub mime: String,
    pub size: i64,
}

from_row!(Artifact { id, name, mime, size });

impl Outbox {
    /// The answer to a file request that was carried out before.
    pub async fn sent_before(
        &self,
        scope: &str,
        request: &str,
    ) -> Result<Option<SendFile>, StoreError> {
        let mut tx = self.store.begin().await?;
        requests::answered(&mut tx, scope, request).await
    }

    /// How many bytes of files a workspace has sent since.
    pub async fn sent_since(&self, workspace: WorkspaceId, since: i64) -> Result<u64, StoreError> {
        let bytes: i64 = sqlx::query_scalar(
            "SELECT coalesce(sum(size), 0) FROM artifacts WHERE workspace_id = ? AND created_at > ?",
        )
        .bind(workspace.number())
        .bind(since)
        .fetch_one(self.store.reader())
        .await
        .tried("count what was sent")?;
        Ok(u64::try_from(bytes).unwrap_or(0))
    }

    /// How many files were sent in a turn.
    pub async fn files_of_turn(
        &self,
        workspace: WorkspaceId,
        turn: &TurnId,
    ) -> Result<u32, StoreError> {
        sqlx::query_scalar(
            "SELECT count(*) FROM outbox WHERE workspace_id = ? AND turn = ? \
             AND json_extract(frame, '$.type') = 'send_file'",
        )
        .bind(workspace.number())
        .bind(turn.as_str())
        .fetch_one(self.store.reader())
        .await
        .tried("count the files of a turn")
    }

    /// Keeps an artifact and tells the person of it, once per request.
    pub async fn send_artifact(
        &self,
        id: &str,
        chat: (WorkspaceId, ChatId),
        (turn, task): (&TurnId, Option<TaskId>),
        (file, print): (&SendFile, &audit::Fingerprint),
        request: (&str, &str),
    ) -> Result<OutboxItem, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        sqlx::query(
            "INSERT INTO artifacts (id, workspace_id, name, mime, size, created_at) VALUES (?, ?, ?, ?, ?, ?)",
        )
        .bind(id)
        .bind(chat.0.number())
        .bind(&file.name)
        .bind(&file.mime)
        .bind(i64::try_from(file.size).unwrap_or(i64::MAX))
        .bind(now)
        .execute(&mut *tx)
        .await
        .tried("keep an artifact")?;
        let frame = AgentFrame::SendFile(file.clone());
        let told = outbox::push(&mut tx, chat, turn, &frame, now).await?;
        requests::remember(&mut tx, request.0, request.1, file, now).await?;
        let detail = format!("{}: {print}", file.name);
        let entry = audit::Entry::of_cell((chat.0, task), "file.send", &file.path).with(detail);
        audit::record(&mut tx, now, entry).await?;
        tx.commit().await.tried("send a file")?;
        Ok(told)
    }

    pub async fn artifact(&self, workspace: WorkspaceId, id: &str) -> Result<Artifact, StoreError> {
        let row: Option<Artifact> = sqlx::query_as(
            "SELECT id, name, mime, size FROM artifacts WHERE id = ? AND workspace_id = ?",
        )
        .bind(id)
        .bind(workspace.number())
        .fetch_optional(self.store.reader())
        .await
        .tried("find an artifact")?;
        row.ok_or_else(|| not_found("file", id))
    }
}
