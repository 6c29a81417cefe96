//! What tasks changed in the documents that steer their agents, with what was there before; and what left the machine by
//! them, as the audit knows it.
//!
//! Promises: a change is noted before it is made, so that a kill between the two leaves nothing that can't be taken back.

use std::collections::BTreeMap;

use cloister_protocol::{ChatId, TaskId, WorkspaceId};

use crate::audit::{self, Entry};
use crate::error::{StoreError, Tried};

/// As much of what left the machine is listed.
const MOST_OUTWARD: u32 = 200;
/// A task and those below it.
const FAMILY: &str = "WITH RECURSIVE family(id) AS \
    (SELECT ?1 UNION SELECT t.id FROM tasks t JOIN family f ON t.parent_id = f.id)";

/// A document that a task changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentChange {
    pub id: i64,
    /// Below the workspace.
    pub path: String,
    /// None: there was no such document.
    pub before: Option<String>,
    pub after: String,
    pub undone: Option<UndoneDocument>,
}

/// What an undo of a document found, and what it left; none: no document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoneDocument {
    pub from: Option<String>,
    pub to: Option<String>,
}

struct DocumentRow {
    id: i64,
    path: String,
    before: Option<String>,
    after: String,
    undone_at: Option<i64>,
    undone_from: Option<String>,
    undone_to: Option<String>,
}

from_row!(DocumentRow { id, path, before, after, undone_at, undone_from, undone_to });

impl DocumentRow {
    fn into_change(self) -> DocumentChange {
        let Self { id, path, before, after, undone_at, undone_from, undone_to } = self;
        let undone = undone_at.map(|_at| UndoneDocument { from: undone_from, to: undone_to });
        DocumentChange { id, path, before, after, undone }
    }
}

table! {
    /// Documents that tasks changed.
    pub struct TaskDocuments;
}

impl TaskDocuments {
    /// A task is about to change a document.
    pub async fn note(
        &self,
        (workspace, task): (WorkspaceId, TaskId),
        path: &str,
        before: Option<&str>,
        after: &str,
    ) -> Result<(), StoreError> {
        let what = "note what a task changes";
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin_one().await?;
        sqlx::query(
            "INSERT INTO task_documents (task_id, workspace_id, path, before, after, changed_at) \
             VALUES (?, ?, ?, ?, ?, ?)",
        )
        .bind(task.number())
        .bind(workspace.number())
        .bind(path)
        .bind(before)
        .bind(after)
        .bind(now)
        .execute(&mut *tx)
        .await
        .tried(what)?;
        tx.commit().await.tried(what)
    }

    /// What a task and those below it changed, the oldest first.
    pub async fn of(&self, task: TaskId) -> Result<Vec<DocumentChange>, StoreError> {
        let query = format!(
            "{FAMILY} SELECT id, path, before, after, undone_at, undone_from, undone_to \
             FROM task_documents WHERE task_id IN (SELECT id FROM family) ORDER BY id"
        );
        let rows: Vec<DocumentRow> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(task.number())
            .fetch_all(self.store.reader())
            .await
            .tried("find what a task changed")?;
        Ok(rows.into_iter().map(DocumentRow::into_change).collect())
    }

    /// Whether a task and those below it changed documents, and whether any of it is taken back.
    pub async fn standing(&self, task: TaskId) -> Result<Option<bool>, StoreError> {
        let query = format!(
            "{FAMILY} SELECT COUNT(*), COUNT(undone_at) FROM task_documents \
             WHERE task_id IN (SELECT id FROM family)"
        );
        let (all, undone): (i64, i64) = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(task.number())
            .fetch_one(self.store.reader())
            .await
            .tried("find whether a task changed documents")?;
        Ok((all > 0).then_some(undone > 0))
    }

    /// Notes what is taken back now, or made again.
    pub async fn set_undone(
        &self,
        changes: &[(i64, Option<UndoneDocument>)],
    ) -> Result<(), StoreError> {
        let what = "note what of a task is taken back";
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        for (id, undone) in changes {
            let (from, to) = match undone {
                Some(undone) => (undone.from.as_deref(), undone.to.as_deref()),
                None => (None, None),
            };
            sqlx::query(
                "UPDATE task_documents SET undone_at = ?, undone_from = ?, undone_to = ? WHERE id = ?",
            )
            .bind(undone.as_ref().map(|_some| now))
            .bind(from)
            .bind(to)
            .bind(id)
            .execute(&mut *tx)
            .await
            .tried(what)?;
        }
        tx.commit().await.tried(what)
    }

