//! What can be pressed below the answer to a command: each does what a command or an answer that could be typed
//! does. Computed when the answer is told, of what is so then.

use cloister_protocol::{Answer, TaskState};
use cloister_store::inbox::InboxItem;
use cloister_store::tasks::Task;

use super::Verb;
use super::chats::Shows;
use super::run::Here;
use crate::commands::{CommandError, Commands};
use crate::error::Fault;
use crate::surfaces::words::short;
use crate::surfaces::{Button, Press};

/// The most chats, tasks and questions that get buttons.
const MOST_CHATS: usize = 20;
const MOST_TASKS: usize = 8;
const MOST_QUESTIONS: usize = 5;
/// What of a title is on a button, in characters.
const TITLE_CHARS: usize = 28;

impl Commands {
    /// The buttons below the answer to a message: none unless it was a command that has some.
    pub(crate) async fn buttons_below(&self, row: &InboxItem) -> Result<Vec<Button>, CommandError> {
        let Some(verb) = super::of(row).and_then(|typed| typed.verb) else { return Ok(Vec::new()) };
        // Of what is listed where others read along, the list itself is enough.
        let offers = matches!(
            verb,
            Verb::Start
                | Verb::Chats
                | Verb::Agent
                | Verb::Settings
                | Verb::Status
                | Verb::Tasks
                | Verb::Task
                | Verb::Approvals
        );
        if !offers || row.conversation.is_none() {
            return Ok(Vec::new());
        }
        let here = self.here(row).await?;
        if self.may_command(row, &here, verb).is_err() {
            return Ok(Vec::new());
        }
        Ok(match verb {
            Verb::Start => vec![
                Button::command("New chat", "/new"),
                Button::command("Chats", "/chats"),
                Button::command("Status", "/status"),
                Button::command("Help", "/help"),
            ],
            Verb::Chats => self.chat_buttons(row, &here).await?,
            Verb::Agent => self.agents().agent_buttons(row, &here).await?,
            Verb::Settings => settings_buttons(&here),
            Verb::Status => {
                let mut buttons = self.task_buttons(row, &here).await?;
                let pending =
                    self.control.store().approvals().pending_approvals(row.workspace).await?;
                if pending.iter().any(|asked| !here.is_shared() || asked.chat == row.chat) {
                    buttons.push(Button::command("What is asked", "/approvals"));
                }
                buttons
            }
            Verb::Tasks | Verb::Task => self.task_buttons(row, &here).await?,
            Verb::Approvals => self.answer_buttons(row, &here).await?,
            _ => Vec::new(),
        })
    }

    /// Where one chat is shown at a time, one for each other chat; and another where chats can be opened.
    async fn chat_buttons(&self, row: &InboxItem, here: &Here) -> Result<Vec<Button>, Fault> {
        let shows = self.control.chats().shows_chats(here).await?;
        if here.is_shared() {
            return Ok(Vec::new());
        }
        let mut buttons = Vec::new();
        if shows == Shows::One {
            let shown = here.conversation.as_ref().map(|conversation| conversation.chat);
            let chats = self.control.store().chats().of(row.workspace).await?;
            // The newest are those that people go to.
            let open = chats.iter().rev().filter(|chat| !chat.archived);
            let others = open.filter(|chat| Some(chat.id) != shown).take(MOST_CHATS);
            buttons.extend(others.map(|chat| {
                let label = label(&chat.id.to_string(), &chat.title);
                Button::command(label, format!("/chats {}", chat.id))
            }));
            buttons.reverse();
        }
        buttons.push(Button::command("New chat", "/new"));
        Ok(buttons)
    }

    /// A way to stop each task that is open.
    async fn task_buttons(&self, row: &InboxItem, here: &Here) -> Result<Vec<Button>, Fault> {
        let mut open = self.control.store().tasks().open_tasks(row.workspace).await?;
        open.retain(|task| task.parent.is_none() && (!here.is_shared() || task.chat == row.chat));
        let running = open.iter().filter(|task: &&Task| {
            matches!(task.state, TaskState::Running | TaskState::Queued | TaskState::Waiting)
        });
        let buttons = running.rev().take(MOST_TASKS).map(|task| {
            let label = format!("Cancel {}", label(&task.id.to_string(), &task.title));
            Button::command(label, format!("/cancel {}", task.id))
        });
        Ok(buttons.collect())
    }

    /// The answers to what waits, for the first few.
    async fn answer_buttons(&self, row: &InboxItem, here: &Here) -> Result<Vec<Button>, Fault> {
        let mut pending = self.control.store().approvals().pending_approvals(row.workspace).await?;
        pending.retain(|asked| !here.is_shared() || asked.chat == row.chat);
        let mut buttons = Vec::new();
        for asked in pending.iter().take(MOST_QUESTIONS) {
            let offered = asked.offered.iter().copied();
            let short = offered.filter(|answer| matches!(answer, Answer::Allow | Answer::Deny));
            buttons.extend(short.map(|answer| {
                let word = if answer.is_allowing() { "Allow" } else { "Deny" };
                let press = Press::Answer { approval: asked.id, answer };
                Button { label: format!("{word} {}", asked.id), press }
            }));
        }
        Ok(buttons)
    }
}

fn settings_buttons(here: &Here) -> Vec<Button> {
    if here.is_shared() {
        return Vec::new();
    }
    let buttons = [
        ("Chats", "/chats"),
        ("Budget", "/budget"),
        ("Network", "/network"),
        ("Grants", "/grants"),
        ("This chat", "/context"),
        ("Status", "/status"),
    ];
    buttons.into_iter().map(|(label, command)| Button::command(label, command)).collect()
}

/// A number and what of a title fits on a button.
pub(super) fn label(id: &str, title: &str) -> String {
    let title: String = title.chars().filter(|c| !c.is_control()).collect();
    match title.trim() {
        "" => id.to_owned(),
        title => format!("{id} · {}", short(title, TITLE_CHARS)),
    }
}

#[cfg(test)]
#[path = "offering_tests.rs"]
mod tests;
