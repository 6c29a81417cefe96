//! Tasks and the questions they ask.

use std::collections::HashMap;

use axum::extract::State as Extract;
use cloister_control::rows::{Approval, Task, User};
use cloister_control::{UndoWish, nano_to_usd};
use cloister_policy::engine::{ChatCall, Request, WorkspaceCall};
use cloister_protocol::admin::{
    AnswerApproval, ApprovalView, CancelTasks, Cancelled, FileChangeView, GivenAnswer, TaskDetail,
    TaskFiles, TaskView, UndoTask, UndoView,
};
use cloister_protocol::{ApprovalId, ErrorCode, TaskId, UserName};
use schemars::JsonSchema;
use serde::Deserialize;

use super::authorise::Asker;
use super::route::{About, Route};
use super::{Admin, time};
use crate::reply::{Answer, Body, Failure, Path, Query, json};

pub(super) fn routes() -> Vec<Route> {
    let (workspace, task) = (About::Workspace, About::Task);
    let list_call = About::Handler(WorkspaceCall::ListTasks.as_str());
    let answer_call = About::Handler("answer_approval");
    vec![
        Route::get(
            "/admin/v1/users/{user}/approvals",
            workspace(WorkspaceCall::ListApprovals),
            approvals,
        ),
        Route::post("/admin/v1/users/{user}/approvals/{approval}", answer_call, answer),
        Route::post(
            "/admin/v1/users/{user}/tasks/cancel",
            workspace(WorkspaceCall::CancelTasks),
            cancel,
        ),
        Route::get("/admin/v1/tasks", list_call, list),
        Route::get("/admin/v1/tasks/{task}", task(ChatCall::ShowTask), show),
        Route::post("/admin/v1/tasks/{task}/cancel", task(ChatCall::CancelTask), cancel_one),
        Route::post("/admin/v1/tasks/{task}/retry", task(ChatCall::RetryTask), retry),
        Route::get("/admin/v1/tasks/{task}/files", task(ChatCall::DownloadFile), files),
        Route::post("/admin/v1/tasks/{task}/keep", task(ChatCall::RetryTask), keep),
        Route::post("/admin/v1/tasks/{task}/drop", task(ChatCall::RetryTask), let_go),
        Route::post("/admin/v1/tasks/{task}/undo", task(ChatCall::RetryTask), undo),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct Filter {
    user: Option<String>,
    #[serde(default)]
    open: bool,
}

fn view(task: &Task, user: UserName) -> TaskView {
    TaskView {
        id: task.id,
        user,
        chat: task.chat,
        parent: task.parent,
        title: task.title.clone(),
        state: task.state,
        result: task.result.clone(),
        not_shown: task.not_shown.clone(),
        spent_usd: nano_to_usd(task.spent),
        created_at: time(task.created_at),
        started_at: task.started_at.map(time),
        ended_at: task.ended_at.map(time),
    }
}

async fn list(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Query(filter): Query<Filter>,
) -> Answer<Vec<TaskView>> {
    let users = seen(&admin, &asker, filter.user.as_deref()).await?;
    let mut tasks = Vec::new();
    for user in users {
        let of_user = if filter.open {
            admin.control.tasks().open(user.workspace).await?
        } else {
            admin.control.tasks().list(user.workspace, 100).await?
        };
        tasks.extend(of_user.iter().map(|task| view(task, user.name.clone())));
    }
    tasks.sort_by_key(|task| task.id);
    json(tasks)
}

/// The users whose tasks the asker may list: the one that is named, or all of them.
async fn seen(admin: &Admin, asker: &Asker, named: Option<&str>) -> Result<Vec<User>, Failure> {
    let person = asker.person();
    let call = WorkspaceCall::ListTasks;
    if let Some(name) = named {
        let user = asker.find_user(&name.parse()?).await?;
        let place = admin.control.people().place(user.workspace).await?;
        asker.require_of_user(&Request::workspace(person, call, &place), name, &place).await?;
        return Ok(vec![user]);
    }
    let mut seen = Vec::new();
    let mut refused = None;
    for user in admin.control.accounts().all().await? {
        let request =
            Request::workspace(person, call, &admin.control.people().place(user.workspace).await?);
        if asker.may(&request) {
            seen.push(user);
        } else {
            refused = Some(request);
        }
    }
    match refused {
        // Who may see nobody's is told so; who may see some is not told of the others.
        Some(request) if seen.is_empty() => asker.require(&request).await.map(|()| seen),
        _ => Ok(seen),
    }
}

async fn show(Extract(admin): Extract<Admin>, Path(id): Path<String>) -> Answer<TaskDetail> {
    let id: TaskId = id.parse()?;
    let task = admin.control.tasks().find(id).await?;
    let user = admin.control.accounts().of(task.workspace).await?;
    let ledger = admin.control.tasks().steps(id).await?;
    json(TaskDetail {
        task: view(&task, user.name),
        instructions: task.instructions,
        request: task.request,
        plan_first: task.plan_first,
        ledger,
    })
}

async fn cancel_one(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(id): Path<String>,
) -> Answer<Cancelled> {
    let task =
        admin.control.tasks().task_for(asker.person(), ChatCall::CancelTask, id.parse()?).await?;
    let cancelled = admin.control.tasks().cancel_task(asker.actor(), &task).await?;
    json(Cancelled { cancelled })
}

async fn retry(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(id): Path<String>,
) -> Answer<TaskView> {
    let old =
        admin.control.tasks().task_for(asker.person(), ChatCall::RetryTask, id.parse()?).await?;
    // Each call is a wish of its own.
    let key = admin.control.clock().now().to_string();
    let task = admin.control.tasks().retry_task(asker.actor(), old, &key).await?;
    let user = admin.control.accounts().of(task.workspace).await?;
    json(view(&task, user.name))
}

async fn files(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(id): Path<String>,
) -> Answer<TaskFiles> {
    let tasks = admin.control.tasks();
    let task = tasks.task_for(asker.person(), ChatCall::DownloadFile, id.parse()?).await?;
    json(tasks.layers().files_of(&task).await?)
}

async fn keep(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(id): Path<String>,
) -> Answer<Vec<FileChangeView>> {
    let tasks = admin.control.tasks();
    let task = tasks.task_for(asker.person(), ChatCall::RetryTask, id.parse()?).await?;
    json(tasks.layers().keep(asker.actor(), &task).await?)
}

async fn let_go(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(id): Path<String>,
) -> Answer<TaskFiles> {
    let tasks = admin.control.tasks();
    let task = tasks.task_for(asker.person(), ChatCall::RetryTask, id.parse()?).await?;
    tasks.layers().let_go(asker.actor(), &task).await?;
    json(tasks.layers().files_of(&task).await?)
}

async fn undo(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(id): Path<String>,
    Body(asked): Body<UndoTask>,
) -> Answer<UndoView> {
    let tasks = admin.control.tasks();
    let task = tasks.task_for(asker.person(), ChatCall::RetryTask, id.parse()?).await?;
    json(tasks.layers().undo(asker.actor(), &task, (UndoWish::Turn, asked.dry_run)).await?)
}

async fn cancel(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(name): Path<String>,
    Body(asked): Body<CancelTasks>,
) -> Answer<Cancelled> {
    let user = super::user(&admin, &name).await?;
    let cancelled = match asked.task {
        None => {
            asker.require_to_direct(&admin.control.people().place(user.workspace).await?).await?;
            admin.control.tasks().cancel_tasks(asker.actor(), user.workspace, None).await?
        }
        Some(id) => {
            let call = ChatCall::CancelTask;
            let task = admin.control.tasks().task_for(asker.person(), call, id).await?;
            if task.task().workspace != user.workspace {
                let message = format!("there is no task {id} of {name}");
                return Err(Failure::new(ErrorCode::NotFound, message));
            }
            admin.control.tasks().cancel_task(asker.actor(), &task).await?
        }
    };
    json(Cancelled { cancelled })
}

async fn approvals(
    Extract(admin): Extract<Admin>,
    Path(name): Path<String>,
) -> Answer<Vec<ApprovalView>> {
    let user = super::user(&admin, &name).await?;
    let pending = admin.control.gates().pending(user.workspace).await?;
    json(pending.into_iter().map(approval_view).collect())
}

fn approval_view(approval: Approval) -> ApprovalView {
    let answers = approval.answers.into_iter();
    ApprovalView {
        id: approval.id,
        chat: approval.chat,
        task: approval.task,
        title: approval.title,
        text: approval.text,
        digest: approval.digest,
        class: approval.class,
        reason: approval.reason,
        sources: approval.sources,
        offered: approval.offered,
        people: approval.people,
        answers: answers.map(|given| GivenAnswer { by: given.by, answer: given.answer }).collect(),
        asked_at: time(approval.asked_at),
    }
}

async fn answer(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path((name, approval)): Path<(String, String)>,
    Body(asked): Body<AnswerApproval>,
) -> Answer<HashMap<&'static str, ApprovalId>> {
    let user = super::user(&admin, &name).await?;
    let id: ApprovalId = approval.parse()?;
    let AnswerApproval { answer, digest } = asked;
    let (by, digest) = (asker.user(), digest.as_deref());
    let answered =
        admin.control.gates().answer_approval(by, user.workspace, id, answer, digest).await;
    asker.noted(answered).await?;
    json(HashMap::from([("answered", id)]))
}
