//! Tasks: durable units of work, their states and who hears of their end.

use cloister_protocol::link::{Cause, TaskReport};
use cloister_protocol::{Attachment, ChatId, TaskId, TaskState, TurnId, UserId, WorkspaceId};

use crate::contexts::ChatPlace;
use crate::conversations;
use crate::db::Tx;
use crate::error::{StoreError, Tried, corrupt, not_found};
use crate::inbox::{self, Inbound, InboxItem, Meant};
use crate::{audit, grants, layers, provenance, requests};

/// A task to be made.
#[derive(Clone, Debug)]
pub struct NewTask {
    pub workspace: WorkspaceId,
    pub chat: ChatId,
    /// Whom it works for.
    pub person: UserId,
    pub parent: Option<TaskId>,
    pub turn: TurnId,
    pub title: String,
    pub instructions: String,
    /// The person's own words.
    pub request: String,
    pub files: Vec<Attachment>,
    pub plan_first: bool,
    /// Nano-dollars.
    pub budget: i64,
    /// Where it may go, if that is less than its user may.
    pub hosts: Option<Vec<String>>,
    /// The secrets it may use, by name, if that is less than all of its user's.
    pub secrets: Option<Vec<String>>,
    /// Where the words that led to it came from, as `provenance` keeps marks.
    pub marks: Vec<String>,
}

#[derive(Clone, Debug, serde::Serialize)]
pub struct Task {
    pub id: TaskId,
    pub workspace: WorkspaceId,
    pub chat: ChatId,
    /// Whom it works for.
    pub person: UserId,
    pub parent: Option<TaskId>,
    pub depth: u32,
    pub turn: TurnId,
    pub title: String,
    pub instructions: String,
    pub request: String,
    pub files: Vec<Attachment>,
    pub plan_first: bool,
    pub state: TaskState,
    /// Launches since the ledger last grew.
    pub attempts: u32,
    pub result: String,
    pub not_shown: Vec<String>,
    pub budget: i64,
    pub spent: i64,
    pub created_at: i64,
    pub started_at: Option<i64>,
    pub ended_at: Option<i64>,
    pub hosts: Option<Vec<String>>,
    pub secrets: Option<Vec<String>>,
}

impl Task {
    pub fn report(&self) -> TaskReport {
        TaskReport {
            task: self.id,
            title: self.title.clone(),
            state: self.state,
            result: self.result.clone(),
            not_shown: self.not_shown.clone(),
        }
    }
}

struct Row {
    id: u32,
    workspace_id: u32,
    chat: u32,
    parent_id: Option<u32>,
    depth: u32,
    turn: String,
    title: String,
    instructions: String,
    request: String,
    files: String,
    plan_first: bool,
    state: String,
    attempts: u32,
    result: String,
    not_shown: String,
    budget: i64,
    spent: i64,
    created_at: i64,
    started_at: Option<i64>,
    ended_at: Option<i64>,
    hosts: Option<String>,
    secrets: Option<String>,
    person: u32,
}

from_row!(Row {
    id,
    workspace_id,
    chat,
    parent_id,
    depth,
    turn,
    title,
    instructions,
    request,
    files,
    plan_first,
    state,
    attempts,
    result,
    not_shown,
    budget,
    spent,
    created_at,
    started_at,
    ended_at,
    hosts,
    secrets,
    person,
});

const COLUMNS: &str = "id, workspace_id, chat, parent_id, depth, turn, title, instructions, request, files, \
     plan_first, state, attempts, result, not_shown, budget, spent, created_at, started_at, ended_at, \
     hosts, secrets, coalesce(person, (SELECT w.user_id FROM workspaces w WHERE w.id = workspace_id)) AS person";

