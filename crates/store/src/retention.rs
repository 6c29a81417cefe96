//! Files of chats that nobody has used for long: which were put away, and when each chat was last used.
//!
//! Promises: that a file is put away is on record, with its entry in the audit, before it moves; a chat in which
//! something is under way has no last use.

use cloister_protocol::{ChatId, WorkspaceId};

use crate::actor::Actor;
use crate::audit::{self, Entry};
use crate::error::{StoreError, Tried, corrupt};

/// As many are listed for an agent.
const MOST_LISTED: u32 = 50;

/// How far a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetiredState {
    /// It is being moved.
    Moving,
    /// It lies beside, and can be put back.
    Kept,
    /// It is removed, or is in the chat again.
    Gone,
}

impl RetiredState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Moving => "moving",
            Self::Kept => "kept",
            Self::Gone => "gone",
        }
    }

    fn parse(word: &str) -> Result<Self, StoreError> {
        let known = [Self::Moving, Self::Kept, Self::Gone];
        let known = known.into_iter().find(|state| state.as_str() == word);
        known.ok_or_else(|| corrupt("state of a retired file", word))
    }
}

/// A file that was put away.
#[derive(Clone, Debug)]
pub struct RetiredFile {
    pub id: i64,
    pub workspace: WorkspaceId,
    pub chat: ChatId,
    /// Below the chat: `files/notes.txt`, `incoming/photo.jpg`.
    pub path: String,
    pub size: u64,
    pub retired_at: i64,
    pub state: RetiredState,
}

struct RetiredRow {
    id: i64,
    workspace_id: u32,
    chat: u32,
    path: String,
    size: i64,
    retired_at: i64,
    state: String,
}

from_row!(RetiredRow { id, workspace_id, chat, path, size, retired_at, state });

impl RetiredRow {
    fn into_file(self) -> Result<RetiredFile, StoreError> {
        Ok(RetiredFile {
            id: self.id,
            workspace: WorkspaceId::from_number(self.workspace_id),
            chat: ChatId::from_number(self.chat),
            path: self.path,
            size: u64::try_from(self.size).unwrap_or_default(),
            retired_at: self.retired_at,
            state: RetiredState::parse(&self.state)?,
        })
    }
}

const COLUMNS: &str = "id, workspace_id, chat, path, size, retired_at, state FROM retired_files";

table! {
    /// Files that were put away.
    pub struct Retention;
}

impl Retention {
    /// The chats that nothing is under way in, and when each was last used: what was said or sent in it, what its tasks
    /// did.
    pub async fn last_uses(&self) -> Result<Vec<(WorkspaceId, ChatId, i64)>, StoreError> {
        let rows: Vec<(u32, u32, i64)> = sqlx::query_as(
            "SELECT c.workspace_id, c.number, MAX(c.created_at, \
               COALESCE((SELECT MAX(received_at) FROM inbox i \
                         WHERE i.workspace_id = c.workspace_id AND i.chat = c.number), 0), \
               COALESCE((SELECT MAX(created_at) FROM outbox o \
                         WHERE o.workspace_id = c.workspace_id AND o.chat = c.number), 0), \
               COALESCE((SELECT MAX(COALESCE(ended_at, created_at)) FROM tasks t \
                         WHERE t.workspace_id = c.workspace_id AND t.chat = c.number), 0)) \
             FROM chats c \
             WHERE NOT EXISTS (SELECT 1 FROM tasks t WHERE t.workspace_id = c.workspace_id \
                 AND t.chat = c.number AND t.state IN ('queued', 'running', 'waiting')) \
               AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.workspace_id = c.workspace_id \
                 AND i.chat = c.number AND i.state <> 'answered')",
        )
        .fetch_all(self.store.reader())
        .await
        .tried("find when chats were last used")?;
        let row = |(workspace, chat, at)| {
            (WorkspaceId::from_number(workspace), ChatId::from_number(chat), at)
        };
        Ok(rows.into_iter().map(row).collect())
    }

    /// Files of a chat are about to be put away.
    pub async fn retire(
        &self,
        actor: &Actor,
        (workspace, chat): (WorkspaceId, ChatId),
        files: &[(String, u64)],
    ) -> Result<Vec<RetiredFile>, StoreError> {
        let what = "note files that are put away";
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let mut retired = Vec::new();
        for (path, size) in files {
            let id: i64 = sqlx::query_scalar(
                "INSERT INTO retired_files (workspace_id, chat, path, size, retired_at, state) \
                 VALUES (?, ?, ?, ?, ?, 'moving') RETURNING id",
            )
            .bind(workspace.number())
            .bind(chat.number())
            .bind(path)
            .bind(i64::try_from(*size).unwrap_or(i64::MAX))
            .bind(now)
            .fetch_one(&mut *tx)
            .await
            .tried(what)?;
            let entry =
                Entry::new(actor, "file.retire", path).with(format!("{chat}, {size} bytes"));
            audit::record(&mut tx, now, entry.of_workspace(workspace)).await?;
            retired.push(RetiredFile {
                id,
                workspace,
                chat,
                path: path.clone(),
                size: *size,
                retired_at: now,
                state: RetiredState::Moving,
            });
        }
        tx.commit().await.tried(what)?;
        Ok(retired)
    }

    /// Its file has moved; with the entry of one that goes for good, or is put back.
    pub async fn set_state(
        &self,
        id: i64,
        state: RetiredState,
        entry: Option<Entry>,
    ) -> Result<(), StoreError> {
        let what = "note how far a file is that was put away";
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        sqlx::query("UPDATE retired_files SET state = ? WHERE id = ?")
            .bind(state.as_str())
            .bind(id)
            .execute(&mut *tx)
            .await
            .tried(what)?;
        if let Some(entry) = entry {
            audit::record(&mut tx, now, entry).await?;
        }
        tx.commit().await.tried(what)
    }

    pub async fn in_state(&self, state: RetiredState) -> Result<Vec<RetiredFile>, StoreError> {
        let query = format!("SELECT {COLUMNS} WHERE state = ? ORDER BY id");
        let rows: Vec<RetiredRow> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(state.as_str())
            .fetch_all(self.store.reader())
            .await
            .tried("list files that were put away")?;
        rows.into_iter().map(RetiredRow::into_file).collect()
    }

    /// Those of a chat, the newest first.
    pub async fn of_chat(
        &self,
        (workspace, chat): (WorkspaceId, ChatId),
    ) -> Result<Vec<RetiredFile>, StoreError> {
        let query = format!(
            "SELECT {COLUMNS} WHERE workspace_id = ? AND chat = ? ORDER BY id DESC LIMIT ?"
        );
        let rows: Vec<RetiredRow> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(workspace.number())
            .bind(chat.number())
            .bind(MOST_LISTED)
            .fetch_all(self.store.reader())
            .await
            .tried("list the files of a chat that were put away")?;
        rows.into_iter().map(RetiredRow::into_file).collect()
    }
}
