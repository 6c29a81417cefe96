//! Commands about tasks.

use cloister_policy::engine::ChatCall;
use cloister_protocol::link::Cause;
use cloister_protocol::{Language, TaskId, TurnId};
use cloister_store::Actor;
use cloister_store::inbox::{InboxItem, InboxState};
use cloister_store::tasks::{NewTask, Task};
use cloister_words::say;
use ref_cast::RefCast as _;

use super::files::FileCommands;
use super::run::{Here, line, who};
use crate::commands::{CommandError, CommandRefusal, Commands};
use crate::error::Fault;
use crate::gates::{mark_text, quoted};
use crate::options::nano_to_usd;
use crate::tasks::ReachedTask;

/// How much of a task's instructions and result is shown.
const SHOWN_CHARS: usize = 3_000;

impl Commands {
    /// `/task TEXT | T1 | diff T1 | keep T1`
    pub(super) async fn task_command(
        &self,
        row: &InboxItem,
        here: &Here,
        rest: &str,
    ) -> Result<String, CommandError> {
        if rest.is_empty() {
            return Err(CommandRefusal::TaskWhat.into());
        }
        if let Some((verb, id)) = rest.split_once(' ').filter(|(_, id)| is_task_id(id.trim())) {
            let files = FileCommands::ref_cast(&self.control);
            match verb {
                "diff" => return files.task_files(row, here, id.trim()).await,
                "drop" => return files.drop_files(row, here, id.trim()).await,
                "keep" => return files.keep_files(row, here, id.trim()).await,
                _ => {}
            }
        }
        if is_task_id(rest) {
            let task = self.task_here(row, here, rest, ChatCall::Read).await?;
            return Ok(in_full(here.to, task.task()));
        }
        let task = self.start_task(row, rest).await?;
        Ok(say!(
            here.to,
            "{id} is started: {title}. You are told when it ends; {p}cancel {id} stops it.",
            id = task.id,
            title = task.title,
            p = here.sign()
        ))
    }

    /// A task from a person's own words, without a coordinator that puts it into its own.
    async fn start_task(&self, row: &InboxItem, text: &str) -> Result<Task, CommandError> {
        let person = self.control.provenance().person_of(row).await?;
        let leave =
            self.control.cells().admit_by_command(person, (row.workspace, row.chat)).await?;
        let mut marks = self.control.provenance().words_of(row).await?;
        // Behind the command it can be a quotation that the message as a whole is not.
        marks.extend(quoted(text).filter(|mark| !marks.contains(mark)));
        let files = match &row.cause {
            Cause::Message { attachments, .. } => attachments.clone(),
            Cause::TasksEnded { .. } | Cause::Clear => Vec::new(),
        };
        let risky =
            matches!(cloister_policy::of_request(text), cloister_policy::Risk::Risky { .. });
        let new = NewTask {
            workspace: row.workspace,
            chat: row.chat,
            person,
            parent: None,
            turn: TurnId::of_trigger(&row.trigger()?),
            title: String::new(),
            instructions: text.to_owned(),
            request: text.to_owned(),
            files,
            plan_first: risky,
            budget: self.control.store().users().user_of(row.workspace).await?.limits.task_budget,
            hosts: None,
            secrets: None,
            marks: marks.iter().map(mark_text).collect(),
        };
        let (scope, request) = (format!("task {}", row.workspace), row.id.to_string());
        Ok(self.control.cells().new_task(leave, new, (&scope, &request)).await?)
    }

    /// `/tasks`
    pub(super) async fn list_tasks(&self, row: &InboxItem, here: &Here) -> Result<String, Fault> {
        let mut tasks = self.control.store().tasks().list(row.workspace, 20).await?;
        if here.is_shared() {
            tasks.retain(|task| task.chat == row.chat);
        }
        if tasks.is_empty() {
            return Ok(say!(here.to, "There are no tasks yet."));
        }
        let lines: Vec<String> = tasks.iter().map(task_line).collect();
        Ok(lines.join("\n"))
    }