    /// The newest task of a chat that changed documents and was not taken back.
    pub async fn newest_of_chat(
        &self,
        (workspace, chat): (WorkspaceId, ChatId),
    ) -> Result<Option<TaskId>, StoreError> {
        let task: Option<u32> = sqlx::query_scalar(
            "SELECT MAX(t.id) FROM task_documents d JOIN tasks t ON t.id = d.task_id \
             WHERE d.workspace_id = ? AND t.chat = ? AND t.parent_id IS NULL AND d.undone_at IS NULL",
        )
        .bind(workspace.number())
        .bind(chat.number())
        .fetch_one(self.store.reader())
        .await
        .tried("find the newest task that changed documents")?;
        Ok(task.map(TaskId::from_number))
    }

    /// The tasks that changed documents, with their chats and when that was: the one above, where it was a sub-task.
    pub async fn tasks(&self) -> Result<Vec<(WorkspaceId, ChatId, TaskId, i64)>, StoreError> {
        let rows: Vec<(u32, u32, u32, i64)> = sqlx::query_as(
            "WITH RECURSIVE above(id, top) AS \
               (SELECT DISTINCT task_id, task_id FROM task_documents \
                UNION SELECT a.id, t.parent_id FROM above a JOIN tasks t ON t.id = a.top \
                WHERE t.parent_id IS NOT NULL) \
             SELECT t.workspace_id, t.chat, t.id, MAX(MAX(d.changed_at, COALESCE(d.undone_at, 0))) \
             FROM task_documents d JOIN above a ON a.id = d.task_id JOIN tasks t ON t.id = a.top \
             WHERE t.parent_id IS NULL GROUP BY t.id",
        )
        .fetch_all(self.store.reader())
        .await
        .tried("list the tasks that changed documents")?;
        let row = |(workspace, chat, task, at)| {
            let workspace = WorkspaceId::from_number(workspace);
            (workspace, ChatId::from_number(chat), TaskId::from_number(task), at)
        };
        Ok(rows.into_iter().map(row).collect())
    }

    /// Forgets what documents were before a task, and that people were told so.
    pub async fn forget(&self, task: TaskId, entry: Entry) -> Result<(), StoreError> {
        let what = "forget what documents were before";
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let forget =
            format!("{FAMILY} DELETE FROM task_documents WHERE task_id IN (SELECT id FROM family)");
        let forget_notice = "DELETE FROM undo_notices WHERE task_id = ?1".to_owned();
        for query in [forget, forget_notice] {
            sqlx::query(sqlx::AssertSqlSafe(query))
                .bind(task.number())
                .execute(&mut *tx)
                .await
                .tried(what)?;
        }
        audit::record(&mut tx, now, entry).await?;
        tx.commit().await.tried(what)
    }

    /// When people were told that what a task did can't be taken back much longer.
    pub async fn told(&self) -> Result<BTreeMap<TaskId, i64>, StoreError> {
        let rows: Vec<(u32, i64)> = sqlx::query_as("SELECT task_id, told_at FROM undo_notices")
            .fetch_all(self.store.reader())
            .await
            .tried("list what people were told of tasks")?;
        Ok(rows.into_iter().map(|(task, at)| (TaskId::from_number(task), at)).collect())
    }

    pub async fn set_told(&self, tasks: &[TaskId], at: i64) -> Result<(), StoreError> {
        let what = "note what people were told of tasks";
        let mut tx = self.store.begin().await?;
        for task in tasks {
            sqlx::query(
                "INSERT INTO undo_notices (task_id, told_at) VALUES (?, ?) \
                 ON CONFLICT (task_id) DO UPDATE SET told_at = excluded.told_at",
            )
            .bind(task.number())
            .bind(at)
            .execute(&mut *tx)
            .await
            .tried(what)?;
        }
        tx.commit().await.tried(what)
    }

    /// What left the machine by a task and those below it: files that were sent, and requests that did more than read.
    pub async fn outward(
        &self,
        (workspace, task): (WorkspaceId, TaskId),
    ) -> Result<Vec<(String, String)>, StoreError> {
        let query = format!(
            "{FAMILY} SELECT action, CASE action WHEN 'file.send' THEN COALESCE(subject, '') \
               ELSE COALESCE(detail, '') END \
             FROM audit_entries \
             WHERE chain = (SELECT 'u' || user_id FROM workspaces WHERE id = ?2) \
               AND at >= (SELECT created_at FROM tasks WHERE id = ?1) \
               AND action IN ('file.send', 'egress.request') \
               AND actor IN (SELECT 'cell w' || ?2 || ' T' || id FROM family) \
               AND NOT (action = 'egress.request' AND (detail LIKE 'GET %' OR detail LIKE 'HEAD %')) \
             ORDER BY seq LIMIT ?3"
        );
        sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(task.number())
            .bind(workspace.number())
            .bind(MOST_OUTWARD)
            .fetch_all(self.store.reader())
            .await
            .tried("find what left the machine by a task")
    }
}

#[cfg(test)]
#[path = "task_documents_tests.rs"]
mod tests;
