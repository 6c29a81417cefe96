//! Where the content of tasks and chats came from.
//!
//! Marks are the words of `policy`, as text; to the store they are opaque. Promises: a mark is only
//! ever added. There are two ways for one to go: a person clears a chat's history (its files keep
//! theirs), or a person is erased.

use cloister_protocol::{ChatId, TaskId, WorkspaceId};

use crate::approvals::Approvals;
use crate::audit;
use crate::db::Tx;
use crate::error::{StoreError, Tried, corrupt};
use crate::inbox::Meant;

/// More of them are not told apart: policy counts so many as "and more".
const MAX_MARKS: u32 = 65;
/// More links of one task are forgotten, and then asked about.
const MAX_LINKS: u32 = 20_000;

/// Content that is about to be handed to a task.
#[derive(Clone, Debug, Default)]
pub struct NewContent {
    pub marks: Vec<String>,
    pub links: Vec<String>,
    pub hosts: Vec<String>,
    /// What the audit trail has of it.
    pub entries: Vec<audit::Entry>,
}

/// What is recorded of a task's content.
#[derive(Clone, Debug, Default)]
pub struct TaskContent {
    pub marks: Vec<String>,
    /// Its own and those of the tasks above it.
    pub links: Vec<String>,
    pub hosts: Vec<String>,
}

/// What is recorded of a chat's content.
#[derive(Clone, Debug, Default)]
pub struct ChatContent {
    pub files: Vec<String>,
    pub history: Vec<String>,
}

/// A task and those above it.
const WITH_PARENTS: &str = "WITH RECURSIVE above (id) AS (SELECT ?1 UNION ALL \
     SELECT t.parent_id FROM tasks t JOIN above a ON t.id = a.id WHERE t.parent_id IS NOT NULL)";

/// The messages of a chat since it was last cleared. A clear counts once it is done.
const SAID_SINCE: &str = "FROM inbox WHERE workspace_id = ?1 AND chat = ?2 \
     AND json_extract(cause, '$.cause') = 'message' \
     AND id > coalesce((SELECT max(id) FROM inbox WHERE workspace_id = ?1 AND chat = ?2 \
                        AND state = 'answered' AND json_extract(cause, '$.cause') = 'clear'), 0)";

impl Approvals {
    /// Records content before a task gets it. What the task has read may be in the files of its chat
    /// from then on.
    pub async fn record_content(
        &self,
        task: TaskId,
        content: NewContent,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.begin().await?;
        for entry in content.entries {
            audit::record(&mut tx, self.store.clock.now_ms(), entry).await?;
        }
        for mark in &content.marks {
            add_task_mark(&mut tx, task, mark).await?;
            sqlx::query(
                "INSERT OR IGNORE INTO chat_marks (workspace_id, chat, part, mark) \
                 SELECT workspace_id, chat, 'files', ?2 FROM tasks t WHERE t.id = ?1 AND \
                   (SELECT count(*) FROM chat_marks c WHERE c.workspace_id = t.workspace_id \
                    AND c.chat = t.chat AND c.part = 'files') < ?3",
            )
            .bind(task.number())
            .bind(mark)
            .bind(MAX_MARKS)
            .execute(&mut *tx)
            .await
            .tried("mark the files of a chat")?;
        }
        if !content.links.is_empty() {
            let links = serde_json::to_string(&content.links).map_err(|e| corrupt("links", e))?;
            sqlx::query(
                "INSERT OR IGNORE INTO task_links (task_id, link) SELECT ?1, value FROM json_each(?2) \
                 LIMIT max(0, ?3 - (SELECT count(*) FROM task_links WHERE task_id = ?1))",
            )
            .bind(task.number())
            .bind(links)
            .bind(MAX_LINKS)
            .execute(&mut *tx)
            .await
            .tried("record links")?;
        }
        for host in &content.hosts {
            sqlx::query("INSERT OR IGNORE INTO task_hosts (task_id, host) VALUES (?, ?)")
                .bind(task.number())
                .bind(host)
                .execute(&mut *tx)
                .await
                .tried("record a host")?;
        }
        tx.commit().await.tried("record where content came from")
    }

