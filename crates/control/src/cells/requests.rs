//! What a coordinator may ask of the control plane.

use cloister_policy::engine::CellCall;
use cloister_protocol::link::{Asked, Cause, Reply, Request};
use cloister_protocol::{ErrorCode, TaskId, TaskState, WorkspaceId};
use cloister_store::inbox::{InboxItem, InboxState, inbox_id};
use cloister_store::tasks::NewTask;

use crate::control::Control;
use crate::error::ControlError;
use crate::gates::{Proposed, Proposing, mark_text};

/// How many ended tasks a list still shows.
const LISTED_TASKS: u32 = 20;
/// The longest title and instructions of a task, in bytes.
const MAX_TITLE: usize = 200;
const MAX_INSTRUCTIONS: usize = 64 << 10;

/// Carries out a request, or says why not. The turn it names must be one that is open here.
pub(super) async fn answer(control: &Control, workspace: WorkspaceId, request: &Request) -> Reply {
    match try_answer(control, workspace, request).await {
        Ok(reply) => reply,
        Err(error) => {
            tracing::warn!(%workspace, request = %request.id, error = error.chain(), "a request was refused");
            Reply::Refused { error: error.body() }
        }
    }
}

/// The answer to a request that came while too many others were carried out.
pub(super) fn too_many() -> Reply {
    let error = ControlError::with_fix(ErrorCode::Busy, "too many requests at once", "try again");
    Reply::Refused { error: error.body() }
}

async fn try_answer(
    control: &Control,
    workspace: WorkspaceId,
    request: &Request,
) -> Result<Reply, ControlError> {
    let row = open_turn(control, workspace, request).await?;
    match &request.ask {
        Asked::Delegate { title, instructions, risky, hosts, secrets } => {
            let person = control.person_of(&row).await?;
            control.require_of_turn(&row, person, CellCall::Delegate).await?;
            let marks = control.words_of(&row, person).await?;
            let (words, files) = match row.cause {
                Cause::Message { text, attachments, .. } => (text, attachments),
                Cause::TasksEnded { .. } | Cause::Clear => (String::new(), Vec::new()),
            };
            let plan_first = *risky
                || policy_says_risky(&words)
                || (words.is_empty() && policy_says_risky(instructions));
            let user = control.store().user_of(workspace).await?;
            let task = NewTask {
                workspace,
                chat: row.chat,
                person,
                parent: None,
                turn: request.turn.as_ref().map(ToString::to_string).unwrap_or_default(),
                title: title.clone(),
                instructions: instructions.clone(),
                request: words,
                files,
                plan_first,
                budget: user.limits.task_budget,
                hosts: crate::egress::checked_hosts(hosts.as_deref())?,
                secrets: secrets.clone(),
                marks: marks.iter().map(mark_text).collect(),
            };
            let task = control.new_task(task, &workspace.to_string(), request.id.as_str()).await?;
            Ok(Reply::Delegated { task: task.id, state: task.state })
        }
        Asked::ListTasks => {
            let tasks = control.store().tasks(workspace, LISTED_TASKS).await?;
            let ids: Vec<TaskId> = tasks.iter().map(|task| task.id).collect();
            control.store().told_in_chat(workspace, row.chat, &ids).await?;
            Ok(Reply::Tasks {
                tasks: tasks.iter().map(cloister_store::tasks::Task::report).collect(),
            })
        }
        Asked::ShowTask { task } => {
            let task = own_task(control, workspace, *task).await?;
            control.store().told_in_chat(workspace, row.chat, &[task.id]).await?;
            Ok(Reply::Tasks { tasks: vec![task.report()] })
        }
        Asked::CancelTasks { task } => {
            if let Some(task) = task {
                own_task(control, workspace, *task).await?;
            }
            let tasks =
                control.cancel_tasks(workspace, *task, Some(row.chat), "the coordinator").await?;
            Ok(Reply::Cancelled { tasks })
        }
        Asked::SendFile { path, name } => {
            let person = control.person_of(&row).await?;
            control.require_of_turn(&row, person, CellCall::SendFile).await?;
            let turn = request.turn.as_ref().map(ToString::to_string).unwrap_or_default();
            let file = crate::sending::FileToSend {
                chat: (workspace, row.chat),
                turn,
                task: None,
                path: path.clone(),
                name: name.clone(),
                request: (workspace.to_string(), request.id.to_string()),
            };
            Ok(Reply::Sent { file: control.send_file(file).await? })
        }
        Asked::Propose { what, path, text, why } => {
            let proposing = Proposing { what: *what, path, text, why };
            match control.propose_from_turn(&row, &proposing).await? {
                Proposed::Kept { path } => Ok(Reply::Kept { path }),
                // A turn does not wait for people.
                Proposed::Asked(approval) => Err(ControlError::refused(
                    ErrorCode::Refused,
                    format!(
                        "the person is asked ({}); it is written when they allow it",
                        approval.id
                    ),
                )),
                Proposed::Refused(reason) => Err(ControlError::refused(ErrorCode::Refused, reason)),
            }
        }
        Asked::ProposePlan { .. } => Err(ControlError::refused(
            ErrorCode::BadRequest,
            "a coordinator has no plan to propose; delegate the task",
        )),
    }
}