impl Row {
    fn into_task(self) -> Result<Task, StoreError> {
        Ok(Task {
            id: TaskId::from_number(self.id),
            workspace: WorkspaceId::from_number(self.workspace_id),
            chat: ChatId::from_number(self.chat),
            person: UserId::from_number(self.person),
            parent: self.parent_id.map(TaskId::from_number),
            depth: self.depth,
            turn: TurnId::kept(self.turn),
            title: self.title,
            instructions: self.instructions,
            request: self.request,
            files: serde_json::from_str(&self.files).map_err(|e| corrupt("task files", e))?,
            plan_first: self.plan_first,
            state: TaskState::parse(&self.state)
                .ok_or_else(|| corrupt("task state", &self.state))?,
            attempts: self.attempts,
            result: self.result,
            not_shown: serde_json::from_str(&self.not_shown)
                .map_err(|e| corrupt("task record", e))?,
            budget: self.budget,
            spent: self.spent,
            created_at: self.created_at,
            started_at: self.started_at,
            ended_at: self.ended_at,
            hosts: self
                .hosts
                .map(|json| serde_json::from_str(&json).map_err(|e| corrupt("task hosts", e)))
                .transpose()?,
            secrets: self
                .secrets
                .map(|json| serde_json::from_str(&json).map_err(|e| corrupt("task secrets", e)))
                .transpose()?,
        })
    }
}

fn select(rest: &str) -> sqlx::AssertSqlSafe<String> {
    sqlx::AssertSqlSafe(format!("SELECT {COLUMNS} FROM tasks {rest}"))
}

/// How a task ended.
#[derive(Clone, Debug)]
pub struct Ending {
    pub state: TaskState,
    pub result: String,
    pub not_shown: Vec<String>,
    /// The person ended it themselves and need not be told by a turn.
    pub known_to_person: bool,
}

/// What the end of a task set in motion.
#[derive(Debug)]
pub struct TaskEnded {
    pub task: Task,
    /// The trigger that tells the person.
    pub woke: Option<InboxItem>,
}

table! {
    /// Tasks, their ledgers and what they cost.
    pub struct Tasks;
}