    pub async fn task_content(&self, task: TaskId) -> Result<TaskContent, StoreError> {
        let marks = sqlx::query_scalar("SELECT mark FROM task_marks WHERE task_id = ?")
            .bind(task.number())
            .fetch_all(self.store.reader())
            .await
            .tried("read the marks of a task")?;
        let of_parents = |table: &str, column: &str| {
            sqlx::AssertSqlSafe(format!(
                "{WITH_PARENTS} SELECT DISTINCT {column} FROM {table} WHERE task_id IN (SELECT id FROM above)"
            ))
        };
        let links = sqlx::query_scalar(of_parents("task_links", "link"))
            .bind(task.number())
            .fetch_all(self.store.reader())
            .await
            .tried("read the links of a task")?;
        let hosts = sqlx::query_scalar(of_parents("task_hosts", "host"))
            .bind(task.number())
            .fetch_all(self.store.reader())
            .await
            .tried("read the hosts of a task")?;
        Ok(TaskContent { marks, links, hosts })
    }

    pub async fn chat_content(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<ChatContent, StoreError> {
        let rows: Vec<(String, String)> = sqlx::query_as(
            "SELECT part, mark FROM chat_marks WHERE workspace_id = ? AND chat IN (?, 0)",
        )
        .bind(workspace.number())
        .bind(chat.number())
        .fetch_all(self.store.reader())
        .await
        .tried("read the marks of a chat")?;
        let mut content = ChatContent::default();
        for (part, mark) in rows {
            match part.as_str() {
                "files" => content.files.push(mark),
                _ => content.history.push(mark),
            }
        }
        Ok(content)
    }

    /// A file from outside is about to be put into a chat.
    pub async fn mark_chat_files(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        mark: &str,
        entry: audit::Entry,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.begin().await?;
        audit::record(&mut tx, self.store.clock.now_ms(), entry).await?;
        sqlx::query(
            "INSERT OR IGNORE INTO chat_marks (workspace_id, chat, part, mark) SELECT ?1, ?2, 'files', ?3 \
             WHERE (SELECT count(*) FROM chat_marks WHERE workspace_id = ?1 AND chat = ?2 \
                    AND part = 'files') < ?4",
        )
        .bind(workspace.number())
        .bind(chat.number())
        .bind(mark)
        .bind(MAX_MARKS)
        .execute(&mut *tx)
        .await
        .tried("mark the files of a chat")?;
        tx.commit().await.tried("mark the files of a chat")
    }

    /// Something that every chat reads, such as the memory, is about to be written with content that
    /// came from there.
    pub async fn mark_workspace(
        &self,
        workspace: WorkspaceId,
        marks: &[String],
    ) -> Result<(), StoreError> {
        let mut tx = self.store.begin().await?;
        for mark in marks {
            sqlx::query(
                "INSERT OR IGNORE INTO chat_marks (workspace_id, chat, part, mark) VALUES (?, 0, 'files', ?)",
            )
            .bind(workspace.number())
            .bind(mark)
            .execute(&mut *tx)
            .await
            .tried("mark a workspace")?;
        }
        tx.commit().await.tried("mark a workspace")
    }

    /// Reports of these tasks are about to be shown in a chat.
    pub async fn told_in_chat(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        tasks: &[TaskId],
    ) -> Result<(), StoreError> {
        let mut tx = self.store.begin().await?;
        for task in tasks {
            add_to_history(&mut tx, workspace, chat, *task).await?;
        }
        tx.commit().await.tried("mark the history of a chat")
    }

    /// The person has cleared the chat: what was said before is in no context any more.
    pub async fn history_cleared(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.begin_one().await?;
        sqlx::query(
            "DELETE FROM chat_marks WHERE workspace_id = ? AND chat = ? AND part = 'history'",
        )
        .bind(workspace.number())
        .bind(chat.number())
        .execute(&mut *tx)
        .await
        .tried("clear the marks of a history")?;
        tx.commit().await.tried("clear the marks of a history")
    }

    /// Who has written in a chat since it was last cleared, each once.
    pub async fn authors_in(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<Vec<String>, StoreError> {
        sqlx::query_scalar(sqlx::AssertSqlSafe(format!(
            "SELECT DISTINCT json_extract(cause, '$.from') {SAID_SINCE}"
        )))
        .bind(workspace.number())
        .bind(chat.number())
        .fetch_all(self.store.reader())
        .await
        .tried("list who has written in a chat")
    }

    /// The next messages of a chat, since it was last cleared, whose words nobody has looked at yet.
    pub async fn unread_words(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        count: u32,
    ) -> Result<Vec<(i64, String)>, StoreError> {
        sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "SELECT id, json_extract(cause, '$.text') {SAID_SINCE} AND passes_on IS NULL ORDER BY id LIMIT ?3"
        )))
        .bind(workspace.number())
        .bind(chat.number())
        .bind(count)
        .fetch_all(self.store.reader())
        .await
        .tried("read what was said in a chat")
    }

    /// Which messages pass on what others wrote.
    pub async fn words_read(&self, read: &[(i64, bool)]) -> Result<(), StoreError> {
        let what = "note whose words messages are";
        let mut tx = self.store.begin().await?;
        for (message, passes_on) in read {
            sqlx::query("UPDATE inbox SET passes_on = ? WHERE id = ?")
                .bind(passes_on)
                .bind(message)
                .execute(&mut *tx)
                .await
                .tried(what)?;
        }
        tx.commit().await.tried(what)
    }

    /// Whether words of others were passed on in a chat since it was last cleared, as far as they were looked at.
    pub async fn words_passed_on(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<bool, StoreError> {
        sqlx::query_scalar(sqlx::AssertSqlSafe(format!(
            "SELECT EXISTS (SELECT 1 {SAID_SINCE} AND passes_on = 1)"
        )))
        .bind(workspace.number())
        .bind(chat.number())
        .fetch_one(self.store.reader())
        .await
        .tried("find what was passed on in a chat")
    }

    /// What a person wrote in a chat up to a message, since they last cleared it, newest first, and for whom.
    pub async fn own_words(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        up_to: i64,
        from: &str,
        count: u32,
    ) -> Result<Vec<(Meant, String)>, StoreError> {
        let rows: Vec<(Option<String>, String)> = sqlx::query_as(
            "SELECT command, json_extract(cause, '$.text') FROM inbox WHERE workspace_id = ?1 AND chat = ?2 AND id <= ?3 \
             AND json_extract(cause, '$.cause') = 'message' AND json_extract(cause, '$.from') = ?4 \
             AND id > coalesce((SELECT max(id) FROM inbox WHERE workspace_id = ?1 AND chat = ?2 AND id <= ?3 \
                                AND json_extract(cause, '$.cause') = 'clear'), 0) \
             ORDER BY id DESC LIMIT ?5",
        )
        .bind(workspace.number())
        .bind(chat.number())
        .bind(up_to)
        .bind(from)
        .bind(count)
        .fetch_all(self.store.reader())
        .await
        .tried("read what a person wrote")?;
        let wrote = |(command, text): (Option<String>, String)| {
            Ok((Meant::of_column(command.as_deref())?, text))
        };
        rows.into_iter().map(wrote).collect()
    }
}

