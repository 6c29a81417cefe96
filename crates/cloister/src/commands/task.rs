//! `cloister task`.

use cloister_protocol::admin::{
    AnswerApproval, ApprovalView, CancelTasks, Cancelled, FileChangeView, TaskDetail, TaskFiles,
    TaskView, UndoTask, UndoView,
};
use cloister_protocol::link::Step;
use cloister_protocol::{Answer, ApprovalId};

use super::{Context, ask};
use crate::args::{ForUser, Task};
use crate::output::{CliError, table};

pub(super) async fn run(context: Context, command: Task) -> Result<(), CliError> {
    match command {
        Task::List { user, open } => list(context, user, open).await,
        Task::Show { task } => {
            let detail: TaskDetail =
                context.client().await?.get(&format!("/admin/v1/tasks/{task}")).await?;
            context.output.result(&detail, || show(&detail))
        }
        Task::Cancel { task, all: _, user } => {
            let client = context.client().await?;
            let cancelled: Cancelled = match task {
                Some(task) => client.post(&format!("/admin/v1/tasks/{task}/cancel"), &()).await?,
                None => {
                    let user = client.user(user.user.as_ref()).await?;
                    let path = format!("/admin/v1/users/{user}/tasks/cancel");
                    client.post(&path, &CancelTasks::default()).await?
                }
            };
            context.output.result(&cancelled, || {
                let ids: Vec<String> =
                    cancelled.cancelled.iter().map(ToString::to_string).collect();
                if ids.is_empty() {
                    "nothing was open".to_owned()
                } else {
                    format!("cancelled {}", ids.join(", "))
                }
            })
        }
        Task::Retry { task } => {
            let path = format!("/admin/v1/tasks/{task}/retry");
            let again: TaskView = context.client().await?.post(&path, &()).await?;
            context.output.result(&again, || format!("{task} is tried again as {}", again.id))
        }
        Task::Diff { task } => {
            let path = format!("/admin/v1/tasks/{task}/files");
            let files: TaskFiles = context.client().await?.get(&path).await?;
            context.output.result(&files, || differences(&files))
        }
        Task::Keep { task } => {
            let path = format!("/admin/v1/tasks/{task}/keep");
            let kept: Vec<FileChangeView> = context.client().await?.post(&path, &()).await?;
            context.output.result(&kept, || {
                format!("in the chat's files now:\n{}", file_lines(&kept).join("\n"))
            })
        }
        Task::Drop { task } => {
            let path = format!("/admin/v1/tasks/{task}/drop");
            let left: TaskFiles = context.client().await?.post(&path, &()).await?;
            context.output.result(&left, || format!("what {task} did to files is gone"))
        }
        Task::Undo { task, dry_run } => {
            let path = format!("/admin/v1/tasks/{task}/undo");
            let undone: UndoView =
                context.client().await?.post(&path, &UndoTask { dry_run }).await?;
            context.output.result(&undone, || undo_lines(&undone, dry_run))
        }
        Task::Approvals { user } => approvals(context, user).await,
        Task::Approve { user, approval, for_task, always } => {
            let given = match (for_task, always) {
                (true, _) => Answer::AllowForTask,
                (false, true) => Answer::AllowAlways,
                (false, false) => Answer::Allow,
            };
            answer(context, user, approval, given).await
        }
        Task::Deny { user, approval, stop } => {
            let given = if stop { Answer::DenyAndStop } else { Answer::Deny };
            answer(context, user, approval, given).await
        }
    }
}

fn file_lines(files: &[FileChangeView]) -> Vec<String> {
    let line = |file: &FileChangeView| {
        let beside = file.beside.as_ref().map(|beside| format!(" -> {beside}")).unwrap_or_default();
        let undone = if file.undone { ", taken back" } else { "" };
        let runs = file.runs.as_ref().map(|by| format!(", {by}")).unwrap_or_default();
        let held = if file.held { ", waits for a yes: `cloister task keep`" } else { "" };
        format!("{:8} {}{beside} ({} bytes{undone}{runs}{held})", file.change, file.path, file.size)
    };
    files.iter().map(line).collect()
}

fn differences(files: &TaskFiles) -> String {
    if files.files.is_empty() && files.documents.is_empty() && files.left_out.is_empty() {
        return format!("{} has changed no files", files.task);
    }
    let mut lines = vec![format!("{}: {}", files.task, standing(&files.state))];
    lines.extend(file_lines(&files.files));
    lines.extend(files.left_out.iter().map(|what| format!("left out {what}")));
    lines.extend(files.stayed.iter().map(|path| format!("stayed   {path} (changed meanwhile)")));
    lines.extend(files.documents.iter().map(|one| format!("{:8} {}", one.change, one.path)));
    lines.extend(files.outward.iter().map(|what| format!("is out   {what} (can't be undone)")));
    for file in &files.files {
        if let Some(diff) = &file.diff {
            lines.push(format!("\n--- {0}\n+++ {0}\n{1}", file.path, diff.trim_end()));
        }
    }
    lines.extend(files.documents.iter().map(|one| format!("\n{}", one.diff.trim_end())));
    lines.join("\n")
}

fn standing(state: &str) -> &'static str {
    match state {
        "open" | "landing" => "not in the chat's files yet",
        "kept" => "not put into the chat's files; `cloister task keep` does that",
        "undone" => "taken back; `cloister task undo` brings it back",
        _ => "in the chat's files",
    }
}

