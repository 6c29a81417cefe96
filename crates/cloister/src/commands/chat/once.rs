//! One message and its answer. Standard output has the answer and nothing else.

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use cloister_protocol::admin::StopView;
use cloister_protocol::{
    AgentFrame, ApprovalId, Ask, End, ErrorCode, Message, MessageId, SendFile, TaskId, TaskState,
    TurnId, Update,
};
use tokio::time::Instant;

use super::telling::{Show, Telling};
use super::words::{self, SaidDoing};
use crate::client::Client;
use crate::commands::ask;
use crate::connection::Connection;
use crate::output::{CliError, INTERRUPTED, NOT_IN_TIME, Output, QUESTION_WAITS};

/// What a message begins with that starts a task.
const TASK_COMMAND: &str = "/task ";

pub(super) struct Talk {
    pub(super) output: Output,
    pub(super) connection: Connection,
    pub(super) client: Client,
    pub(super) wait: bool,
    pub(super) timeout: Duration,
    pub(super) save: Option<PathBuf>,
    /// Show text as it comes.
    pub(super) live: bool,
}

/// What is being waited for.
struct Pending {
    message: MessageId,
    turn: Option<TurnId>,
    /// What was shown of the answer.
    telling: Telling,
    doing: SaidDoing,
    end: Option<End>,
    /// The message starts a task by itself, with no model that delegates it.
    starts_task: bool,
    /// The turn delegated something.
    delegated: bool,
    /// Tasks that were queued since, not cancelled, and not told of; without what they hand on themselves.
    tasks: HashSet<TaskId>,
    /// What became of them has been said, or there is nothing more to say.
    told: bool,
    /// Questions that came since and are not answered.
    asked: Vec<ApprovalId>,
}

impl Pending {
    /// A cancelled task is not reported by a turn of its own.
    fn follow(&mut self, update: &Update) {
        match update {
            Update::Task { parent: Some(_), .. } => {}
            Update::Task { task, told: true, .. } => {
                self.told |= self.tasks.remove(task) && self.tasks.is_empty();
            }
            Update::Task { task, state: TaskState::Queued, .. } if self.turn.is_some() => {
                self.delegated |= self.starts_task && self.end.is_none();
                self.tasks.insert(*task);
            }
            Update::Task { task, state: TaskState::Cancelled, .. } => {
                self.told |= self.tasks.remove(task) && self.tasks.is_empty();
            }
            Update::Answered { approval, left: 0, .. } => {
                self.asked.retain(|asked| asked != approval);
            }
            Update::Task { .. }
            | Update::Restart { .. }
            | Update::Model { .. }
            | Update::Notice { .. }
            | Update::Progress { .. }
            | Update::Output { .. }
            | Update::Blocked { .. }
            | Update::Todos { .. }
            | Update::Answered { .. } => {}
        }
    }
}

impl Pending {
    /// What to say when a question is what is waited for.
    fn waits(&self) -> Option<CliError> {
        let ids: Vec<String> = self.asked.iter().map(ToString::to_string).collect();
        let first = ids.first()?;
        let message = format!("a question waits for an answer: {}", ids.join(", "));
        let fix = format!(
            "`cloister task approvals` shows it; `cloister task approve {first}` or `cloister task deny {first}` \
             answers it, and the work goes on by itself"
        );
        Some(CliError::new(ErrorCode::Busy, message).fix(fix).exit(QUESTION_WAITS))
    }
}

impl Talk {
    /// Sends a message and shows everything until its answer is whole. Ctrl-C takes it back.
    pub(super) async fn say(mut self, message: Message) -> Result<ExitCode, CliError> {
        let stopped = crate::commands::up::asked_to_stop()?;
        let mut pending = Pending {
            message: message.id.clone(),
            turn: None,
            telling: Telling::default(),
            doing: SaidDoing::default(),
            end: None,
            starts_task: message.text.trim_start().starts_with(TASK_COMMAND),
            delegated: false,
            tasks: HashSet::new(),
            told: false,
            asked: Vec::new(),
        };
        let end = tokio::select! {
            end = self.answer(&mut pending, message) => Some(end?),
            () = stopped => None,
        };
        match end {
            Some(End { error: None | Some(ErrorCode::Continued), .. }) => Ok(ExitCode::SUCCESS),
            Some(End { error: Some(_), .. }) => Ok(ExitCode::FAILURE),
            None => {
                if let Some(turn) = pending.turn.filter(|_| pending.end.is_none()) {
                    self.connection.cancel(turn).await;
                }
                Ok(ExitCode::from(INTERRUPTED))
            }
        }
    }

    async fn answer(&mut self, pending: &mut Pending, message: Message) -> Result<End, CliError> {
        let deadline = Instant::now() + self.timeout;
        self.connection.send(message, deadline).await?;
        loop {
            let frame = match self.connection.next(deadline).await {
                Ok(frame) => frame,
                Err(late) if late.exit == NOT_IN_TIME => {
                    return Err(pending.waits().unwrap_or(late));
                }
                Err(error) => return Err(error),
            };
            if self.output.json {
                self.output.json_line(&frame)?;
            }
            self.take(pending, frame).await?;
            let waits = self.wait && pending.delegated && !pending.told;
            // Who asked for one answer is not there to be asked: they are told how to answer.
            if waits
                && pending.end.is_some()
                && let Some(question) = pending.waits()
            {
                return Err(question);
            }
            if !waits && let Some(end) = pending.end.take() {
                self.connection.answered();
                return Ok(end);
            }
        }
    }

