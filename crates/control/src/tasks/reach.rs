//! What a request reaches: the task or the turn that it names, found where the asker may look.
//!
//! Promises: nothing is shown, cancelled or tried again by its id alone. Who holds one of these values has it
//! from here, where it was looked at whose the thing is; what is out of reach is not there, in the same words.

use cloister_policy::engine::{ChatCall, Person, Request};
use cloister_policy::reach::{Distance, Reach};
use cloister_protocol::{ChatId, TaskId, TurnId, UserId, WorkspaceId};
use cloister_store::StoreError;
use cloister_store::approvals::Approval;
use cloister_store::inbox::{InboxItem, InboxState};
use cloister_store::tasks::Task;

use crate::cells::Poke;
use crate::error::Fault;
use crate::tasks::{TaskError, TaskRefusal, Tasks};

/// A task that the asker may act on.
#[derive(Clone, Debug)]
pub struct ReachedTask(Task);

impl ReachedTask {
    pub const fn task(&self) -> &Task {
        &self.0
    }

    pub fn into_task(self) -> Task {
        self.0
    }
}

impl Tasks {
    /// A task, for a person who may do this where the task is.
    pub async fn task_for(
        &self,
        person: &Person,
        call: ChatCall,
        id: TaskId,
    ) -> Result<ReachedTask, TaskError> {
        let task = self.known_task(id).await?;
        let place = self.control.people().place_of_chat(task.workspace, task.chat).await?;
        self.control.people().require(&Request::chat(person, call, &place, task.chat))?;
        Ok(ReachedTask(task))
    }

    /// The same of this workspace and no other.
    pub(crate) async fn task_in_workspace(
        &self,
        person: &Person,
        call: ChatCall,
        workspace: WorkspaceId,
        id: TaskId,
    ) -> Result<ReachedTask, TaskError> {
        match self.known_task(id).await? {
            task if task.workspace == workspace => self.task_for(person, call, id).await,
            _of_others => Err(TaskRefusal::NoTask { id }.into()),
        }
    }

    /// A task of this chat and no other, for who may do this there.
    pub async fn task_in_chat(
        &self,
        by: UserId,
        call: ChatCall,
        chat: (WorkspaceId, ChatId),
        id: TaskId,
    ) -> Result<ReachedTask, TaskError> {
        self.control.people().require_in_chat(by, call, chat.0, chat.1).await?;
        let task = self.known_task(id).await?;
        if (task.workspace, task.chat) == chat {
            Ok(ReachedTask(task))
        } else {
            Err(TaskRefusal::NoTask { id }.into())
        }
    }

    /// A task that a request of this chat's agent names, if the request reaches that far.
    pub(crate) async fn task_within(
        &self,
        chat: (WorkspaceId, ChatId),
        reach: Reach,
        id: TaskId,
    ) -> Result<ReachedTask, TaskError> {
        let task = self.known_task(id).await?;
        let distance = self.distance(chat, (task.workspace, task.chat)).await?;
        if reach.covers(distance) {
            Ok(ReachedTask(task))
        } else {
            Err(TaskRefusal::NoTask { id }.into())
        }
    }

    /// The task that a question is of, for whoever may answer it.
    pub(crate) async fn task_asking(
        &self,
        approval: &Approval,
    ) -> Result<Option<ReachedTask>, TaskError> {
        match approval.task {
            Some(id) => Ok(Some(ReachedTask(self.known_task(id).await?))),
            None => Ok(None),
        }
    }

    /// How far a chat is from another, by the control plane's records. Chats of one context are read by the
    /// same people, and by one agent alone.
    pub(crate) async fn distance(
        &self,
        from: (WorkspaceId, ChatId),
        to: (WorkspaceId, ChatId),
    ) -> Result<Distance, Fault> {
        if from == to {
            return Ok(Distance::OwnChat);
        }
        if from.0 != to.0 {
            return Ok(Distance::OtherWorkspace);
        }
        let store = self.control.store();
        let here = store.chats().place_of_chat(from.0, from.1).await?;
        let there = store.chats().place_of_chat(to.0, to.1).await?;
        Ok(if here.context != there.context {
            Distance::OtherContext
        } else if here.agent != there.agent {
            Distance::OtherAgent
        } else {
            Distance::OtherChat
        })
    }

    async fn known_task(&self, id: TaskId) -> Result<Task, TaskError> {
        match self.control.store().tasks().task(id).await {
            Ok(task) => Ok(task),
            Err(StoreError::NotFound { .. }) => Err(TaskRefusal::NoTask { id }.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Stops the answer to a message.
    pub fn cancel_turn(&self, row: &InboxItem) -> Result<(), Fault> {
        let turn = TurnId::of_trigger(&row.trigger()?);
        self.control.cells().poke((row.workspace, row.chat), Poke::CancelTurn(turn));
        Ok(())
    }

    /// Stops a turn of this chat and no other, for who may do that there. That it has ended is as good.
    pub async fn cancel_turn_in_chat(
        &self,
        by: UserId,
        (workspace, chat): (WorkspaceId, ChatId),
        turn: &TurnId,
    ) -> Result<(), TaskError> {
        self.control.people().require_in_chat(by, ChatCall::CancelTurn, workspace, chat).await?;
        let row = self.row_of_turn(turn).await?;
        let row = row.filter(|row| (row.workspace, row.chat) == (workspace, chat));
        match row {
            Some(row) if row.state == InboxState::Answered => Ok(()),
            Some(row) => Ok(self.cancel_turn(&row)?),
            None => Err(TaskRefusal::NoTurn { turn: turn.clone() }.into()),
        }
    }

    /// The inbox row that started a turn.
    pub(crate) async fn row_of_turn(&self, turn: &TurnId) -> Result<Option<InboxItem>, Fault> {
        match turn.message() {
            Some(id) => Ok(self.control.store().inbox().inbox_item(id).await?),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
#[path = "reach_tests.rs"]
pub(super) mod tests;
