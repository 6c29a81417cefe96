//! What somebody may choose from while they type: their chats, tasks and open questions.

use cloister_policy::engine::{Request, WorkspaceCall};
use cloister_protocol::{TaskState, WorkspaceId};

use super::words::short;
use crate::control::Control;
use crate::error::ControlError;

/// The most that is offered at once.
const MOST_CHOICES: usize = 25;
/// How many tasks are looked at.
const TASKS_LOOKED_AT: u32 = 200;
/// The longest label.
const LONGEST_LABEL: usize = 90;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceKind {
    Chats,
    Tasks,
    Approvals,
}

/// One thing to choose: what is typed for it, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub value: String,
    pub label: String,
}

impl Control {
    /// What the person behind an account may choose from, of what is their own, where the label or the value
    /// has what they typed. Nobody's account chooses from nothing.
    pub async fn choices(
        &self,
        by_surface: &str,
        by: &str,
        kind: ChoiceKind,
        typed: &str,
    ) -> Result<Vec<Choice>, ControlError> {
        let Some(identity) = self.store().identity(by_surface, by).await? else {
            return Ok(Vec::new());
        };
        let workspace = self.store().user_by_id(identity.user).await?.workspace;
        let (person, place) = (self.person(identity.user).await?, self.place(workspace).await?);
        let call = match kind {
            ChoiceKind::Chats => WorkspaceCall::ListChats,
            ChoiceKind::Tasks => WorkspaceCall::ListTasks,
            ChoiceKind::Approvals => WorkspaceCall::ListApprovals,
        };
        self.require(&Request::workspace(&person, call, &place))?;
        let all = match kind {
            ChoiceKind::Chats => self.chat_choices(workspace).await?,
            ChoiceKind::Tasks => self.task_choices(workspace).await?,
            ChoiceKind::Approvals => self.approval_choices(workspace).await?,
        };
        let typed = typed.trim().to_lowercase();
        let fits = |choice: &Choice| choice.label.to_lowercase().contains(&typed);
        Ok(all.into_iter().filter(fits).take(MOST_CHOICES).collect())
    }

    async fn chat_choices(&self, workspace: WorkspaceId) -> Result<Vec<Choice>, ControlError> {
        let chats = self.store().chats(workspace).await?;
        let open = chats.into_iter().filter(|chat| !chat.archived).rev();
        Ok(open.map(|chat| choice(chat.id, &chat.title)).collect())
    }

    /// Those that are open first, the newest of each first.
    async fn task_choices(&self, workspace: WorkspaceId) -> Result<Vec<Choice>, ControlError> {
        let mut tasks = self.store().tasks(workspace, TASKS_LOOKED_AT).await?;
        tasks.sort_by_key(|task| (task.state.is_final(), std::cmp::Reverse(task.id.number())));
        let named = tasks.iter().map(|task| {
            let state = match task.state {
                TaskState::Done => String::new(),
                state => format!(" ({})", state.as_str()),
            };
            choice(task.id, &format!("{}{state}", short(&task.title, LONGEST_LABEL - 30)))
        });
        Ok(named.collect())
    }

    async fn approval_choices(&self, workspace: WorkspaceId) -> Result<Vec<Choice>, ControlError> {
        let pending = self.store().pending_approvals(workspace).await?;
        Ok(pending.iter().map(|asked| choice(asked.id, &asked.title)).collect())
    }
}

fn choice(id: impl ToString, title: &str) -> Choice {
    let value = id.to_string();
    let title: String = title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let label = match title.trim() {
        "" => value.clone(),
        title => short(&format!("{value} · {title}"), LONGEST_LABEL),
    };
    Choice { value, label }
}

#[cfg(test)]
#[path = "choices_tests.rs"]
mod tests;