impl Tasks {
    /// Makes a task. The same request again answers with the task made before.
    pub async fn delegate(
        &self,
        new: NewTask,
        scope: &str,
        request: &str,
    ) -> Result<Task, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        if let Some(id) = requests::answered::<TaskId>(&mut tx, scope, request).await? {
            drop(tx);
            return self.task(id).await;
        }
        let hosts = new.hosts.as_ref().map(serde_json::to_string).transpose();
        let hosts = hosts.map_err(|e| corrupt("task hosts", e))?;
        let secrets = new.secrets.as_ref().map(serde_json::to_string).transpose();
        let secrets = secrets.map_err(|e| corrupt("task secrets", e))?;
        let id: u32 = sqlx::query_scalar(
            "INSERT INTO tasks (workspace_id, chat, parent_id, depth, turn, title, instructions, request, \
               files, plan_first, state, budget, created_at, hosts, secrets, person) \
             VALUES (?1, ?2, ?3, coalesce((SELECT depth + 1 FROM tasks WHERE id = ?3), 0), ?4, ?5, ?6, ?7, \
               ?8, ?9, 'queued', ?10, ?11, ?12, ?13, ?14) RETURNING id",
        )
        .bind(new.workspace.number())
        .bind(new.chat.number())
        .bind(new.parent.map(TaskId::number))
        .bind(new.turn.as_str())
        .bind(&new.title)
        .bind(&new.instructions)
        .bind(&new.request)
        .bind(serde_json::to_string(&new.files).map_err(|e| corrupt("task files", e))?)
        .bind(new.plan_first)
        .bind(new.budget)
        .bind(now)
        .bind(hosts)
        .bind(secrets)
        .bind(new.person.number())
        .fetch_one(&mut *tx)
        .await
        .tried("make a task")?;
        let id = TaskId::from_number(id);
        provenance::begin_task(&mut tx, id, &new.marks).await?;
        requests::remember(&mut tx, scope, request, &id, now).await?;
        let told = format!("{}: {}", new.title, audit::said(&new.instructions));
        let entry = audit::Entry::of_cell((new.workspace, new.parent), "task.new", id).with(told);
        audit::record(&mut tx, now, entry).await?;
        tx.commit().await.tried("make a task")?;
        self.task(id).await
    }

    /// The task that this request has made already.
    pub async fn delegated_before(
        &self,
        scope: &str,
        request: &str,
    ) -> Result<Option<Task>, StoreError> {
        let mut tx = self.store.begin().await?;
        let made = requests::answered::<TaskId>(&mut tx, scope, request).await?;
        drop(tx);
        match made {
            Some(id) => self.task(id).await.map(Some),
            None => Ok(None),
        }
    }

    pub async fn task(&self, id: TaskId) -> Result<Task, StoreError> {
        let row: Option<Row> = sqlx::query_as(select("WHERE id = ?"))
            .bind(id.number())
            .fetch_optional(self.store.reader())
            .await
            .tried("find a task")?;
        row.ok_or_else(|| not_found("task", id))?.into_task()
    }

    /// The newest tasks of a workspace, newest first.
    pub async fn list(&self, workspace: WorkspaceId, count: u32) -> Result<Vec<Task>, StoreError> {
        let rows: Vec<Row> =
            sqlx::query_as(select("WHERE workspace_id = ? ORDER BY id DESC LIMIT ?"))
                .bind(workspace.number())
                .bind(count)
                .fetch_all(self.store.reader())
                .await
                .tried("list tasks")?;
        rows.into_iter().map(Row::into_task).collect()
    }

    /// The newest tasks of the chats that are where this is: of the same agent in the same context, newest first.
    pub async fn tasks_in_place(
        &self,
        workspace: WorkspaceId,
        place: &ChatPlace,
        count: u32,
    ) -> Result<Vec<Task>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(select(
            "WHERE workspace_id = ?1 AND chat IN (SELECT number FROM chats WHERE workspace_id = ?1 \
             AND coalesce(context, '') = ?2 AND agent = ?3) ORDER BY id DESC LIMIT ?4",
        ))
        .bind(workspace.number())
        .bind(place.context.as_deref().unwrap_or_default())
        .bind(place.agent.number())
        .bind(count)
        .fetch_all(self.store.reader())
        .await
        .tried("list the tasks of a context")?;
        rows.into_iter().map(Row::into_task).collect()
    }

    /// The tasks that turns of a chat began, oldest first.
    pub async fn of_turns(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        turns: &[TurnId],
    ) -> Result<Vec<Task>, StoreError> {
        if turns.is_empty() {
            return Ok(Vec::new());
        }
        let places = vec!["?"; turns.len()].join(", ");
        let mut query = sqlx::query_as(select(&format!(
            "WHERE workspace_id = ? AND chat = ? AND turn IN ({places}) ORDER BY id"
        )))
        .bind(workspace.number())
        .bind(chat.number());
        for turn in turns {
            query = query.bind(turn.as_str());
        }
        let rows: Vec<Row> =
            query.fetch_all(self.store.reader()).await.tried("list the tasks of turns")?;
        rows.into_iter().map(Row::into_task).collect()
    }

    /// The tasks of a workspace that have not ended, oldest first.
    pub async fn open_tasks(&self, workspace: WorkspaceId) -> Result<Vec<Task>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(select(
            "WHERE workspace_id = ? AND state IN ('queued', 'running', 'waiting') ORDER BY id",
        ))
        .bind(workspace.number())
        .fetch_all(self.store.reader())
        .await
        .tried("list open tasks")?;
        rows.into_iter().map(Row::into_task).collect()
    }

    pub async fn children(&self, parent: TaskId) -> Result<Vec<Task>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(select("WHERE parent_id = ? ORDER BY id"))
            .bind(parent.number())
            .fetch_all(self.store.reader())
            .await
            .tried("list sub-tasks")?;
        rows.into_iter().map(Row::into_task).collect()
    }

    /// How many tasks are queued, over all users.
    pub async fn queued_tasks(&self) -> Result<i64, StoreError> {
        sqlx::query_scalar("SELECT count(*) FROM tasks WHERE state = 'queued'")
            .fetch_one(self.store.reader())
            .await
            .tried("count queued tasks")
    }

    /// Takes the next task to run: of the workspaces below their limit, the one with the fewest running
    /// and, among those, the one that has waited longest since a task of it was started. In it, who runs the
    /// fewest goes first; and in a community nobody's work takes what the others need: beyond a quarter of the
    /// executors, one at least, a person's next task starts only while half of them stay free.
    pub async fn start_next(&self) -> Result<Option<Task>, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "UPDATE tasks SET state = 'running', attempts = attempts + 1, started_at = ? WHERE id = ( \
               SELECT t.id FROM tasks t \
               JOIN workspaces w ON w.id = t.workspace_id JOIN users u ON u.id = w.user_id \
               LEFT JOIN (SELECT workspace_id, count(*) AS running FROM tasks WHERE state = 'running' \
                          GROUP BY workspace_id) r ON r.workspace_id = t.workspace_id \
               LEFT JOIN (SELECT workspace_id, person, count(*) AS running FROM tasks WHERE state = 'running' \
                          GROUP BY workspace_id, person) p \
                 ON p.workspace_id = t.workspace_id AND p.person = t.person \
               WHERE t.state = 'queued' AND coalesce(r.running, 0) < u.max_executors \
                 AND (u.kind <> 'community' OR coalesce(p.running, 0) = 0 \
                      OR coalesce(p.running, 0) < u.max_executors / 4 \
                      OR u.max_executors - coalesce(r.running, 0) > u.max_executors / 2) \
               ORDER BY coalesce(r.running, 0), w.task_started_at, coalesce(p.running, 0), t.id LIMIT 1) \
             RETURNING {COLUMNS}"
        )))
        .bind(now)
        .fetch_optional(&mut *tx)
        .await
        .tried("start a task")?;
        let Some(row) = row else { return Ok(None) };
        sqlx::query("UPDATE workspaces SET task_started_at = ? WHERE id = ?")
            .bind(now)
            .bind(row.workspace_id)
            .execute(&mut *tx)
            .await
            .tried("note whose turn it was")?;
        tx.commit().await.tried("start a task")?;
        row.into_task().map(Some)
    }

    /// Puts back a task that was taken too early, as if it had not been.
    pub async fn unstart(&self, id: TaskId) -> Result<(), StoreError> {
        let mut tx = self.store.begin_one().await?;
        sqlx::query(
            "UPDATE tasks SET state = 'queued', attempts = max(attempts - 1, 0) \
             WHERE id = ? AND state = 'running'",
        )
        .bind(id.number())
        .execute(&mut *tx)
        .await
        .tried("put a task back")?;
        tx.commit().await.tried("put a task back")
    }

    /// Back to the queue: its executor is gone, or what it waited for has come.
    pub async fn requeue(&self, id: TaskId) -> Result<(), StoreError> {
        let mut tx = self.store.begin_one().await?;
        sqlx::query(
            "UPDATE tasks SET state = 'queued' WHERE id = ? AND state IN ('running', 'waiting')",
        )
        .bind(id.number())
        .execute(&mut *tx)
        .await
        .tried("queue a task again")?;
        tx.commit().await.tried("queue a task again")
    }

    /// After a restart no executor runs: what was running is queued again, and that attempt does
    /// not count against the task. Not what is done already, and whose files land.
    pub async fn requeue_running(&self) -> Result<u64, StoreError> {
        let mut tx = self.store.begin_one().await?;
        let done = sqlx::query(
            "UPDATE tasks SET state = 'queued', attempts = max(attempts - 1, 0) WHERE state = 'running' \
             AND NOT EXISTS (SELECT 1 FROM layers WHERE task_id = tasks.id AND state = 'landing')",
        )
        .execute(&mut *tx)
        .await
        .tried("queue running tasks again")?;
        tx.commit().await.tried("queue running tasks again")?;
        Ok(done.rows_affected())
    }

    /// The task waits for its sub-tasks; not if they have all ended meanwhile.
    pub async fn wait_for_children(&self, id: TaskId) -> Result<bool, StoreError> {
        let mut tx = self.store.begin_one().await?;
        let done = sqlx::query(
            "UPDATE tasks SET state = 'waiting', attempts = 0 WHERE id = ?1 AND state = 'running' AND EXISTS \
             (SELECT 1 FROM tasks c WHERE c.parent_id = ?1 AND c.state IN ('queued', 'running', 'waiting'))",
        )
        .bind(id.number())
        .execute(&mut *tx)
        .await
        .tried("let a task wait")?;
        tx.commit().await.tried("let a task wait")?;
        Ok(done.rows_affected() == 1)
    }

    /// Ends a task. None if it had ended before. A parent that waited for its last sub-task is
    /// queued again; a trigger tells the person, as soon as the turn that asked for it is over.
    pub async fn end_task(
        &self,
        id: TaskId,
        ending: Ending,
    ) -> Result<Option<TaskEnded>, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "UPDATE tasks SET state = ?1, result = ?2, not_shown = ?3, ended_at = ?4, reported = ?5 \
             WHERE id = ?6 AND state IN ('queued', 'running', 'waiting') AND (?1 = 'done' OR NOT EXISTS \
               (SELECT 1 FROM layers WHERE task_id = tasks.id AND state = 'landing')) RETURNING {COLUMNS}"
        )))
        .bind(ending.state.as_str())
        .bind(&ending.result)
        .bind(serde_json::to_string(&ending.not_shown).map_err(|e| corrupt("task record", e))?)
        .bind(now)
        .bind(ending.known_to_person)
        .bind(id.number())
        .fetch_optional(&mut *tx)
        .await
        .tried("end a task")?;
        let Some(row) = row else { return Ok(None) };
        let task = row.into_task()?;
        layers::has_landed(&mut tx, id, now).await?;
        grants::end_with_task(&mut tx, id, now).await?;
        provenance::end_task(&mut tx, id).await?;
        if let Some(parent) = task.parent {
            release_parent(&mut tx, parent).await?;
        }
        let woke = report_turn(&mut tx, task.workspace, &task.turn, now).await?;
        // Who cancelled it is in what is said of its end.
        let said = match ending.state {
            TaskState::Cancelled => ending.result.as_str(),
            state => state.as_str(),
        };
        let entry = audit::Entry::of_cell((task.workspace, Some(id)), "task.end", id).with(said);
        audit::record(&mut tx, now, entry).await?;
        tx.commit().await.tried("end a task")?;
        Ok(Some(TaskEnded { task, woke }))
    }
}

