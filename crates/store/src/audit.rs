//! The audit trail: one row per effect, written in the effect's own transaction.

use cloister_protocol::WorkspaceId;
use sqlx::{FromRow, SqliteConnection};

use crate::db::Store;
use crate::error::{StoreError, Tried};

/// Who did what to what.
#[derive(Clone, Debug)]
pub struct Entry {
    pub actor: String,
    pub action: &'static str,
    pub subject: String,
    pub detail: String,
}

impl Entry {
    pub fn new(actor: impl ToString, action: &'static str, subject: impl ToString) -> Self {
        Self {
            actor: actor.to_string(),
            action,
            subject: subject.to_string(),
            detail: String::new(),
        }
    }

    pub fn with(mut self, detail: impl ToString) -> Self {
        self.detail = detail.to_string();
        self
    }

    pub fn of_cell(workspace: WorkspaceId, action: &'static str, subject: impl ToString) -> Self {
        Self::new(format!("cell {workspace}"), action, subject)
    }
}

#[derive(Clone, Debug, FromRow, serde::Serialize)]
pub struct AuditRow {
    pub id: i64,
    pub at: i64,
    pub actor: String,
    pub action: String,
    pub subject: String,
    pub detail: String,
}

pub(crate) async fn record(
    tx: &mut SqliteConnection,
    at: i64,
    entry: Entry,
) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO audit (at, actor, action, subject, detail) VALUES (?, ?, ?, ?, ?)")
        .bind(at)
        .bind(entry.actor)
        .bind(entry.action)
        .bind(entry.subject)
        .bind(entry.detail)
        .execute(&mut *tx)
        .await
        .tried("write an audit entry")?;
    Ok(())
}

impl Store {
    /// Records something that has no other row: a refusal, a launch.
    pub async fn audit(&self, entry: Entry) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        record(&mut tx, self.clock.now_ms(), entry).await?;
        tx.commit().await.tried("write an audit entry")
    }

    pub async fn audit_tail(&self, count: u32) -> Result<Vec<AuditRow>, StoreError> {
        sqlx::query_as(
            "SELECT id, at, actor, action, subject, detail FROM audit ORDER BY id DESC LIMIT ?",
        )
        .bind(count)
        .fetch_all(self.reader())
        .await
        .tried("read the audit trail")
    }
}
