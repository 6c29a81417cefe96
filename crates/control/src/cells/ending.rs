//! The end of a turn: stored once, then told.

use std::time::Duration;

use cloister_protocol::link::{Cause, TaskReport};
use cloister_protocol::{
    AgentFrame, ChatId, End, ErrorCode, MessageId, TurnId, Update, Usage, WorkspaceId,
};
use cloister_store::inbox::InboxItem;

use super::Poke;
use crate::cells::Cells;
use crate::error::Fault;

/// A turn that is owed to someone: what its end needs of its inbox row.
#[derive(Clone, Debug)]
pub(crate) struct Owed {
    row: i64,
    workspace: WorkspaceId,
    pub(super) chat: ChatId,
    /// The person's own id of the message that it answers.
    message: Option<MessageId>,
    /// Its end is for a person to see.
    told: bool,
    /// Who wrote it, or gave the tasks whose end it tells.
    pub(super) from: Option<String>,
    /// The tasks whose end it tells.
    reports: Vec<TaskReport>,
    /// Those of turns that made way for it.
    taken_over: Vec<TaskReport>,
    received_at: i64,
    /// It was a command: no agent has to do with how it ends.
    command: bool,
}

impl Owed {
    pub(crate) fn of(row: &InboxItem) -> Self {
        Self {
            row: row.id,
            workspace: row.workspace,
            chat: row.chat,
            message: crate::inbox::client_id(row),
            told: match row.cause {
                Cause::Clear => false,
                Cause::Message { .. } | Cause::TasksEnded { .. } => true,
            },
            from: match &row.cause {
                Cause::Message { from, .. } => Some(from.clone()),
                Cause::TasksEnded { .. } | Cause::Clear => None,
            },
            reports: match &row.cause {
                Cause::TasksEnded { reports } => reports.clone(),
                Cause::Message { .. } | Cause::Clear => Vec::new(),
            },
            taken_over: Vec::new(),
            received_at: row.received_at,
            command: crate::commands::of(row).is_some(),
        }
    }

    /// It tells how tasks ended: no message of a person waits for it.
    pub(super) fn is_report(&self) -> bool {
        !self.reports.is_empty()
    }

    /// What it has not told because it made way for another.
    pub(super) fn untold(&self, end: &End) -> Vec<TaskReport> {
        match end.error {
            Some(ErrorCode::Continued) => [&self.taken_over[..], &self.reports].concat(),
            Some(_) | None => Vec::new(),
        }
    }

    /// Its answer tells these as well.
    pub(super) fn take_over(&mut self, reports: Vec<TaskReport>) {
        self.taken_over.extend(reports);
    }
}

/// Who says that a turn has ended.
#[derive(Clone, Copy)]
enum EndedBy {
    Control,
    Cell,
}

impl Cells {
    /// Stores the end of a turn once and tells whoever looks.
    pub(crate) async fn finish_turn(&self, owed: &Owed, end: End) -> Result<(), Fault> {
        self.finish(owed, end, EndedBy::Control).await
    }

    /// The same, where a cell says that it has ended: not of what the control plane answers itself.
    pub(super) async fn finish_turn_of_cell(&self, owed: &Owed, end: End) -> Result<(), Fault> {
        self.finish(owed, end, EndedBy::Cell).await
    }

    async fn finish(&self, owed: &Owed, mut end: End, by: EndedBy) -> Result<(), Fault> {
        let turn = end.turn.clone();
        let (usage, error) = (end.usage, end.error);
        end.message = owed.message.clone();
        let frame = owed.told.then_some(AgentFrame::End(end));
        let chat = (owed.workspace, owed.chat);
        let outbox = self.control.store().outbox();
        let ended = match by {
            EndedBy::Control => outbox.end_turn(owed.row, chat, &turn, frame.as_ref()).await?,
            EndedBy::Cell => outbox.end_turn_of_cell(owed.row, chat, &turn, frame.as_ref()).await?,
        };
        if ended.told.is_some() || !owed.told {
            self.note_turn(owed, &turn, usage, error);
        }
        if let Some(item) = ended.told {
            self.control.hub().say_stored(item);
            if error != Some(ErrorCode::Continued) {
                self.say_told(owed);
            }
        }
        if ended.woke.is_some() {
            self.poke((owed.workspace, owed.chat), Poke::Inbox);
        }
        Ok(())
    }

    /// Says of each task that the person has been told of its end, to who waits for several.
    fn say_told(&self, owed: &Owed) {
        for report in owed.taken_over.iter().chain(&owed.reports) {
            let update = Update::Task {
                task: report.task,
                title: report.title.clone(),
                state: report.state,
                note: String::new(),
                parent: None,
                told: true,
            };
            let frame = AgentFrame::Update(update);
            self.control.hub().say(owed.workspace, owed.chat, frame, None);
        }
    }

    /// Starts a chat's context anew, when its coordinator is gone: what it has kept is removed, and only then
    /// does what was said before count no more. Nobody has to believe that a coordinator forgets.
    pub(super) async fn clear_history(&self, row: &InboxItem) -> Result<(), Fault> {
        let (workspace, chat, layout) = (row.workspace, row.chat, self.control.layout().clone());
        let failed = "the journal of a chat could not be removed";
        let removed =
            tokio::task::spawn_blocking(move || layout.forget_journal(workspace, chat)).await;
        let removed = removed.unwrap_or_else(|join| Err(std::io::Error::other(join)));
        removed.map_err(Fault::io(failed))?;
        self.control.store().approvals().history_cleared(workspace, chat).await?;
        let end = End {
            turn: TurnId::of_trigger(&row.trigger()?),
            message: None,
            text: String::new(),
            usage: Usage::default(),
            error: None,
        };
        self.finish_turn(&Owed::of(row), end).await
    }

    /// Counts and logs a turn that has ended.
    fn note_turn(&self, owed: &Owed, turn: &TurnId, usage: Usage, error: Option<ErrorCode>) {
        let took = self.waited(owed.received_at);
        self.control.metrics().turn_ended(owed.workspace, owed.row, error, took);
        // Who mistypes a command is told so; nothing has failed.
        if !owed.command || error == Some(ErrorCode::Internal) {
            self.control.metrics().answer_ended(error);
        }
        tracing::info!(
            workspace = %owed.workspace,
            chat = %owed.chat,
            turn = turn.as_str(),
            outcome = error.map_or("answered", ErrorCode::as_str),
            ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            prompt_tokens = usage.prompt_tokens,
            completion_tokens = usage.completion_tokens,
            "a turn ended"
        );
    }

    /// How long it is since this time of the database.
    pub(crate) fn waited(&self, since: i64) -> Duration {
        let ms = self.control.store().clock.now_ms().saturating_sub(since);
        Duration::from_millis(u64::try_from(ms).unwrap_or(0))
    }

    /// Ends a turn that no agent could end.
    pub(crate) async fn fail_turn(
        &self,
        row: &InboxItem,
        code: ErrorCode,
        text: &str,
    ) -> Result<(), Fault> {
        let end = End {
            turn: TurnId::of_trigger(&row.trigger()?),
            message: None,
            text: text.to_owned(),
            usage: Usage::default(),
            error: Some(code),
        };
        self.finish_turn(&Owed::of(row), end).await
    }
}
