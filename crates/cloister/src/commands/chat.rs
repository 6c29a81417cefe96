//! `cloister chat`: one message and its answer, or a conversation. A client of the agent socket like
//! any other; the connection may break as often as it likes.

use std::io::{BufRead, IsTerminal, Read};
use std::process::ExitCode;
use std::time::Duration;

use cloister_protocol::{
    AgentFrame, Ask, End, ErrorCode, Message, MessageId, SendFile, TaskId, TaskState, TurnId,
    Update,
};
use tokio::time::Instant;

use super::Context;
use crate::args::Chat;
use crate::client::Client;
use crate::connection::Connection;
use crate::output::{CliError, Output};

pub(super) async fn run(context: Context, chat: Chat) -> Result<ExitCode, CliError> {
    let client = Client::running(&context.data).await?;
    let user = client.user(chat.user.user.as_ref()).await?;
    let mut talk = Talk {
        output: context.output,
        connection: Connection::open(&context.data, &client, user, chat.chat).await?,
        wait: chat.wait,
        timeout: Duration::from_secs(chat.timeout.max(1)),
        save: chat.save.clone(),
        live: std::io::stdout().is_terminal() && !context.output.json,
    };
    let text = chat.text.join(" ");
    if text.is_empty() && chat.files.is_empty() && std::io::stdin().is_terminal() {
        return talk.converse().await;
    }
    let text = if text.is_empty() && chat.files.is_empty() { read_stdin()? } else { text };
    let mut attachments = Vec::new();
    for file in &chat.files {
        attachments.push(talk.connection.upload(file).await?);
    }
    let message = Message { id: new_id()?, chat: None, text, attachments, from: None };
    let end = talk.say(message).await?;
    Ok(if end.error.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn read_stdin() -> Result<String, CliError> {
    let mut text = String::new();
    let limit = u64::try_from(cloister_protocol::MAX_TEXT_BYTES).unwrap_or(u64::MAX) + 1;
    std::io::stdin()
        .lock()
        .take(limit)
        .read_to_string(&mut text)
        .map_err(CliError::io("standard input could not be read"))?;
    Ok(text.trim_end_matches('\n').to_owned())
}

fn new_id() -> Result<MessageId, CliError> {
    let mut bytes = [0u8; 12];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|errno| CliError::io("no message id could be made")(errno.into()))?;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    hex.parse().map_err(|error| cloister_control::ControlError::from(error).into())
}

struct Talk {
    output: Output,
    connection: Connection,
    wait: bool,
    timeout: Duration,
    save: Option<std::path::PathBuf>,
    /// Show text as it comes.
    live: bool,
}

/// What is being waited for.
struct Pending {
    message: MessageId,
    turn: Option<TurnId>,
    end: Option<End>,
    /// The turn delegated something.
    delegated: bool,
    /// Tasks that were queued since, and not cancelled.
    tasks: std::collections::HashSet<TaskId>,
    /// What became of them has been said, or there is nothing more to say.
    told: bool,
}

impl Pending {
    /// A cancelled task is not reported by a turn of its own.
    fn follow(&mut self, update: &Update) {
        match update {
            Update::Task { task, state: TaskState::Queued, .. } if self.turn.is_some() => {
                self.tasks.insert(*task);
            }
            Update::Task { task, state: TaskState::Cancelled, .. } => {
                self.told |= self.tasks.remove(task) && self.tasks.is_empty();
            }
            Update::Task { .. }
            | Update::Restart { .. }
            | Update::Notice { .. }
            | Update::Progress { .. }
            | Update::Blocked { .. }
            | Update::Todos { .. } => {}
        }
    }
}

impl Talk {
    async fn converse(&mut self) -> Result<ExitCode, CliError> {
        self.output
            .note("Write to your agent; an empty line or Ctrl-D ends. /help lists commands.");
        loop {
            self.output.piece("> ")?;
            let line = tokio::task::spawn_blocking(|| {
                let mut line = String::new();
                std::io::stdin().lock().read_line(&mut line).map(|_| line)
            })
            .await
            .map_err(|error| CliError::new(ErrorCode::Internal, error.to_string()))?
            .map_err(CliError::io("the terminal is gone"))?;
            let text = line.trim().to_owned();
            if text.is_empty() {
                return Ok(ExitCode::SUCCESS);
            }
            let message =
                Message { id: new_id()?, chat: None, text, attachments: Vec::new(), from: None };
            if let Err(error) = self.say(message).await {
                self.output.note(&format!("error: {}", error.body.message));
            }
        }
    }

    /// Sends a message and shows everything until its answer is whole.
    async fn say(&mut self, message: Message) -> Result<End, CliError> {
        let deadline = Instant::now() + self.timeout;
        let mut pending = Pending {
            message: message.id.clone(),
            turn: None,
            end: None,
            delegated: false,
            tasks: std::collections::HashSet::new(),
            told: false,
        };
        self.connection.send(message, deadline).await?;
        loop {
            let frame = self.connection.next(deadline).await?;
            if self.output.json {
                self.output.json_line(&frame)?;
            }
            self.take(&mut pending, frame).await?;
            let waits = self.wait && pending.delegated && !pending.told;
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
                self.output.piece(&chunk.text)?;
            }
            AgentFrame::ToolCall(call) if call.turn.is_some() && call.turn == pending.turn => {
                pending.delegated |= call.name == "delegate";
            }
            AgentFrame::Update(update) => {
                pending.follow(&update);
                self.update(update)?;
            }
            AgentFrame::Ask(ask) => self.question(&ask),
            AgentFrame::SendFile(file) => self.file(&file).await?,
            AgentFrame::End(end) => self.end(pending, end)?,
            AgentFrame::Error(error) if error.id.as_deref() == Some(pending.message.as_str()) => {
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

    fn end(&mut self, pending: &mut Pending, end: End) -> Result<(), CliError> {
        let own = pending.turn.as_ref() == Some(&end.turn);
        if !self.output.json {
            match (own, self.live) {
                (true, true) => self.output.piece("\n")?,
                (true, false) => self.output.line(&end.text)?,
                // What was said meanwhile is no part of this answer, unless it is waited for.
                (false, _) if pending.end.is_some() && self.wait => self.output.line(&end.text)?,
                (false, _) => self.output.note(&end.text),
            }
        }
        if own {
            pending.end = Some(end);
        } else if end.message.is_none() && pending.end.is_some() {
            pending.told = true;
        }
        Ok(())
    }

    fn update(&self, update: Update) -> Result<(), CliError> {
        if self.output.json {
            return Ok(());
        }
        match update {
            Update::Restart { .. } if self.live => self.output.piece("\n(starting over)\n"),
            Update::Task { task, title, state, .. } if state != TaskState::Queued => {
                self.output.note(&format!("[{task} {title}: {}]", state.as_str()));
                Ok(())
            }
            Update::Notice { text } => {
                self.output.note(&text);
                Ok(())
            }
            Update::Blocked { host, reason, allow, .. } => {
                let allow = allow.map(|command| format!(" Allow it with {command}."));
                self.output.note(&format!("[{host}: {reason}.{}]", allow.unwrap_or_default()));
                Ok(())
            }
            Update::Restart { .. }
            | Update::Task { .. }
            | Update::Progress { .. }
            | Update::Todos { .. } => Ok(()),
        }
    }

    fn question(&self, ask: &Ask) {
        if !self.output.json {
            let id = ask.approval;
            self.output.note(&format!(
                "{}\n{}\nAnswer with /approve {id} or /deny {id}.",
                ask.title, ask.text
            ));
        }
    }

    async fn file(&mut self, file: &SendFile) -> Result<(), CliError> {
        let Some(dir) = &self.save else {
            if !self.output.json {
                self.output.note(&format!(
                    "[file: {} ({} bytes); --save DIR keeps it]",
                    file.name, file.size
                ));
            }
            return Ok(());
        };
        let path = self.connection.download(file, dir).await?;
        self.output.note(&format!("[file saved: {}]", path.display()));
        Ok(())
    }
}
