//! The one check before anything that a cell asks for has an effect: its row in the table of requests, what it
//! names in the control plane's own records, and the action that the policies must allow.
//!
//! Who asks is known from the door and never from what is said through it. What lies further away than the
//! row allows is answered like what is not there.

use cloister_policy::engine::{Cell, CellAsk, CellCall, Known, Part, Request as Question};
use cloister_policy::reach::{Asker, CellRequest, Distance, Names, Needs};
use cloister_protocol::link::{Asked, Request};
use cloister_protocol::{ChatId, TaskId, UserId};
use cloister_store::inbox::{InboxItem, InboxState};
use cloister_store::tasks::Task;

use super::ChatKey;
use crate::cells::{CellError, CellRefusal, Cells};
use crate::tasks::ReachedTask;

/// A request of a cell that may be carried out: whatever does so takes it. Only the check makes one.
#[derive(Debug)]
pub(crate) struct Admitted {
    kind: CellRequest,
}

impl Admitted {
    /// Uses the leave up, for what it was given for.
    pub(crate) fn to(self, kind: CellRequest) -> Result<(), CellRefusal> {
        if self.kind == kind {
            return Ok(());
        }
        Err(CellRefusal::OtherAdmitted { admitted: self.kind, done: kind })
    }
}

/// A coordinator's request that may be carried out.
pub(crate) struct OfTurn {
    pub(crate) leave: Admitted,
    /// The open turn of its chat that it is for.
    pub(super) row: InboxItem,
    /// Whom that works for.
    pub(super) person: UserId,
    /// The task that it names, found within its reach.
    pub(super) task: Option<ReachedTask>,
}

impl Cells {
    /// Admits a request of a chat's coordinator.
    pub(crate) async fn admit_of_turn(
        &self,
        chat: ChatKey,
        request: &Request,
    ) -> Result<OfTurn, CellError> {
        let kind = CellRequest::of_asked(&request.ask);
        let reach = kind.row().reach(Asker::Coordinator);
        // What is not for a coordinator at all does not even reach its own chat.
        if !reach.covers(Distance::OwnChat) {
            return Err(CellRefusal::NotForCoordinators(kind).into());
        }
        let row = self.open_turn(chat, request).await?;
        let person = self.control.provenance().person_of(&row).await?;
        let task = match named_task(&request.ask) {
            Some(id) => Some(self.control.tasks().task_within(chat, reach, id).await?),
            None => None,
        };
        let cell = self.control.gates().cell(Part::Coordinator, person, chat.0, chat.1).await?;
        let at = task.as_ref().map_or(chat.1, |task| task.task().chat);
        let leave = self.require_action(kind, &cell, at).await?;
        Ok(OfTurn { leave, row, person, task })
    }

    /// Admits a request of a task's executor. Which chat and turn it works in is known from its door.
    pub(crate) async fn admit_of_task(
        &self,
        task: &Task,
        request: &Request,
        plan_pending: bool,
    ) -> Result<Admitted, CellError> {
        let kind = CellRequest::of_asked(&request.ask);
        let own_chat = request.chat.is_none_or(|chat| chat == task.chat);
        let own_turn = request.turn.as_ref().is_none_or(|turn| *turn == task.turn);
        let near = own_chat && own_turn;
        if !near || !kind.row().reach(Asker::Executor).covers(Distance::OwnChat) {
            return Err(CellRefusal::OwnTaskOnly.into());
        }
        if plan_pending && kind.changes() {
            return Err(CellRefusal::PlanFirst.into());
        }
        let cell = self.control.gates().cell_of_task(task).await?;
        self.require_action(kind, &cell, task.chat).await
    }

    /// The inbox row behind a request's turn, if it is an open one of this chat, and for its agent: a command is
    /// the control plane's.
    async fn open_turn(&self, chat: ChatKey, request: &Request) -> Result<InboxItem, CellError> {
        let row = match &request.turn {
            Some(turn) => self.control.tasks().row_of_turn(turn).await?,
            None => None,
        };
        let open = |row: &InboxItem| {
            (row.workspace, row.chat) == chat
                && row.state != InboxState::Answered
                && crate::commands::is_for_agent(row)
                && request.chat.is_none_or(|named| named == row.chat)
        };
        row.filter(open).ok_or_else(|| CellRefusal::NoOpenTurn.into())
    }

    /// Asks the policies for the action of a request, where the thing is that it names.
    async fn require_action(
        &self,
        kind: CellRequest,
        cell: &Cell,
        at: ChatId,
    ) -> Result<Admitted, CellError> {
        match kind.row().needs {
            Needs::Action(call) => self.require_of_cell(cell, call, at).await?,
            // Judged where it is known what exactly it says.
            Needs::Gate | Needs::Nothing => {}
        }
        Ok(Admitted { kind })
    }

    async fn require_of_cell(
        &self,
        cell: &Cell,
        call: CellCall,
        at: ChatId,
    ) -> Result<(), CellError> {
        let known = Known {
            stopped: self.control.stops().is_stopped(),
            plan_pending: false,
            untrusted: false,
        };
        let place = self.control.people().place_of_chat(cell.place.workspace, at).await?;
        Ok(self.control.people().require(&Question::cell(
            cell,
            &CellAsk::Chat(call),
            &place,
            known,
        ))?)
    }

    /// Admits a task that a person starts by a command, without a coordinator.
    pub(crate) async fn admit_by_command(
        &self,
        person: UserId,
        (workspace, chat): ChatKey,
    ) -> Result<Admitted, CellError> {
        let cell = self.control.gates().cell(Part::Coordinator, person, workspace, chat).await?;
        self.require_action(CellRequest::Delegate, &cell, chat).await
    }
}

/// The task that a request names. What names a path is judged where the path is opened.
fn named_task(ask: &Asked) -> Option<TaskId> {
    match (CellRequest::of_asked(ask).row().names, ask) {
        (Names::Task, Asked::ShowTask { task } | Asked::CancelTasks { task: Some(task) }) => {
            Some(*task)
        }
        (Names::Task | Names::Nothing | Names::Message | Names::Turn | Names::Path, _) => None,
    }
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