    /// `/cancel [T1 | all]`
    pub(super) async fn cancel(
        &self,
        row: &InboxItem,
        here: &Here,
        rest: &str,
    ) -> Result<String, CommandError> {
        let one = match rest {
            "" | "all" => None,
            id => Some(self.task_here(row, here, id, ChatCall::CancelTask).await?),
        };
        let by = Actor::person(format_args!("{} in {}", who(row), row.chat));
        let stopped = one.is_none() && self.cancel_turns_before(row).await?;
        let cancelled = match &one {
            Some(task) => self.control.tasks().cancel_task(&by, task).await?,
            None => self.control.tasks().cancel_tasks(&by, row.workspace, Some(row.chat)).await?,
        };
        Ok(match cancelled.as_slice() {
            [] if stopped => say!(here.to, "I stop what I was saying."),
            [] => say!(here.to, "Nothing was running here."),
            ids => {
                let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
                say!(here.to, "Cancelled: {ids}.", ids = ids.join(", "))
            }
        })
    }

    /// Stops the answers that are being written in this chat; whether there were any.
    async fn cancel_turns_before(&self, row: &InboxItem) -> Result<bool, Fault> {
        let mut stopped = false;
        for earlier in self.control.store().inbox().unanswered(row.workspace).await? {
            let runs = earlier.state == InboxState::Journaled && earlier.chat == row.chat;
            if runs && earlier.id < row.id {
                self.control.tasks().cancel_turn(&earlier)?;
                stopped = true;
            }
        }
        Ok(stopped)
    }

    /// `/retry T1`
    pub(super) async fn retry(
        &self,
        row: &InboxItem,
        here: &Here,
        rest: &str,
    ) -> Result<String, CommandError> {
        let old = self.task_here(row, here, rest, ChatCall::RetryTask).await?;
        let id = old.task().id;
        let actor = self.control.accounts().acting(here.by).await?;
        let task = self.control.tasks().retry_task(&actor, old, &row.id.to_string()).await?;
        Ok(say!(here.to, "{id} is tried again as {new}.", id, new = task.id))
    }

    /// A task of this workspace, and where others read along of this chat, that the writer may do this to.
    pub(super) async fn task_here(
        &self,
        row: &InboxItem,
        here: &Here,
        text: &str,
        call: ChatCall,
    ) -> Result<ReachedTask, CommandError> {
        let id = task_id(text)?;
        if here.is_shared() {
            return Ok(self
                .control
                .tasks()
                .task_in_chat(here.by, call, (row.workspace, row.chat), id)
                .await?);
        }
        Ok(self.control.tasks().task_in_workspace(&here.person, call, row.workspace, id).await?)
    }
}

pub(super) fn task_line(task: &Task) -> String {
    format!("{} {} ({}, {})", task.id, task.title, task.state.as_str(), task.chat)
}

fn task_id(text: &str) -> Result<TaskId, Fault> {
    let number = text.trim_start_matches(['T', 't', '#']);
    Ok(format!("T{number}").parse()?)
}

/// Whether a word names a task.
fn is_task_id(text: &str) -> bool {
    let number = text.strip_prefix(['T', 't', '#']);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// A task with everything that a person may want to know of it.
fn in_full(to: Language, task: &Task) -> String {
    let mut text = task_line(task);
    let (spent, budget) = (nano_to_usd(task.spent), nano_to_usd(task.budget));
    let (spent, budget) = (format!("{spent:.4}"), format!("{budget:.2}"));
    let spent = say!(to, "Spent: ${spent} of ${budget}.", spent, budget);
    line(&mut text, &spent);
    let shown = |text: &str| crate::surfaces::words::short(text.trim(), SHOWN_CHARS);
    line(&mut text, &say!(to, "\nWhat is to be done:\n{text}", text = shown(&task.instructions)));
    if !task.result.trim().is_empty() {
        line(&mut text, &say!(to, "\nWhat came of it:\n{text}", text = shown(&task.result)));
    }
    if !task.not_shown.is_empty() {
        line(&mut text, &say!(to, "\nLeft out: {what}.", what = task.not_shown.join(", ")));
    }
    text
}
