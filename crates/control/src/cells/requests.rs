//! What a coordinator may ask of the control plane.

use cloister_policy::reach::CellRequest;
use cloister_protocol::link::{Asked, Cause, Reply, Request};
use cloister_protocol::{TaskId, TaskState, TurnId};
use cloister_store::Actor;
use cloister_store::tasks::{NewTask, Task};

use super::ChatKey;
use super::admission::{Admitted, OfTurn};
use crate::cells::{CellError, CellRefusal, Cells};
use crate::control::Control;
use crate::error::Fault;
use crate::gates::{Proposed, Proposing, mark_text};
use crate::limits::share;
use crate::tasks::ReachedTask;

/// How many ended tasks a list still shows.
const LISTED_TASKS: u32 = 20;
/// The longest title and instructions of a task, in bytes.
const MAX_TITLE: usize = 200;
const MAX_INSTRUCTIONS: usize = 64 << 10;

/// Carries out a request, or says why not. The turn it names must be one that is open here.
pub(super) async fn answer(control: &Control, chat: ChatKey, request: &Request) -> Reply {
    match try_answer(control, chat, request).await {
        Ok(reply) => reply,
        Err(error) => {
            tracing::warn!(workspace = %chat.0, chat = %chat.1, request = %request.id, error = error.chain(), "a request was refused");
            Reply::Refused { error: error.body() }
        }
    }
}

/// The answer to a request that came while too many others were carried out.
pub(super) fn too_many() -> Reply {
    Reply::Refused { error: CellError::from(CellRefusal::TooManyRequests).body() }
}

/// The answer to a request for a turn that has made as many as a turn may.
pub(super) fn too_many_of_turn() -> Reply {
    Reply::Refused { error: CellError::from(CellRefusal::TurnAsksTooMuch).body() }
}

/// The answer to a request for a turn that its coordinator was not handed.
pub(super) fn no_open_turn() -> Reply {
    Reply::Refused { error: CellError::from(CellRefusal::NoOpenTurn).body() }
}

async fn try_answer(
    control: &Control,
    chat: ChatKey,
    request: &Request,
) -> Result<Reply, CellError> {
    let admitted = control.cells().admit_of_turn(chat, request).await?;
    match &request.ask {
        Asked::Delegate { .. } => delegate(control, admitted, request).await,
        Asked::ListTasks => {
            let store = control.store();
            let place = store.chats().place_of_chat(chat.0, chat.1).await?;
            let tasks = store.tasks().tasks_in_place(chat.0, &place, LISTED_TASKS).await?;
            Ok(tell_tasks(control, chat, &tasks).await?)
        }
        Asked::ShowTask { .. } => {
            let task = admitted.task.map(ReachedTask::into_task);
            Ok(tell_tasks(control, chat, task.as_slice()).await?)
        }
        Asked::CancelTasks { .. } => {
            let actor = &Actor::cell(chat.0);
            let tasks = match &admitted.task {
                Some(task) => control.tasks().cancel_task(actor, task).await?,
                None => control.tasks().cancel_tasks(actor, chat.0, Some(chat.1)).await?,
            };
            Ok(Reply::Cancelled { tasks })
        }
        Asked::SendFile { path, name } => {
            let file = crate::tasks::FileToSend {
                chat,
                turn: TurnId::of_message(admitted.row.id),
                task: None,
                path: path.clone(),
                name: name.clone(),
                request: (scope(chat), request.id.to_string()),
            };
            Ok(Reply::Sent { file: control.tasks().send_file(admitted.leave, file).await? })
        }
        Asked::Propose { what, path, text, why } => {
            let proposing = Proposing { what: *what, path, text, why };
            match control
                .gates()
                .propose_from_turn(admitted.leave, &admitted.row, &proposing)
                .await?
            {
                Proposed::Kept { path } => Ok(Reply::Kept { path }),
                // A turn does not wait for people.
                Proposed::Asked(approval) => {
                    Err(CellRefusal::PersonIsAsked { approval: approval.id }.into())
                }
                Proposed::Refused(reason) => Err(CellRefusal::ProposalRefused { reason }.into()),
            }
        }
        Asked::ProposePlan { .. } => Err(CellRefusal::NoPlanOfCoordinators.into()),
    }
}

