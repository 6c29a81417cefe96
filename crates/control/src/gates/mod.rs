//! The gate before whatever leaves a sandbox or outlives it.
//!
//! Owns: what the control plane knows of each running task's content, when people are asked, what
//! their answers cover, and the record of what passed. Promises: nothing that must be asked happens
//! before it was answered, whatever is restarted; what passes is recorded before it happens, and not
//! at all if that fails; content is marked before a sandbox gets it; an answer is bound to exactly
//! what was seen.
//!
//! # What is decided where
//!
//! | what | when | if a person must be asked |
//! |---|---|---|
//! | a request to a host outside, and each secret on it | at the broker, before it leaves | the request is held for `[gates] hold_s`; then it is refused, and the task is parked after the call that made it |
//! | a tool call of an executor | before its step is journaled | the task is parked; the call is made again after the answer |
//! | a lasting change (memory, skills, schedules, settings, tools) | when it is proposed | a task is parked; a coordinator goes on, and the change is made when it is allowed |
//! | a plan | when it is proposed | the task is parked |
//!
//! A parked task has no sandbox and no executor; others go on. Its executor starts again from the
//! ledger when the answer has come, and is told of it.
//!
//! # Which tool calls still ask inside of a sandbox
//!
//! A tool call runs where the broker is the only way out, on a layer over the chat's files whose landing can be
//! taken back. So none of them asks by itself, whoever's content is in the task: deleting, overwriting, throwing
//! commits away, installing, building. Operators' policies may still ask, and the default ones do where there is
//! no layer:
//!
//! - *destructive* commands (deleting, emptying, throwing commits away): the files of the chat are the
//!   person's, and the one thing in the sandbox that outlives it;
//! - *middle* commands (installs, settings): what is installed runs later with whatever the task then
//!   holds; asked once, then remembered.
//!
//! *Outward* commands (push, publish, upload, mail) are not asked about as commands: the broker holds
//! the request that they make, and shows exactly what would leave; asked twice, one action would be
//! two questions. *Unknown* (code, programs that nobody has judged) runs: writing and running code is what an executor
//! is for, what it sends out is held at the broker, what it spoils is on its layer. The tools
//! that read, and those that write or edit a file in place, run. A command that stands in a plan which
//! the person has approved, on lines of its own or in backticks, was approved with it.
//!
//! What the person sent (`incoming/`) is writable in no sandbox, whatever was allowed. A call that would
//! change it is refused and told to work on a copy; a command that does nothing but delete files of it,
//! each written out, is asked about every time, and then carried out by the control plane: it is on no layer, and
//! can't be taken back.
//!
//! # What an answer opens
//!
//! Exactly what was shown: this effect once, this effect in this task, or its template. No answer changes
//! a mount, a rule or a list of hosts for what runs later. The one mode there is, is the other way round:
//! a task that must plan first has less than any other (nothing to write to, reading only) until its plan
//! is approved, and what every task has afterwards.
//!
//! The order is: what the context allows, what the manifest allows, what the sandbox lets it do, the
//! gate; and every call is in the audit trail, in the transaction of its step.

mod answering;
mod asking;
mod calls;
mod content;
mod error;
mod held;
mod outward;
mod pace;
mod plans;
mod proposals;
mod reasons;
mod sent;
mod waiting;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cloister_policy::provenance::Labels;
use cloister_protocol::{ChatId, TaskId, UserId, WorkspaceId};
use cloister_store::audit::Entry;
use tokio::sync::watch;

pub(crate) use asking::{Judged, Wanted};
pub(crate) use calls::CallGate;
pub(crate) use content::Provenance;
pub(crate) use content::{mark_text, quoted};
pub use error::{GateError, GateRefusal};
pub(crate) use held::{ToLand, ask_to_land};
pub(crate) use plans::NewPlan;
pub(crate) use proposals::{Proposed, Proposing};
pub use reasons::reason_in;

use content::Live;
use pace::TrailPace;

use crate::control::part;
use crate::error::Fault;
use crate::options::GateOptions;

