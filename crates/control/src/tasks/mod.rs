//! Tasks: the queue, the executors that work on it, cancelling.
//!
//! A task that waits (for a person or for sub-tasks) has no sandbox: it is launched again from its
//! ledger when what it waits for has come.

mod budgets;
mod error;
mod reach;
mod requests;
mod runner;
mod sending;
mod shown;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cloister_policy::legible;
use cloister_protocol::{AgentFrame, ChatId, TaskId, TaskState, Update, WorkspaceId, with_causes};
use cloister_store::Actor;
use cloister_store::audit::Entry;
use cloister_store::tasks::{Ending, NewTask, Task};
use ref_cast::RefCast as _;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::cells::Poke;
use crate::control::part;
use crate::crew::Rounds;
use crate::error::Fault;
use crate::layers::Layers;
use crate::ports::Sandbox;

pub use error::{TaskError, TaskRefusal};
pub(crate) use reach::ReachedTask;
pub(crate) use sending::{FileToSend, random_name};

/// How often queued tasks are looked at without a reason.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// A task that has an executor.
struct Running {
    workspace: WorkspaceId,
    cancel: CancellationToken,
    /// Its state says already that it waits: the attempt is to end.
    parked: CancellationToken,
    /// Once it is launched.
    sandbox: Option<Arc<dyn Sandbox>>,
}

/// What is known of tasks in memory.
#[derive(Default)]
pub(crate) struct RunningTasks {
    /// Something may have become startable.
    signal: Notify,
    running: Mutex<HashMap<TaskId, Running>>,
}

impl RunningTasks {
    fn running(&self) -> MutexGuard<'_, HashMap<TaskId, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

part! {
    /// The tasks: the queue, their executors, who may reach them and what they may spend.
    pub struct Tasks;
}

impl Tasks {
    /// What tasks do to the files of their chats, until it lands.
    pub fn layers(&self) -> &Layers {
        Layers::ref_cast(&self.control)
    }

    /// Something may have become startable.
    pub(crate) fn look(&self) {
        self.control.inner.tasks.signal.notify_one();
    }

    /// Executors that run now.
    pub fn running_executors(&self) -> usize {
        self.control.inner.tasks.running().len()
    }

    pub(crate) fn is_running(&self, task: TaskId) -> bool {
        self.control.inner.tasks.running().contains_key(&task)
    }

    /// The workspaces in which executors run.
    pub(crate) fn busy_workspaces(&self) -> BTreeSet<WorkspaceId> {
        let running = self.control.inner.tasks.running();
        running.values().map(|running| running.workspace).collect()
    }

    /// The sandboxes of a workspace's executors.
    pub(crate) fn sandboxes_of(&self, workspace: WorkspaceId) -> Vec<Arc<dyn Sandbox>> {
        let running = self.control.inner.tasks.running();
        let of_workspace = running.values().filter(|running| running.workspace == workspace);
        of_workspace.filter_map(|running| running.sandbox.clone()).collect()
    }

    /// Lets every attempt end; the sandboxes of those that were launched, one for each that runs.
    pub(crate) fn give_up_all(&self) -> Vec<Option<Arc<dyn Sandbox>>> {
        let running = self.control.inner.tasks.running();
        let ended = running.values().map(|running| {
            running.cancel.cancel();
            running.sandbox.clone()
        });
        ended.collect()
    }

