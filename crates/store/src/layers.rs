//! What tasks do to the files of their chats, kept apart until it lands: how far each of these layers is.
//!
//! Promises: that a layer lands, and how its task ends then, is written before the first file moves; nothing else ends
//! a task whose files are landing; a layer joins that of the task above whole.

use cloister_protocol::{ChatId, TaskId, TaskState, WorkspaceId};
use serde::{Deserialize, Serialize};

use crate::audit::{self, Entry};
use crate::db::Tx;
use crate::error::{StoreError, Tried, corrupt};
use crate::tasks::Ending;

/// How far a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerState {
    /// Its task has not ended.
    Open,
    /// Its files are being moved into the chat's.
    Landing,
    Landed,
    /// Its task ended without landing; it can still land.
    Kept,
    /// It is part of that of the task above.
    Joined,
    /// What it changed is being taken back.
    Undoing,
    Undone,
    /// What was taken back is being brought back.
    Redoing,
    /// Its folders are removed.
    Gone,
}

impl LayerState {
    const ALL: [Self; 9] = [
        Self::Open,
        Self::Landing,
        Self::Landed,
        Self::Kept,
        Self::Joined,
        Self::Undoing,
        Self::Undone,
        Self::Redoing,
        Self::Gone,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Landing => "landing",
            Self::Landed => "landed",
            Self::Kept => "kept",
            Self::Joined => "joined",
            Self::Undoing => "undoing",
            Self::Undone => "undone",
            Self::Redoing => "redoing",
            Self::Gone => "gone",
        }
    }

    fn parse(word: &str) -> Result<Self, StoreError> {
        let known = Self::ALL.into_iter().find(|state| state.as_str() == word);
        known.ok_or_else(|| corrupt("layer state", word))
    }

    /// Files move, and whoever starts goes on moving them.
    pub const fn is_moving(self) -> bool {
        matches!(self, Self::Landing | Self::Undoing | Self::Redoing)
    }
}

/// A folder of a layer: of which task, and which of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LayerFolder {
    pub task: TaskId,
    pub number: u32,
}

/// What a task has done to the files of its chat.
#[derive(Clone, Debug)]
pub struct Layer {
    pub task: TaskId,
    pub workspace: WorkspaceId,
    pub chat: ChatId,
    pub state: LayerState,
    /// The oldest first.
    pub stack: Vec<LayerFolder>,
    /// When it was begun, as the file system counts.
    pub begun_ns: i64,
    /// How its task ends once it has landed.
    pub ending: Option<Ending>,
    pub changed_at: i64,
}

#[derive(Serialize, Deserialize)]
struct KeptEnding {
    state: String,
    result: String,
    not_shown: Vec<String>,
}

struct LayerRow {
    task_id: u32,
    workspace_id: u32,
    chat: u32,
    state: String,
    stack: String,
    begun_ns: i64,
    ending: Option<String>,
    changed_at: i64,
}

from_row!(LayerRow { task_id, workspace_id, chat, state, stack, begun_ns, ending, changed_at });

impl LayerRow {
    fn into_layer(self) -> Result<Layer, StoreError> {
        let ending = match self.ending {
            None => None,
            Some(json) => {
                let kept: KeptEnding =
                    serde_json::from_str(&json).map_err(|e| corrupt("layer ending", e))?;
                let state = TaskState::parse(&kept.state)
                    .ok_or_else(|| corrupt("layer ending", &kept.state))?;
                let (result, not_shown) = (kept.result, kept.not_shown);
                Some(Ending { state, result, not_shown, known_to_person: false })
            }
        };
        Ok(Layer {
            task: TaskId::from_number(self.task_id),
            workspace: WorkspaceId::from_number(self.workspace_id),
            chat: ChatId::from_number(self.chat),
            state: LayerState::parse(&self.state)?,
            stack: serde_json::from_str(&self.stack).map_err(|e| corrupt("layer stack", e))?,
            begun_ns: self.begun_ns,
            ending,
            changed_at: self.changed_at,
        })
    }
}

const COLUMNS: &str =
    "task_id, workspace_id, chat, state, stack, begun_ns, ending, changed_at FROM layers";