    async fn take(&mut self, pending: &mut Pending, frame: AgentFrame) -> Result<(), CliError> {
        match frame {
            AgentFrame::Accepted { id, turn } if id == pending.message => pending.turn = Some(turn),
            AgentFrame::TextChunk(chunk)
                if self.live && pending.turn.as_ref() == Some(&chunk.turn) =>
            {
                let show = pending.telling.chunk(&chunk);
                self.show(show)?;
            }
            AgentFrame::ToolCall(call) if call.turn.is_some() && call.turn == pending.turn => {
                pending.delegated |= call.name == "delegate";
            }
            AgentFrame::Update(update) => {
                pending.follow(&update);
                self.update(pending, &update)?;
                if pending.turn.is_some() && matches!(update, Update::Notice { .. }) {
                    self.refuse_to_wait_for_a_release().await?;
                }
            }
            AgentFrame::Ask(ask) => self.question(pending, &ask),
            AgentFrame::SendFile(file) => self.file(&file).await?,
            AgentFrame::End(end) => self.end(pending, end)?,
            AgentFrame::Error(error)
                if error.id.as_deref() == Some(pending.message.as_str())
                    && !self.connection.says_again(&error) =>
            {
                return Err(CliError::new(error.code, error.message));
            }
            AgentFrame::Accepted { .. }
            | AgentFrame::TextChunk(_)
            | AgentFrame::ToolCall(_)
            | AgentFrame::ToolResult(_)
            | AgentFrame::Error(_) => {}
        }
        Ok(())
    }

    /// Nobody is answered before the release, which may be any time away. A notice may have said so.
    async fn refuse_to_wait_for_a_release(&self) -> Result<(), CliError> {
        // Who may not know whether everything is stopped waits as long as they said.
        let stop: Result<StopView, CliError> = self.client.get("/admin/v1/stop").await;
        if !stop.is_ok_and(|stop| stop.stopped) {
            return Ok(());
        }
        let message = "everything is stopped: the message is kept, and answered after the release";
        let fix = "`cloister release` lets it go on; `cloister chats show` shows the answer then";
        Err(CliError::new(ErrorCode::Busy, message).fix(fix).exit(NOT_IN_TIME))
    }

    fn question(&self, pending: &mut Pending, ask: &Ask) {
        // What was asked before this message came is not about it.
        if pending.turn.is_some() {
            pending.asked.push(ask.approval);
        }
        self.remark(&ask::words(ask));
    }

    fn end(&mut self, pending: &mut Pending, end: End) -> Result<(), CliError> {
        let own = pending.turn.as_ref() == Some(&end.turn);
        if !self.output.json {
            match (own, self.live) {
                (true, true) => {
                    let show = std::mem::take(&mut pending.telling).end(&end.text);
                    self.show(show)?;
                    self.output.piece("\n")?;
                }
                (true, false) => self.output.line(&end.text)?,
                (false, _) if end.message.is_some() => {
                    self.remark("(the answer to another message:)");
                    self.output.note(&end.text);
                }
                // What was said meanwhile is no part of this answer, unless it is waited for.
                (false, _) if pending.end.is_some() && self.wait => self.output.line(&end.text)?,
                (false, _) => self.output.note(&end.text),
            }
            if own && words::is_taken_over(&end) {
                self.remark(words::TAKEN_OVER);
            }
        }
        if own {
            pending.end = Some(end);
        } else if end.message.is_none() && pending.end.is_some() && pending.tasks.len() <= 1 {
            pending.told = true;
        }
        Ok(())
    }

    fn show(&self, show: Show) -> Result<(), CliError> {
        match show {
            Show::More(text) => self.output.piece(&text),
            Show::Anew(text) => self.output.piece(&format!("\n(starting over)\n{text}")),
        }
    }

    fn update(&self, pending: &mut Pending, update: &Update) -> Result<(), CliError> {
        match update {
            Update::Restart { turn } => {
                if pending.turn.as_ref() == Some(turn) {
                    pending.telling.restart();
                }
                Ok(())
            }
            Update::Model { turn, .. } => {
                if pending.turn.as_ref() == Some(turn)
                    && let Some(words) = pending.doing.note(update)
                {
                    self.remark(&words);
                }
                Ok(())
            }
            update => {
                if let Some(words) = words::of_update(update) {
                    self.remark(&words);
                }
                Ok(())
            }
        }
    }

    /// Something beside the answer; programs have it as a frame.
    fn remark(&self, text: &str) {
        if !self.output.json {
            self.output.remark(text);
        }
    }

    async fn file(&mut self, file: &SendFile) -> Result<(), CliError> {
        let Some(dir) = &self.save else {
            self.remark(&words::of_file(file, "--save DIR keeps it"));
            return Ok(());
        };
        let path = self.connection.download(file, dir).await?;
        self.output.remark(&format!("[file saved: {}]", path.display()));
        Ok(())
    }
}