async fn add_task_mark(tx: &mut Tx, task: TaskId, mark: &str) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT OR IGNORE INTO task_marks (task_id, mark) SELECT ?1, ?2 \
         WHERE (SELECT count(*) FROM task_marks WHERE task_id = ?1) < ?3",
    )
    .bind(task.number())
    .bind(mark)
    .bind(MAX_MARKS)
    .execute(&mut *tx)
    .await
    .tried("mark a task")?;
    Ok(())
}

/// A new task: the marks of the words that led to it, of everything in its chat, and of the task
/// above it. What it writes into the chat's files from now on may come from any of these, and others that
/// run there read it at once.
pub(crate) async fn begin_task(
    tx: &mut Tx,
    task: TaskId,
    words: &[String],
) -> Result<(), StoreError> {
    for mark in words {
        add_task_mark(tx, task, mark).await?;
    }
    sqlx::query(
        "INSERT OR IGNORE INTO task_marks (task_id, mark) \
         SELECT t.id, c.mark FROM tasks t \
           JOIN chat_marks c ON c.workspace_id = t.workspace_id AND c.chat IN (t.chat, 0) WHERE t.id = ?1 \
         UNION SELECT t.id, m.mark FROM tasks t JOIN task_marks m ON m.task_id = t.parent_id WHERE t.id = ?1",
    )
    .bind(task.number())
    .execute(&mut *tx)
    .await
    .tried("mark a new task")?;
    sqlx::query(
        "INSERT OR IGNORE INTO chat_marks (workspace_id, chat, part, mark) \
         SELECT t.workspace_id, t.chat, 'files', m.mark FROM tasks t JOIN task_marks m ON m.task_id = t.id \
         WHERE t.id = ?1",
    )
    .bind(task.number())
    .execute(&mut *tx)
    .await
    .tried("mark the files that a new task writes")?;
    Ok(())
}