fn undo_lines(undone: &UndoView, dry_run: bool) -> String {
    let nothing = undone.files.is_empty() && undone.documents.is_empty();
    let first = match (nothing, dry_run, undone.again) {
        (true, _, _) => "nothing could be taken back",
        (false, true, false) => "this would be taken back:",
        (false, true, true) => "this would be there again:",
        (false, false, false) => "taken back:",
        (false, false, true) => "there again:",
    };
    let mut lines = vec![first.to_owned()];
    lines.extend(file_lines(&undone.files));
    lines.extend(undone.documents.iter().map(|one| format!("{:8} {}", one.change, one.path)));
    let stays = undone.collides.iter();
    lines.extend(stays.map(|path| format!("stays    {path} (changed by somebody since)")));
    lines.extend(undone.outward.iter().map(|what| format!("is out   {what} (can't be undone)")));
    lines.join("\n")
}

async fn list(context: Context, user: ForUser, open: bool) -> Result<(), CliError> {
    let user = user.user.map(|name| format!("user={name}&")).unwrap_or_default();
    let tasks: Vec<TaskView> =
        context.client().await?.get(&format!("/admin/v1/tasks?{user}open={open}")).await?;
    context.output.result(&tasks, || {
        let rows: Vec<Vec<String>> = tasks
            .iter()
            .map(|task| {
                vec![
                    task.id.to_string(),
                    task.user.to_string(),
                    task.chat.to_string(),
                    task.state.as_str().to_owned(),
                    format!("${:.4}", task.spent_usd),
                    task.title.clone(),
                ]
            })
            .collect();
        table(&["TASK", "USER", "CHAT", "STATE", "COST", "TITLE"], &rows)
    })
}

async fn approvals(context: Context, user: ForUser) -> Result<(), CliError> {
    let client = context.client().await?;
    let user = client.user(user.user.as_ref()).await?;
    let pending: Vec<ApprovalView> =
        client.get(&format!("/admin/v1/users/{user}/approvals")).await?;
    context.output.result(&pending, || {
        let texts: Vec<String> = pending.iter().map(waiting).collect();
        if texts.is_empty() { "nothing waits for an answer".to_owned() } else { texts.join("\n\n") }
    })
}

/// A question, who has answered it, and the commands that do.
fn waiting(view: &ApprovalView) -> String {
    let mut text = ask::words(&ask::of_view(view));
    for given in &view.answers {
        text.push_str(&format!("\n  {} {}", given.by, given.answer.deed()));
    }
    let id = view.id;
    text.push_str(&format!("\n  answer with `cloister task approve {id}"));
    let has = |answer: Answer| view.offered.contains(&answer);
    match (has(Answer::AllowForTask), has(Answer::AllowAlways)) {
        (true, true) => text.push_str(" [--for-task | --always]"),
        (true, false) => text.push_str(" [--for-task]"),
        (false, true) => text.push_str(" [--always]"),
        (false, false) => {}
    }
    let stop = if has(Answer::DenyAndStop) { " [--stop]" } else { "" };
    text.push_str(&format!("` or `cloister task deny {id}{stop}`"));
    text
}

async fn answer(
    context: Context,
    user: ForUser,
    id: ApprovalId,
    answer: Answer,
) -> Result<(), CliError> {
    let client = context.client().await?;
    let user = client.user(user.user.as_ref()).await?;
    let pending: Vec<ApprovalView> =
        client.get(&format!("/admin/v1/users/{user}/approvals")).await?;
    // The answer is to what the list showed. One that is not there is the control plane's to refuse.
    let asked = pending.into_iter().find(|asked| asked.id == id);
    let digest = asked.map(|asked| asked.digest).filter(|digest| !digest.is_empty());
    let path = format!("/admin/v1/users/{user}/approvals/{id}");
    let answered: serde_json::Value =
        client.post(&path, &AnswerApproval { answer, digest }).await?;
    context.output.result(&answered, || format!("{id} answered: you {}", answer.deed()))
}

fn show(detail: &TaskDetail) -> String {
    let task = &detail.task;
    let mut lines = vec![
        format!(
            "{} {} ({}, {} of {})",
            task.id,
            task.title,
            task.state.as_str(),
            task.chat,
            task.user
        ),
        format!("cost ${:.4}, made {}", task.spent_usd, task.created_at),
        format!("instructions: {}", detail.instructions),
    ];
    lines.extend(detail.ledger.iter().map(step));
    if !task.result.is_empty() {
        lines.push(format!("result: {}", task.result));
    }
    lines.extend(task.not_shown.iter().map(|what| format!("not shown by the record: {what}")));
    lines.join("\n")
}

fn step(step: &Step) -> String {
    match step {
        Step::Answer { text, calls } => {
            let calls: Vec<String> = calls
                .iter()
                .map(|call| format!("\n  wants {} {}", call.name, call.arguments))
                .collect();
            format!("- model: {text}{}", calls.concat())
        }
        Step::Call { call } => format!("- runs {call}"),
        Step::Result { call, outcome } => {
            let output: String = outcome.output.chars().take(400).collect();
            format!("- {call} {:?}: {output}", outcome.status)
        }
    }
}