/// Queues a parent that waited, once none of its sub-tasks is open.
async fn release_parent(tx: &mut Tx, parent: TaskId) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE tasks SET state = 'queued' WHERE id = ?1 AND state = 'waiting' \
         AND NOT EXISTS (SELECT 1 FROM tasks c WHERE c.parent_id = ?1 \
                         AND c.state IN ('queued', 'running', 'waiting'))",
    )
    .bind(parent.number())
    .execute(&mut *tx)
    .await
    .tried("queue a parent task again")?;
    Ok(())
}

/// If the turn is over, a trigger with the reports of those of its tasks that have ended goes to the inbox, each
/// report once: nobody waits for a task because another takes longer.
pub(crate) async fn report_turn(
    tx: &mut Tx,
    workspace: WorkspaceId,
    turn: &TurnId,
    now: i64,
) -> Result<Option<InboxItem>, StoreError> {
    let Some(inbox_id) = turn.message() else { return Ok(None) };
    let rows: Vec<Row> = sqlx::query_as(select(
        "WHERE workspace_id = ?1 AND turn = ?2 AND parent_id IS NULL AND reported = 0 \
         AND state NOT IN ('queued', 'running', 'waiting') \
         AND EXISTS (SELECT 1 FROM inbox WHERE id = ?3 AND state = 'answered') ORDER BY id",
    ))
    .bind(workspace.number())
    .bind(turn.as_str())
    .bind(inbox_id)
    .fetch_all(&mut *tx)
    .await
    .tried("look for tasks to report")?;
    let tasks = rows.into_iter().map(Row::into_task).collect::<Result<Vec<_>, _>>()?;
    let Some(last) = tasks.last() else {
        return Ok(None);
    };
    sqlx::query(
        "UPDATE tasks SET reported = 1 WHERE workspace_id = ? AND turn = ? AND parent_id IS NULL \
         AND state NOT IN ('queued', 'running', 'waiting')",
    )
    .bind(workspace.number())
    .bind(turn.as_str())
    .execute(&mut *tx)
    .await
    .tried("mark tasks as reported")?;
    let trigger = Inbound {
        source: "tasks".to_owned(),
        external_id: format!("{workspace}:{turn}:{}", last.id),
        workspace,
        chat: last.chat,
        cause: Cause::TasksEnded { reports: tasks.iter().map(Task::report).collect() },
        meant: Meant::Words,
        heard_in: conversations::last_active(tx, (workspace, last.chat), inbox_id).await?,
    };
    Ok(Some(inbox::accept_in(tx, trigger, now).await?.item))
}

#[cfg(test)]
#[path = "shares_tests.rs"]
mod shares;