/// Whose requests these are: the same id of another chat's coordinator is another request.
fn scope((workspace, chat): ChatKey) -> String {
    format!("{workspace}-{chat}")
}

async fn delegate(
    control: &Control,
    admitted: OfTurn,
    request: &Request,
) -> Result<Reply, CellError> {
    let OfTurn { leave, row, person, task: _ } = admitted;
    let Asked::Delegate { title, instructions, risky, hosts, secrets } = &request.ask else {
        return Err(CellRefusal::NothingToDelegate.into());
    };
    let marks = control.provenance().heard_by(&row).await?;
    let (chat, row_id) = ((row.workspace, row.chat), row.id);
    let (words, files) = match row.cause {
        Cause::Message { text, attachments, .. } => (text, attachments),
        Cause::TasksEnded { .. } | Cause::Clear => (String::new(), Vec::new()),
    };
    let plan_first = *risky
        || policy_says_risky(&words)
        || (words.is_empty() && policy_says_risky(instructions));
    let task = NewTask {
        workspace: chat.0,
        chat: chat.1,
        person,
        parent: None,
        turn: TurnId::of_message(row_id),
        title: title.clone(),
        instructions: instructions.clone(),
        request: words,
        files,
        plan_first,
        budget: control.store().users().user_of(chat.0).await?.limits.task_budget,
        hosts: crate::egress::checked_hosts(hosts.as_deref())?,
        secrets: secrets.clone(),
        marks: marks.iter().map(mark_text).collect(),
    };
    let task = control.cells().new_task(leave, task, (&scope(chat), request.id.as_str())).await?;
    Ok(Reply::Delegated { task: task.id, state: task.state })
}

/// Shows tasks to a coordinator: what they have read is in its chat from then on.
async fn tell_tasks(
    control: &Control,
    (workspace, chat): ChatKey,
    tasks: &[Task],
) -> Result<Reply, Fault> {
    let ids: Vec<TaskId> = tasks.iter().map(|task| task.id).collect();
    control.store().approvals().told_in_chat(workspace, chat, &ids).await?;
    Ok(Reply::Tasks { tasks: tasks.iter().map(Task::report).collect() })
}

fn policy_says_risky(words: &str) -> bool {
    matches!(cloister_policy::of_request(words), cloister_policy::Risk::Risky { .. })
}

impl Cells {
    /// Queues a task within the limits of its workspace, and of its person there.
    pub(crate) async fn new_task(
        &self,
        leave: Admitted,
        mut task: NewTask,
        (scope, request): (&str, &str),
    ) -> Result<Task, CellError> {
        leave.to(CellRequest::Delegate)?;
        if task.instructions.trim().is_empty() {
            return Err(CellRefusal::NoInstructions.into());
        }
        if task.instructions.len() > MAX_INSTRUCTIONS {
            return Err(CellRefusal::InstructionsTooLong.into());
        }
        task.title = short_title(&task);
        // Asked again, it is not a new one that the limit could refuse.
        if let Some(made) = self.control.store().tasks().delegated_before(scope, request).await? {
            return Ok(made);
        }
        let open = self.control.store().tasks().open_tasks(task.workspace).await?;
        let most = self.control.work().max_open_tasks;
        let ownership = self.control.people().place(task.workspace).await?.ownership;
        let own = open.iter().filter(|open| open.person == task.person).count();
        if let Some(open) = [(open.len(), most), (own, share(ownership, most))]
            .into_iter()
            .find_map(|(open, most)| (open >= most).then_some(open))
        {
            return Err(CellRefusal::TooManyTasks { open }.into());
        }
        let task = self.control.store().tasks().delegate(task, scope, request).await?;
        // What it came from is in the chat's files from now on.
        self.control.gates().forget_chat(task.workspace, task.chat);
        if task.state == TaskState::Queued {
            self.control.tasks().tell_task(&task, "queued");
            self.control.tasks().look();
        }
        Ok(task)
    }
}

fn short_title(task: &NewTask) -> String {
    let source = if task.title.trim().is_empty() { &task.instructions } else { &task.title };
    let line = source.trim().lines().next().unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(MAX_TITLE / 4).collect()
}