    /// Starts queued tasks as long as there is room for executors.
    pub(crate) async fn schedule_tasks(&self, rounds: &Rounds) {
        let mut day = String::new();
        loop {
            rounds.begins(LOOK_EVERY);
            self.begin_day(&mut day).await;
            while self.control.inner.tasks.running().len()
                < self.control.inner.parts.cells.executors
                && !self.control.closing()
                && !self.control.stops().is_stopped()
            {
                match self.control.store().tasks().start_next().await {
                    Ok(Some(task)) if self.control.inner.tasks.running().contains_key(&task.id) => {
                        // Its last attempt is still being cleared away; that end signals.
                        if let Err(error) = self.control.store().tasks().unstart(task.id).await {
                            tracing::error!(
                                error = with_causes(&error),
                                "a task could not be put back"
                            );
                        }
                        break;
                    }
                    Ok(Some(task)) => self.run_task(task),
                    Ok(None) => break,
                    Err(error) => {
                        let error = Fault::from(error);
                        tracing::error!(error = error.chain(), "the task queue could not be read");
                        break;
                    }
                }
            }
            tokio::select! {
                () = self.control.inner.stop.cancelled() => return,
                () = self.control.inner.tasks.signal.notified() => {}
                // A look without a reason, in case a signal was missed.
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    fn run_task(&self, task: Task) {
        let cancel = self.control.inner.stop.child_token();
        let running = Running {
            workspace: task.workspace,
            cancel: cancel.clone(),
            parked: CancellationToken::new(),
            sandbox: None,
        };
        self.control.inner.tasks.running().insert(task.id, running);
        let control = self.control.clone();
        self.control.inner.crew.go("task", async move {
            let id = task.id;
            // A stop looks at what runs after it is in force: this one is seen by it, or sees it.
            if control.stops().is_stopped() {
                if let Err(error) = control.store().tasks().unstart(id).await {
                    tracing::error!(error = with_causes(&error), "a task could not be put back");
                }
            } else {
                self::runner::run(&control, task, cancel).await;
            }
            control.inner.tasks.running().remove(&id);
            control.gates().forget(id).await;
            control.inner.tasks.signal.notify_one();
        });
    }

    /// Cancels an open task with its sub-tasks. Answers with those that were open.
    pub async fn cancel_task(
        &self,
        actor: &Actor,
        reached: &ReachedTask,
    ) -> Result<Vec<TaskId>, TaskError> {
        let (id, workspace) = (reached.task().id, reached.task().workspace);
        let open = self.control.store().tasks().open_tasks(workspace).await?;
        let meant = |task: &&Task| task.id == id || descends_from(task, id, &open);
        let cancelled = self.cancel_each(actor, open.iter().filter(meant)).await?;
        if cancelled.is_empty() {
            return Err(TaskRefusal::NotOpen { id }.into());
        }
        Ok(cancelled)
    }

    /// Cancels every open task of a chat, or of the whole workspace. Answers with those that were open.
    pub async fn cancel_tasks(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        chat: Option<ChatId>,
    ) -> Result<Vec<TaskId>, Fault> {
        let open = self.control.store().tasks().open_tasks(workspace).await?;
        let meant = |task: &&Task| chat.is_none_or(|chat| task.chat == chat);
        self.cancel_each(actor, open.iter().filter(meant)).await
    }

    async fn cancel_each(
        &self,
        actor: &Actor,
        tasks: impl Iterator<Item = &Task> + Send,
    ) -> Result<Vec<TaskId>, Fault> {
        let mut cancelled = Vec::new();
        for task in tasks {
            let ending = Ending {
                state: TaskState::Cancelled,
                result: format!("cancelled by {}", actor.shown()),
                not_shown: Vec::new(),
                known_to_person: true,
            };
            if self.end_task(task.id, ending).await? {
                cancelled.push(task.id);
            }
        }
        Ok(cancelled)
    }

    /// Queues a task that failed or was cancelled once more, as a new task with an empty ledger. Its
    /// end is told in the same chat.
    pub async fn retry_task(
        &self,
        actor: &Actor,
        reached: ReachedTask,
        key: &str,
    ) -> Result<Task, TaskError> {
        let old = reached.into_task();
        let id = old.id;
        match old.state {
            TaskState::Failed | TaskState::Cancelled if old.parent.is_none() => {}
            TaskState::Failed | TaskState::Cancelled => {
                return Err(TaskRefusal::RetrySubTask { id }.into());
            }
            state @ (TaskState::Queued
            | TaskState::Running
            | TaskState::Waiting
            | TaskState::Done) => {
                return Err(TaskRefusal::RetryLive { id, state }.into());
            }
        }
        let again = NewTask {
            workspace: old.workspace,
            chat: old.chat,
            person: old.person,
            parent: None,
            turn: old.turn,
            title: old.title,
            instructions: old.instructions,
            request: old.request,
            files: old.files,
            plan_first: old.plan_first,
            budget: self.control.store().users().user_of(old.workspace).await?.limits.task_budget,
            hosts: old.hosts,
            secrets: old.secrets,
            marks: self.control.store().approvals().task_content(id).await?.marks,
        };
        let entry = Entry::new(actor, "task.retry", id).of_workspace(old.workspace);
        self.control.store().audit().record(entry).await?;
        let leave = self.control.cells().admit_by_command(old.person, (old.workspace, old.chat));
        Ok(self
            .control
            .cells()
            .new_task(leave.await?, again, (&format!("retry {id}"), key))
            .await?)
    }

    /// Ends a task once: stores it, stops its executor, tells whoever looks and wakes who waits.
    pub(crate) async fn end_task(&self, id: TaskId, ending: Ending) -> Result<bool, Fault> {
        let ending = self.layers().say_kept(id, ending).await;
        let ended = self.control.store().tasks().end_task(id, ending).await?;
        let sandbox = {
            let running = self.control.inner.tasks.running();
            let found = running.get(&id);
            if let Some(running) = found {
                running.cancel.cancel();
            }
            found.and_then(|running| running.sandbox.clone())
        };
        if let Some(sandbox) = sandbox {
            sandbox.kill().await;
        }
        let Some(ended) = ended else { return Ok(false) };
        if let Err(error) = self.control.tasks().layers().set_aside(&ended.task).await {
            tracing::error!(task = %id, error = error.chain(), "what a task did could not be set aside");
        }
        self.control.gates().forget_chat(ended.task.workspace, ended.task.chat);
        self.control.metrics().task_ended(ended.task.state.as_str());
        let ms = ended.task.ended_at.map(|at| at.saturating_sub(ended.task.created_at));
        tracing::info!(
            workspace = %ended.task.workspace,
            chat = %ended.task.chat,
            turn = %ended.task.turn,
            task = %id,
            outcome = ended.task.state.as_str(),
            ms,
            "a task ended"
        );
        self.tell_task(&ended.task, &ended.task.result);
        if ended.woke.is_some() {
            self.control.cells().poke((ended.task.workspace, ended.task.chat), Poke::Inbox);
        }
        self.control.inner.tasks.signal.notify_one();
        Ok(true)
    }

    /// Shows a task's state to whoever looks at its chat.
    pub(crate) fn tell_task(&self, task: &Task, note: &str) {
        let update = Update::Task {
            task: task.id,
            title: task.title.clone(),
            state: task.state,
            note: legible(note).chars().take(500).collect(),
            parent: task.parent,
            told: false,
        };
        self.control.hub().say(task.workspace, task.chat, AgentFrame::Update(update), None);
    }
}

fn descends_from(task: &Task, ancestor: TaskId, open: &[Task]) -> bool {
    let mut parent = task.parent;
    while let Some(id) = parent {
        if id == ancestor {
            return true;
        }
        parent = open.iter().find(|task| task.id == id).and_then(|task| task.parent);
    }
    false
}