fn policy_says_risky(words: &str) -> bool {
    matches!(cloister_policy::of_request(words), cloister_policy::Risk::Risky { .. })
}

/// The inbox row behind the request's turn, if it is an open one of this workspace and chat.
async fn open_turn(
    control: &Control,
    workspace: WorkspaceId,
    request: &Request,
) -> Result<InboxItem, ControlError> {
    let refused = || {
        ControlError::refused(
            ErrorCode::BadRequest,
            "the request names no open turn of this workspace",
        )
    };
    let turn = request.turn.as_ref().ok_or_else(refused)?;
    let id = turn.as_str().strip_prefix("t-").and_then(inbox_id).ok_or_else(refused)?;
    let row = control.store().inbox_item(id).await?.ok_or_else(refused)?;
    let open = row.workspace == workspace
        && row.state != InboxState::Answered
        && request.chat.is_none_or(|chat| chat == row.chat);
    if open { Ok(row) } else { Err(refused()) }
}

async fn own_task(
    control: &Control,
    workspace: WorkspaceId,
    id: TaskId,
) -> Result<cloister_store::tasks::Task, ControlError> {
    let task = control.store().task(id).await?;
    if task.workspace == workspace {
        Ok(task)
    } else {
        Err(ControlError::refused(ErrorCode::NotFound, format!("there is no task {id}")))
    }
}

impl Control {
    /// Queues a task within the limits of its workspace.
    pub(crate) async fn new_task(
        &self,
        mut task: NewTask,
        scope: &str,
        request: &str,
    ) -> Result<cloister_store::tasks::Task, ControlError> {
        let bad = |message: &str| ControlError::refused(ErrorCode::BadRequest, message);
        if task.instructions.trim().is_empty() {
            return Err(bad("a task needs instructions"));
        }
        if task.instructions.len() > MAX_INSTRUCTIONS {
            return Err(bad("the instructions of a task may be at most 64 KiB"));
        }
        task.title = short_title(&task);
        // Asked again, it is not a new one that the limit could refuse.
        if let Some(made) = self.store().delegated_before(scope, request).await? {
            return Ok(made);
        }
        let open = self.store().open_tasks(task.workspace).await?;
        if open.len() >= self.work().max_open_tasks {
            return Err(ControlError::with_fix(
                ErrorCode::Busy,
                format!("{} tasks are open already", open.len()),
                "wait for some to end, or cancel some with /cancel",
            ));
        }
        let task = self.store().delegate(task, scope, request).await?;
        if task.state == TaskState::Queued {
            self.tell_task(&task, "queued");
            self.inner.task_signal.notify_one();
        }
        Ok(task)
    }
}

fn short_title(task: &NewTask) -> String {
    let source = if task.title.trim().is_empty() { &task.instructions } else { &task.title };
    let line = source.trim().lines().next().unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(MAX_TITLE / 4).collect()
}
