//! Carrying out commands. Each answers with one text; a command that is repeated after a crash has
//! no second effect.

use cloister_protocol::{End, ErrorCode, TaskId, TurnId, Usage};
use cloister_store::inbox::InboxItem;
use cloister_store::tasks::Task;

use super::{COMMANDS, Typed, Verb};
use crate::control::Control;
use crate::error::ControlError;
use crate::options::usd_to_nano;

/// The longest chat title.
const MAX_TITLE_CHARS: usize = 80;

impl Control {
    /// Carries out a command and ends its turn.
    pub(crate) async fn run_command(
        &self,
        row: &InboxItem,
        typed: Typed,
    ) -> Result<(), ControlError> {
        let (text, error) = match self.answer_command(row, &typed).await {
            Ok(text) => (text, None),
            Err(error) => {
                let body = error.body();
                if body.code == ErrorCode::Internal {
                    tracing::error!(
                        command = typed.name,
                        error = error.chain(),
                        "a command failed"
                    );
                }
                let fix = body.fix.map(|fix| format!("\n{fix}")).unwrap_or_default();
                (format!("/{}: {}{fix}", typed.name, body.message), Some(body.code))
            }
        };
        let end = End {
            turn: TurnId::of_trigger(&row.trigger()?),
            message: None,
            text,
            usage: Usage::default(),
            error,
        };
        self.finish_turn(&crate::cells::Owed::of(row), end).await
    }

    async fn answer_command(&self, row: &InboxItem, typed: &Typed) -> Result<String, ControlError> {
        let Some(verb) = typed.verb else {
            return Err(ControlError::with_fix(
                ErrorCode::BadRequest,
                "there is no such command",
                "/help lists them",
            ));
        };
        match verb {
            Verb::Help => Ok(help()),
            Verb::Status => self.status(row).await,
            Verb::Tasks => self.list_tasks(row).await,
            Verb::Cancel => self.cancel(row, &typed.rest).await,
            Verb::Retry => self.retry(row, &typed.rest).await,
            Verb::New => self.new_chat(row, &typed.rest).await,
            Verb::Chats => self.list_chats(row).await,
            Verb::Rename => {
                let title = title(&typed.rest);
                if title.is_empty() {
                    return Err(ControlError::refused(
                        ErrorCode::BadRequest,
                        "say the new title: /rename TITLE",
                    ));
                }
                let chat = self.store().rename_chat(row.workspace, row.chat, &title).await?;
                Ok(format!("{} is now “{}”.", chat.id, chat.title))
            }
            Verb::Archive => {
                let chat = self.store().archive_chat(row.workspace, row.chat, true).await?;
                Ok(format!("{} is archived. Its files and history stay.", chat.id))
            }
            Verb::Clear => {
                self.clear_chat(row.workspace, row.chat, &row.id.to_string()).await?;
                Ok("Cleared: the next message starts afresh. Files and memory stay.".to_owned())
            }
            Verb::Approve | Verb::Deny => {
                self.answer_question(row, verb == Verb::Approve, &typed.rest).await
            }
            Verb::Approvals => self.list_questions(row).await,
            Verb::Grants => self.list_grants(row).await,
            Verb::Revoke => self.revoke(row, &typed.rest).await,
            Verb::Budget => self.budget(row, &typed.rest).await,
            Verb::Allow => self.allow_host(row.workspace, &typed.rest, &who(row)).await,
            Verb::Forbid => self.forbid_host(row.workspace, &typed.rest, &who(row)).await,
            Verb::Stop => self.stop_everything(row, &typed.rest).await,
            Verb::Release => self.release_everything(row).await,
            Verb::Network => self.network(row.workspace).await,
        }
    }

    async fn status(&self, row: &InboxItem) -> Result<String, ControlError> {
        let user = self.store().user_of(row.workspace).await?;
        let open = self.store().open_tasks(row.workspace).await?;
        let questions = self.store().pending_approvals(row.workspace).await?;
        let mut text =
            if self.is_stopped() { format!("{}\n", self.stop_sentence()) } else { String::new() };
        text += &match open.len() {
            0 => "Nothing is running.".to_owned(),
            1 => "1 task is open:".to_owned(),
            n => format!("{n} tasks are open:"),
        };
        for task in &open {
            line(&mut text, &task_line(task));
        }
        for question in &questions {
            line(&mut text, &format!("{} waits for your answer: {}", question.id, question.title));
        }
        if user.over_quota {
            line(
                &mut text,
                "The workspace is over its quota: writes are refused until files are deleted.",
            );
        }
        line(&mut text, &format!("Budget: {}.", self.budget_line(&user).await?));
        Ok(text)
    }