/// A task ends: its report enters the history of its chat, and the context of the task above it.
pub(crate) async fn end_task(tx: &mut Tx, task: TaskId) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT OR IGNORE INTO chat_marks (workspace_id, chat, part, mark) \
         SELECT t.workspace_id, t.chat, p.part, m.mark FROM tasks t JOIN task_marks m ON m.task_id = t.id \
           CROSS JOIN (SELECT 'files' AS part UNION ALL SELECT 'history') p WHERE t.id = ?",
    )
    .bind(task.number())
    .execute(&mut *tx)
    .await
    .tried("mark a chat")?;
    sqlx::query(
        "INSERT OR IGNORE INTO task_marks (task_id, mark) \
         SELECT t.parent_id, m.mark FROM tasks t JOIN task_marks m ON m.task_id = t.id \
         WHERE t.id = ? AND t.parent_id IS NOT NULL",
    )
    .bind(task.number())
    .execute(&mut *tx)
    .await
    .tried("mark a parent task")?;
    Ok(())
}

async fn add_to_history(
    tx: &mut Tx,
    workspace: WorkspaceId,
    chat: ChatId,
    task: TaskId,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT OR IGNORE INTO chat_marks (workspace_id, chat, part, mark) \
         SELECT ?1, ?2, 'history', m.mark FROM task_marks m JOIN tasks t ON t.id = m.task_id \
         WHERE m.task_id = ?3 AND t.workspace_id = ?1",
    )
    .bind(workspace.number())
    .bind(chat.number())
    .bind(task.number())
    .execute(&mut *tx)
    .await
    .tried("mark the history of a chat")?;
    Ok(())
}

/// The history of a new chat goes on from what was heard elsewhere.
pub(crate) async fn heard_before(
    tx: &mut Tx,
    (workspace, chat): (WorkspaceId, ChatId),
    marks: &[String],
) -> Result<(), StoreError> {
    for mark in marks {
        sqlx::query(
            "INSERT OR IGNORE INTO chat_marks (workspace_id, chat, part, mark) VALUES (?, ?, 'history', ?)",
        )
        .bind(workspace.number())
        .bind(chat.number())
        .bind(mark)
        .execute(&mut *tx)
        .await
        .tried("mark the history of a new chat")?;
    }
    Ok(())
}
