//! What was said in a chat and what was told there, for who shows it.

use std::ops::Range;

use cloister_protocol::{ChatId, TurnId, WorkspaceId};
use cloister_store::history::{Cursor, HistoryPage};
use cloister_store::inbox::{Backlog, InboxItem};
use cloister_store::outbox::{OutboxItem, TranscriptLine};

use super::Inbox;
use crate::error::Fault;

impl Inbox {
    /// What is not answered yet.
    pub async fn backlog(&self) -> Result<Backlog, Fault> {
        Ok(self.control.store().inbox().backlog().await?)
    }

    /// The message that began a turn.
    pub async fn said(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        id: i64,
    ) -> Result<Option<InboxItem>, Fault> {
        Ok(self.control.store().inbox().said(workspace, chat, id).await?)
    }

    /// What was taken the place of in a chat: from which row of the inbox on, and before which.
    pub async fn replaced(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<Vec<Range<i64>>, Fault> {
        Ok(self.control.store().inbox().replaced(workspace, chat).await?)
    }

    /// The newest row that was told in a chat.
    pub async fn last_told(&self, workspace: WorkspaceId, chat: ChatId) -> Result<i64, Fault> {
        Ok(self.control.store().inbox().last_told(workspace, chat).await?)
    }

    /// What was said and told, a page of it.
    pub async fn history(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        cursor: Cursor,
        count: usize,
    ) -> Result<HistoryPage, Fault> {
        Ok(self.control.store().inbox().history(workspace, chat, cursor, count).await?)
    }

    /// The last lines of a chat, as text.
    pub async fn transcript(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        count: u32,
    ) -> Result<Vec<TranscriptLine>, Fault> {
        Ok(self.control.store().outbox().transcript(workspace, chat, count).await?)
    }

    /// What was told in a chat after a row.
    pub async fn told_after(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        row: i64,
    ) -> Result<Vec<OutboxItem>, Fault> {
        Ok(self.control.store().outbox().outbox_after(workspace, chat, row).await?)
    }

    /// What was told in a turn.
    pub async fn told_in(
        &self,
        workspace: WorkspaceId,
        turn: &TurnId,
    ) -> Result<Vec<OutboxItem>, Fault> {
        Ok(self.control.store().outbox().outbox_of_turn(workspace, turn).await?)
    }
}