    async fn list_tasks(&self, row: &InboxItem) -> Result<String, ControlError> {
        let tasks = self.store().tasks(row.workspace, 20).await?;
        if tasks.is_empty() {
            return Ok("There are no tasks yet.".to_owned());
        }
        let lines: Vec<String> = tasks.iter().map(task_line).collect();
        Ok(lines.join("\n"))
    }

    async fn cancel(&self, row: &InboxItem, rest: &str) -> Result<String, ControlError> {
        let one = match rest {
            "" | "all" => None,
            id => Some(task_id(id)?),
        };
        let by = format!("{} in {}", who(row), row.chat);
        let chat = one.is_none().then_some(row.chat);
        let cancelled = self.cancel_tasks(row.workspace, one, chat, &by).await?;
        Ok(match cancelled.as_slice() {
            [] => "Nothing was running here.".to_owned(),
            ids => {
                let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
                format!("Cancelled: {}.", ids.join(", "))
            }
        })
    }

    async fn retry(&self, row: &InboxItem, rest: &str) -> Result<String, ControlError> {
        let id = task_id(rest)?;
        if self.store().task(id).await?.workspace != row.workspace {
            return Err(ControlError::refused(
                ErrorCode::NotFound,
                format!("there is no task {id}"),
            ));
        }
        let task = self.retry_task(id, &row.id.to_string()).await?;
        Ok(format!("{id} is tried again as {}.", task.id))
    }

    async fn new_chat(&self, row: &InboxItem, rest: &str) -> Result<String, ControlError> {
        let key = row.id.to_string();
        let chat = self.store().new_chat(row.workspace, &title(rest), Some(&key)).await?;
        Ok(format!("{} is open.", chat.id))
    }

    async fn list_chats(&self, row: &InboxItem) -> Result<String, ControlError> {
        let chats = self.store().chats(row.workspace).await?;
        let mut text = String::new();
        for chat in chats.iter().filter(|chat| !chat.archived) {
            let here = if chat.id == row.chat { " (here)" } else { "" };
            line(&mut text, &format!("{} {}{here}", chat.id, chat.title));
        }
        Ok(text)
    }

    async fn budget(&self, row: &InboxItem, rest: &str) -> Result<String, ControlError> {
        let mut user = self.store().user_of(row.workspace).await?;
        if !rest.is_empty() {
            // The first user runs this machine; the others ask them.
            if user.id.number() != 1 {
                return Err(ControlError::with_fix(
                    ErrorCode::Forbidden,
                    "only the operator can change a budget",
                    format!("ask them for `cloister budget set {} --daily USD`", user.name),
                ));
            }
            let usd: f64 = rest.trim_start_matches('$').parse().map_err(|error| {
                ControlError::refused(
                    ErrorCode::BadRequest,
                    format!("{rest:?} is not an amount in dollars: {error}"),
                )
            })?;
            user = self.set_budget(&user.name, Some(usd_to_nano(usd)), None).await?;
        }
        Ok(format!("{}.", self.budget_line(&user).await?))
    }
}

fn help() -> String {
    let mut text = "Just write what you want. Commands:".to_owned();
    for command in COMMANDS {
        line(&mut text, &format!("{}: {}", command.usage, command.help));
    }
    text
}

fn line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

fn task_line(task: &Task) -> String {
    format!("{} {} ({}, {})", task.id, task.title, task.state.as_str(), task.chat)
}

fn task_id(text: &str) -> Result<TaskId, ControlError> {
    let number = text.trim_start_matches(['T', 't', '#']);
    Ok(format!("T{number}").parse()?)
}

fn title(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .take(MAX_TITLE_CHARS)
        .collect::<String>()
        .trim()
        .to_owned()
}

fn who(row: &InboxItem) -> String {
    match &row.cause {
        cloister_protocol::link::Cause::Message { from, .. } => from.clone(),
        cloister_protocol::link::Cause::TasksEnded { .. }
        | cloister_protocol::link::Cause::Clear => "control".to_owned(),
    }
}
