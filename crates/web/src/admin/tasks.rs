//! Tasks and the questions they ask.

use std::collections::HashMap;

use axum::extract::State as Extract;
use cloister_control::nano_to_usd;
use cloister_protocol::admin::{
    AnswerApproval, ApprovalView, CancelTasks, Cancelled, TaskDetail, TaskView,
};
use cloister_protocol::{ApprovalId, TaskId, UserName};
use cloister_store::tasks::Task;
use serde::Deserialize;

use super::{Admin, time};
use crate::reply::{Answer, Body, Path, Query, json};

/// Who answers or cancels through this API.
const OPERATOR: &str = "the operator";

#[derive(Deserialize)]
pub(super) struct Filter {
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

pub(super) async fn list(
    Extract(admin): Extract<Admin>,
    Query(filter): Query<Filter>,
) -> Answer<Vec<TaskView>> {
    let users = match &filter.user {
        Some(name) => vec![super::user(&admin, name).await?],
        None => admin.control.store().users().await?,
    };
    let mut tasks = Vec::new();
    for user in users {
        let of_user = if filter.open {
            admin.control.store().open_tasks(user.workspace).await?
        } else {
            admin.control.store().tasks(user.workspace, 100).await?
        };
        tasks.extend(of_user.iter().map(|task| view(task, user.name.clone())));
    }
    tasks.sort_by_key(|task| task.id);
    json(tasks)
}

pub(super) async fn show(
    Extract(admin): Extract<Admin>,
    Path(id): Path<String>,
) -> Answer<TaskDetail> {
    let id: TaskId = id.parse()?;
    let task = admin.control.store().task(id).await?;
    let user = admin.control.store().user_of(task.workspace).await?;
    let ledger = admin.control.store().steps(id).await?;
    json(TaskDetail {
        task: view(&task, user.name),
        instructions: task.instructions,
        request: task.request,
        plan_first: task.plan_first,
        ledger,
    })
}

pub(super) async fn cancel_one(
    Extract(admin): Extract<Admin>,
    Path(id): Path<String>,
) -> Answer<Cancelled> {
    let id: TaskId = id.parse()?;
    let task = admin.control.store().task(id).await?;
    let cancelled = admin.control.cancel_tasks(task.workspace, Some(id), None, OPERATOR).await?;
    json(Cancelled { cancelled })
}

pub(super) async fn retry(
    Extract(admin): Extract<Admin>,
    Path(id): Path<String>,
) -> Answer<TaskView> {
    let id: TaskId = id.parse()?;
    // Each call is a wish of its own.
    let key = admin.control.store().clock.now().to_string();
    let task = admin.control.retry_task(id, &key).await?;
    let user = admin.control.store().user_of(task.workspace).await?;
    json(view(&task, user.name))
}

pub(super) async fn cancel(
    Extract(admin): Extract<Admin>,
    Path(name): Path<String>,
    Body(asked): Body<CancelTasks>,
) -> Answer<Cancelled> {
    let user = super::user(&admin, &name).await?;
    let cancelled = admin.control.cancel_tasks(user.workspace, asked.task, None, OPERATOR).await?;
    json(Cancelled { cancelled })
}

pub(super) async fn approvals(
    Extract(admin): Extract<Admin>,
    Path(name): Path<String>,
) -> Answer<Vec<ApprovalView>> {
    let user = super::user(&admin, &name).await?;
    let pending = admin.control.store().pending_approvals(user.workspace).await?;
    json(
        pending
            .into_iter()
            .map(|approval| ApprovalView {
                id: approval.id,
                chat: approval.chat,
                task: approval.task,
                title: approval.title,
                text: approval.text,
            })
            .collect(),
    )
}

pub(super) async fn answer(
    Extract(admin): Extract<Admin>,
    Path((name, approval)): Path<(String, String)>,
    Body(asked): Body<AnswerApproval>,
) -> Answer<HashMap<&'static str, ApprovalId>> {
    let user = super::user(&admin, &name).await?;
    let id: ApprovalId = approval.parse()?;
    admin.control.answer_approval(user.workspace, id, asked.answer, OPERATOR).await?;
    json(HashMap::from([("answered", id)]))
}