fn select(rest: &str) -> sqlx::AssertSqlSafe<String> {
    sqlx::AssertSqlSafe(format!("SELECT {COLUMNS} {rest}"))
}

fn as_json(stack: &[LayerFolder]) -> Result<String, StoreError> {
    serde_json::to_string(stack).map_err(|e| corrupt("layer stack", e))
}

table! {
    /// Layers of tasks.
    pub struct Layers;
}

impl Layers {
    pub async fn of(&self, task: TaskId) -> Result<Option<Layer>, StoreError> {
        let row: Option<LayerRow> = sqlx::query_as(select("WHERE task_id = ?"))
            .bind(task.number())
            .fetch_optional(self.store.reader())
            .await
            .tried("find a layer")?;
        row.map(LayerRow::into_layer).transpose()
    }

    /// Those in one of these states, the oldest first.
    pub async fn in_states(&self, states: &[LayerState]) -> Result<Vec<Layer>, StoreError> {
        let places = vec!["?"; states.len()].join(", ");
        let mut query =
            sqlx::query_as(select(&format!("WHERE state IN ({places}) ORDER BY task_id")));
        for state in states {
            query = query.bind(state.as_str());
        }
        let rows: Vec<LayerRow> =
            query.fetch_all(self.store.reader()).await.tried("list layers")?;
        rows.into_iter().map(LayerRow::into_layer).collect()
    }

    /// Those of a workspace that still have folders, the newest first.
    pub async fn of_workspace(&self, workspace: WorkspaceId) -> Result<Vec<Layer>, StoreError> {
        let rows: Vec<LayerRow> = sqlx::query_as(select(
            "WHERE workspace_id = ? AND state <> 'gone' ORDER BY changed_at DESC, task_id DESC",
        ))
        .bind(workspace.number())
        .fetch_all(self.store.reader())
        .await
        .tried("list the layers of a workspace")?;
        rows.into_iter().map(LayerRow::into_layer).collect()
    }

    /// The layer of a task that is launched, begun if it was not; its topmost folder is the task's own.
    pub async fn open(
        &self,
        (workspace, chat, task): (WorkspaceId, ChatId, TaskId),
        begun_ns: i64,
    ) -> Result<Layer, StoreError> {
        let what = "open a layer";
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let found: Option<LayerRow> = sqlx::query_as(select("WHERE task_id = ?"))
            .bind(task.number())
            .fetch_optional(&mut *tx)
            .await
            .tried(what)?;
        let layer = match found.map(LayerRow::into_layer).transpose()? {
            Some(mut layer) => {
                if layer.stack.last().is_none_or(|folder| folder.task != task) {
                    let own = layer.stack.iter().filter(|folder| folder.task == task);
                    let number = own.map(|folder| folder.number).max().unwrap_or_default() + 1;
                    layer.stack.push(LayerFolder { task, number });
                    sqlx::query("UPDATE layers SET stack = ?, changed_at = ? WHERE task_id = ?")
                        .bind(as_json(&layer.stack)?)
                        .bind(now)
                        .bind(task.number())
                        .execute(&mut *tx)
                        .await
                        .tried(what)?;
                }
                layer
            }
            None => {
                let stack = vec![LayerFolder { task, number: 1 }];
                sqlx::query(
                    "INSERT INTO layers (task_id, workspace_id, chat, state, stack, begun_ns, changed_at) \
                     VALUES (?, ?, ?, 'open', ?, ?, ?)",
                )
                .bind(task.number())
                .bind(workspace.number())
                .bind(chat.number())
                .bind(as_json(&stack)?)
                .bind(begun_ns)
                .bind(now)
                .execute(&mut *tx)
                .await
                .tried(what)?;
                let state = LayerState::Open;
                Layer {
                    task,
                    workspace,
                    chat,
                    state,
                    stack,
                    begun_ns,
                    ending: None,
                    changed_at: now,
                }
            }
        };
        tx.commit().await.tried(what)?;
        Ok(layer)
    }

