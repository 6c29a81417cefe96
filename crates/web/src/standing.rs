//! What a page shows that changes without a row of its own: tasks, and questions that wait. Who comes back after a
//! while, or has missed something, is told how all of it stands by now.

use std::collections::BTreeSet;
use std::str::FromStr;

use cloister_control::rows::{ApprovalState, Task};
use cloister_control::{Control, ControlError};
use cloister_protocol::{
    AgentFrame, ApprovalId, ChatId, ErrorCode, Language, TaskId, TurnId, Update, WorkspaceId,
};
use serde_json::{Value, json};

use crate::pages::ask::{self, Back};
use crate::pages::task;

/// Of so many things at most one page is told how they stand.
const MOST: usize = 200;

/// What one page shows, as far as it may have changed since.
pub(crate) struct Standing {
    control: Control,
    /// The language of who looks at the page.
    to: Language,
    place: (WorkspaceId, ChatId),
    tasks: BTreeSet<TaskId>,
    questions: BTreeSet<ApprovalId>,
    /// Answers that came since: tasks of theirs may have come and gone.
    turns: Vec<TurnId>,
}

impl Standing {
    /// `shown`: what the page says is open on it, by its ids.
    pub(crate) fn of(
        control: &Control,
        to: Language,
        place: (WorkspaceId, ChatId),
        shown: &str,
    ) -> Self {
        Self {
            control: control.clone(),
            to,
            place,
            tasks: ids_in(shown),
            questions: ids_in(shown),
            turns: Vec::new(),
        }
    }

    /// Follows what the page is shown.
    pub(crate) fn note(&mut self, frame: &AgentFrame) {
        match frame {
            AgentFrame::Update(Update::Task { task, state, .. }) if state.is_final() => {
                self.tasks.remove(task);
            }
            AgentFrame::Update(Update::Task { task, .. }) => add(&mut self.tasks, *task),
            AgentFrame::Update(Update::Answered { approval, left: 0, .. }) => {
                self.questions.remove(approval);
            }
            AgentFrame::Ask(ask) => add(&mut self.questions, ask.approval),
            AgentFrame::End(end) => {
                self.turns.push(end.turn.clone());
                let excess = self.turns.len().saturating_sub(MOST);
                self.turns.drain(..excess);
            }
            AgentFrame::Accepted { .. }
            | AgentFrame::TextChunk(_)
            | AgentFrame::ToolCall(_)
            | AgentFrame::ToolResult(_)
            | AgentFrame::Update(_)
            | AgentFrame::SendFile(_)
            | AgentFrame::Error(_) => {}
        }
    }

    /// How all of it stands, as frames for the page.
    pub(crate) async fn frames(&mut self) -> Result<Vec<Value>, ControlError> {
        let mut frames = Vec::new();
        // A page closes what its task asked when the task has ended: what was answered is told before.
        for id in self.questions.clone() {
            let approval = match self.control.gates().approval(id).await {
                Ok(approval) if (approval.workspace, approval.chat) == self.place => approval,
                Err(error) if error.code() != ErrorCode::NotFound => return Err(error.into()),
                Ok(_) | Err(_) => {
                    self.questions.remove(&id);
                    continue;
                }
            };
            if approval.state != ApprovalState::Pending {
                self.questions.remove(&id);
            } else if approval.answers.is_empty() {
                continue;
            }
            let html = ask::card(self.to, &approval, Back::Chat).into_string();
            frames
                .push(json!({"type": "update", "kind": "question", "approval": id, "html": html}));
        }
        for task in self.tasks_now().await? {
            match task.state.is_final() {
                true => drop(self.tasks.remove(&task.id)),
                false => add(&mut self.tasks, task.id),
            }
            frames.push(self.card(&task).await?);
        }
        Ok(frames)
    }

    /// The tasks that are at work, those that were when the page looked last, and those of answers that came since.
    async fn tasks_now(&mut self) -> Result<Vec<Task>, ControlError> {
        let (workspace, chat) = self.place;
        let turns = std::mem::take(&mut self.turns);
        let mut tasks = self.control.chats().tasks_of_turns(workspace, chat, &turns).await?;
        let open = self.control.tasks().open(workspace).await?;
        tasks.extend(open.into_iter().filter(|task| task.chat == chat));
        for id in &self.tasks {
            match self.control.tasks().find(*id).await {
                Ok(task) if (task.workspace, task.chat) == self.place => tasks.push(task),
                Ok(_) => {}
                Err(error) if error.code() == ErrorCode::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        tasks.sort_by_key(|task| task.id);
        tasks.dedup_by_key(|task| task.id);
        let excess = tasks.len().saturating_sub(MOST);
        tasks.drain(..excess);
        Ok(tasks)
    }

    async fn card(&self, task: &Task) -> Result<Value, ControlError> {
        let steps = match task.state.is_final() {
            true => None,
            false => Some(self.control.tasks().steps(task.id).await?),
        };
        let changed = self.control.tasks().layers().standing(task.id).await?;
        let html = task::card(self.to, task, steps.as_deref(), changed).into_string();
        // `whole`: what it did meanwhile is in it.
        Ok(json!({
            "type": "update", "kind": "task", "task": task.id, "title": task.title,
            "state": task.state, "note": "", "html": html, "whole": true,
        }))
    }
}

fn add<T: Ord>(known: &mut BTreeSet<T>, one: T) {
    known.insert(one);
    if known.len() > MOST {
        known.pop_first();
    }
}

/// The ids of one kind in a list of several kinds.
fn ids_in<T: FromStr + Ord>(shown: &str) -> BTreeSet<T> {
    shown.split(',').take(MOST).filter_map(|id| id.parse().ok()).collect()
}