/// The marks of so many chats are kept at hand; beyond that they are read again.
const MAX_CHATS: usize = 4096;

part! {
    /// The gates: what asks people, and what may happen unasked.
    pub struct Gates;
}

/// What the gates hold in memory. All of it can be read again from the store.
pub(crate) struct GateState {
    tasks: Mutex<HashMap<TaskId, Arc<tokio::sync::Mutex<Option<Live>>>>>,
    /// The labels of the files of chats.
    chats: Mutex<HashMap<(WorkspaceId, ChatId), Labels>>,
    /// Counts the marks of chats, so that none is missed between reading them and keeping them.
    marked: AtomicU64,
    /// Tasks one of whose requests was refused because nobody has answered yet.
    unanswered: Mutex<HashSet<TaskId>>,
    /// Changes with every answer.
    answers: watch::Sender<u64>,
    pace: TrailPace,
}

impl GateState {
    pub(crate) fn new(options: &GateOptions) -> Self {
        Self {
            tasks: Mutex::default(),
            chats: Mutex::default(),
            marked: AtomicU64::new(0),
            unanswered: Mutex::default(),
            answers: watch::channel(0).0,
            pace: TrailPace::new(options),
        }
    }

    fn forget(&self, task: TaskId) {
        lock(&self.tasks).remove(&task);
        lock(&self.unanswered).remove(&task);
    }

    fn forget_chat(&self, workspace: WorkspaceId, chat: ChatId) {
        let mut chats = lock(&self.chats);
        self.marked.fetch_add(1, Ordering::SeqCst);
        chats.remove(&(workspace, chat));
    }

    /// A request of the task was refused for want of an answer.
    fn note_unanswered(&self, task: TaskId) {
        lock(&self.unanswered).insert(task);
    }

    fn take_unanswered(&self, task: TaskId) -> bool {
        lock(&self.unanswered).remove(&task)
    }

    fn answered(&self) {
        self.answers.send_modify(|count| *count = count.wrapping_add(1));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Gates {
    /// An attempt at a task is over; the next one reads again what is recorded.
    pub(crate) async fn forget(&self, task: TaskId) {
        self.control.inner.gates.forget(task);
        self.record_uncounted().await;
    }

    /// Puts into the audit trail how much was denied without an entry of its own.
    async fn record_uncounted(&self) {
        for (of, denials) in self.control.inner.gates.pace.take_uncounted() {
            let detail = format!("{denials} more were denied");
            let entry = denial(of).with(&detail);
            if let Err(error) = self.control.store().audit().record(entry).await {
                let error = Fault::from(error);
                tracing::error!(workspace = %of.0, detail, error = error.chain(), "what was denied is not in the audit trail");
            }
        }
    }

    /// Puts into the audit trail what was denied; beyond a burst only how much it was.
    async fn record_denied(
        &self,
        asker: (UserId, WorkspaceId, Option<TaskId>),
        what: &str,
    ) -> Result<(), Fault> {
        let (user, of) = (asker.0, (asker.1, asker.2));
        let Some(before) = self.control.inner.gates.pace.denied(user, of) else { return Ok(()) };
        let entry = denial(of).with(match before {
            0 => what.to_owned(),
            before => format!("{what} ({before} more were denied before)"),
        });
        Ok(self.control.store().audit().record(entry).await?)
    }

    /// What is recorded of a chat has changed elsewhere.
    pub(crate) fn forget_chat(&self, workspace: WorkspaceId, chat: ChatId) {
        self.control.inner.gates.forget_chat(workspace, chat);
    }

    /// Whether a request of the task was refused for want of an answer, since this was last asked.
    pub(crate) fn take_unanswered(&self, task: TaskId) -> bool {
        self.control.inner.gates.take_unanswered(task)
    }
}

fn denial((workspace, task): (WorkspaceId, Option<TaskId>)) -> Entry {
    let subject = task.map_or_else(|| workspace.to_string(), |task| task.to_string());
    Entry::of_cell((workspace, task), "gate.deny", subject)
}

#[cfg(test)]
#[path = "gates_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "everyday_tests.rs"]
mod everyday_tests;
