//! What an executor may ask of the control plane.

use cloister_protocol::link::{Asked, Reply, Request};
use cloister_protocol::{Answer, TurnId};
use cloister_store::approvals::ApprovalState;
use cloister_store::tasks::{NewTask, Task};

use crate::cells::Admitted;
use crate::control::Control;
use crate::gates::{NewPlan, Proposed, Proposing};
use crate::tasks::{FileToSend, TaskError, TaskRefusal};

/// How deep sub-tasks may nest, and how many one task may have.
pub(super) const MAX_DEPTH: u32 = 2;
pub(super) const MAX_CHILDREN: usize = 10;
/// The longest plan that is put to a person.
const MAX_PLAN_BYTES: usize = 32 << 10;

/// What became of a request.
pub(super) enum Answered {
    Now(Reply),
    /// It waits for a person or a sub-task; the executor is let go meanwhile.
    Later,
}

pub(super) fn may_delegate(task: &Task) -> bool {
    task.depth < MAX_DEPTH
}

pub(super) async fn answer(
    control: &Control,
    task: &Task,
    request: &Request,
    plan_pending: bool,
) -> Answered {
    match try_answer(control, task, request, plan_pending).await {
        Ok(answered) => answered,
        Err(error) => {
            tracing::warn!(task = %task.id, request = %request.id, error = error.chain(), "a request was refused");
            Answered::Now(Reply::Refused { error: error.body() })
        }
    }
}

async fn try_answer(
    control: &Control,
    task: &Task,
    request: &Request,
    plan_pending: bool,
) -> Result<Answered, TaskError> {
    let leave = control.cells().admit_of_task(task, request, plan_pending).await?;
    match &request.ask {
        Asked::Delegate { title, instructions, .. } => {
            sub_task(control, task, (title, instructions), (request, leave)).await
        }
        Asked::SendFile { path, name } => {
            let file = FileToSend {
                chat: (task.workspace, task.chat),
                turn: TurnId::of_task(task.id),
                task: Some(task.id),
                path: path.clone(),
                name: name.clone(),
                request: (scope(task), request.id.to_string()),
            };
            Ok(Answered::Now(Reply::Sent { file: control.tasks().send_file(leave, file).await? }))
        }
        Asked::ProposePlan { plan } => propose_plan(control, leave, task, plan).await,
        Asked::Propose { what, path, text, why } => {
            let proposing = Proposing { what: *what, path, text, why };
            match control.gates().propose_from_task(leave, task, &proposing).await? {
                Proposed::Kept { path } => Ok(Answered::Now(Reply::Kept { path })),
                Proposed::Asked(_) => Ok(Answered::Later),
                Proposed::Refused(reason) => Err(TaskRefusal::ProposalRefused { reason }.into()),
            }
        }
        Asked::ListTasks | Asked::ShowTask { .. } | Asked::CancelTasks { .. } => {
            Err(TaskRefusal::OwnTaskOnly.into())
        }
    }
}

fn scope(task: &Task) -> String {
    format!("{}/{}", task.workspace, task.id)
}

async fn sub_task(
    control: &Control,
    task: &Task,
    (title, instructions): (&str, &str),
    (request, leave): (&Request, Admitted),
) -> Result<Answered, TaskError> {
    if !may_delegate(task) {
        return Err(TaskRefusal::TooDeep.into());
    }
    // A task that comes back for the report of its last sub-task asks for no new one.
    let made = control.store().tasks().delegated_before(&scope(task), request.id.as_str()).await?;
    if made.is_none() && control.store().tasks().children(task.id).await?.len() >= MAX_CHILDREN {
        return Err(TaskRefusal::TooManySubTasks.into());
    }
    let child = NewTask {
        workspace: task.workspace,
        chat: task.chat,
        person: task.person,
        parent: Some(task.id),
        turn: task.turn.clone(),
        title: title.to_owned(),
        instructions: instructions.to_owned(),
        request: task.request.clone(),
        files: task.files.clone(),
        // The person approved the parent's plan, if one was needed.
        plan_first: false,
        budget: task.budget,
        // A sub-task never goes further than its parent.
        hosts: task.hosts.clone(),
        secrets: task.secrets.clone(),
        // Its parent's come along by themselves.
        marks: Vec::new(),
    };
    let child = control.cells().new_task(leave, child, (&scope(task), request.id.as_str())).await?;
    if child.state.is_final() {
        return Ok(Answered::Now(Reply::Tasks { tasks: vec![child.report()] }));
    }
    if control.store().tasks().wait_for_children(task.id).await? {
        return Ok(Answered::Later);
    }
    // It ended between the two looks: its files are seen by who is launched after that, and asks again.
    control.store().tasks().requeue(task.id).await?;
    Ok(Answered::Later)
}

async fn propose_plan(
    control: &Control,
    leave: Admitted,
    task: &Task,
    plan: &str,
) -> Result<Answered, TaskError> {
    if plan.trim().is_empty() || plan.len() > MAX_PLAN_BYTES {
        return Err(TaskRefusal::NoPlan.into());
    }
    let approval = control.gates().ask_for_plan(leave, NewPlan { task, text: plan }).await?;
    match approval.state {
        ApprovalState::Pending => Ok(Answered::Later),
        ApprovalState::Allowed => Ok(Answered::Now(Reply::Answered { answer: Answer::Allow })),
        ApprovalState::Denied | ApprovalState::Void => {
            Ok(Answered::Now(Reply::Answered { answer: Answer::Deny }))
        }
    }
}