    /// From now on its files move: it is gone on with after any kill. False if it is no longer as it was, or its task
    /// is not. The ending of a task that goes on is kept until then.
    pub async fn begin_moving(
        &self,
        task: TaskId,
        (from, to): (LayerState, LayerState),
        ending: Option<&Ending>,
        entry: Entry,
    ) -> Result<bool, StoreError> {
        let what = "begin to move files";
        let now = self.store.clock.now_ms();
        let kept = ending.map(|ending| KeptEnding {
            state: ending.state.as_str().to_owned(),
            result: ending.result.clone(),
            not_shown: ending.not_shown.clone(),
        });
        let kept = kept.as_ref().map(serde_json::to_string).transpose();
        let kept = kept.map_err(|e| corrupt("layer ending", e))?;
        let mut tx = self.store.begin().await?;
        let done = sqlx::query(
            "UPDATE layers SET state = ?3, ending = ?4, changed_at = ?5 WHERE task_id = ?1 AND state = ?2 \
             AND (?4 IS NULL OR EXISTS (SELECT 1 FROM tasks WHERE id = ?1 AND state = 'running'))",
        )
        .bind(task.number())
        .bind(from.as_str())
        .bind(to.as_str())
        .bind(kept)
        .bind(now)
        .execute(&mut *tx)
        .await
        .tried(what)?;
        if done.rows_affected() == 1 {
            audit::record(&mut tx, now, entry).await?;
        }
        tx.commit().await.tried(what)?;
        Ok(done.rows_affected() == 1)
    }

    /// Its files have moved, or it needs none any more.
    pub async fn set_state(&self, task: TaskId, state: LayerState) -> Result<(), StoreError> {
        let what = "note how far a layer is";
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin_one().await?;
        sqlx::query(
            "UPDATE layers SET state = ?, ending = NULL, changed_at = ? WHERE task_id = ? AND state <> 'joined'",
        )
        .bind(state.as_str())
        .bind(now)
        .bind(task.number())
        .execute(&mut *tx)
        .await
        .tried(what)?;
        tx.commit().await.tried(what)
    }

    /// Puts the layer of a task that is done on top of that of the task above it.
    pub async fn join(&self, task: TaskId, above: TaskId) -> Result<bool, StoreError> {
        let what = "join two layers";
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let joined = join_in(&mut tx, task, above, now).await?;
        tx.commit().await.tried(what)?;
        Ok(joined)
    }
}

/// A task whose files were landing has ended: all of them are there.
pub(crate) async fn has_landed(tx: &mut Tx, task: TaskId, now: i64) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE layers SET state = 'landed', ending = NULL, changed_at = ? WHERE task_id = ? AND state = 'landing'",
    )
    .bind(now)
    .bind(task.number())
    .execute(&mut *tx)
    .await
    .tried("note that files have landed")?;
    Ok(())
}

async fn join_in(tx: &mut Tx, task: TaskId, above: TaskId, now: i64) -> Result<bool, StoreError> {
    let what = "join two layers";
    let mut stacks = Vec::new();
    for one in [above, task] {
        let stack: Option<String> =
            sqlx::query_scalar("SELECT stack FROM layers WHERE task_id = ? AND state = 'open'")
                .bind(one.number())
                .fetch_optional(&mut *tx)
                .await
                .tried(what)?;
        let Some(stack) = stack else { return Ok(false) };
        let stack: Vec<LayerFolder> =
            serde_json::from_str(&stack).map_err(|e| corrupt("layer stack", e))?;
        stacks.push(stack);
    }
    sqlx::query("UPDATE layers SET stack = ?, changed_at = ? WHERE task_id = ?")
        .bind(as_json(&stacks.concat())?)
        .bind(now)
        .bind(above.number())
        .execute(&mut *tx)
        .await
        .tried(what)?;
    sqlx::query("UPDATE layers SET state = 'joined', changed_at = ? WHERE task_id = ?")
        .bind(now)
        .bind(task.number())
        .execute(&mut *tx)
        .await
        .tried(what)?;
    Ok(true)
}

#[cfg(test)]
#[path = "layers_tests.rs"]
mod tests;
