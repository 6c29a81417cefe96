//! What is said anywhere, and what of it concerns a connector.

use cloister_protocol::{AgentFrame, ApprovalId, TurnId, Update, with_causes};
use cloister_store::StoreError;
use cloister_store::conversations::ConversationId;
use tokio::time::Instant;

use super::Courier;
use super::settling::asked_by;

use crate::hub::Overheard;

/// Turns and conversations that are remembered; beyond it they are asked for again.
const MOST_REMEMBERED: usize = 20_000;

impl Courier {
    pub(super) async fn hear(&mut self, heard: Overheard) {
        if let Err(error) = self.try_hear(heard).await {
            // What is stored is found with the next look at everything.
            tracing::error!(
                error = with_causes(&error),
                surface = self.surface.name(),
                "something said could not be followed"
            );
        }
    }

    async fn try_hear(&mut self, heard: Overheard) -> Result<(), StoreError> {
        let now = Instant::now();
        match &*heard.said.frame {
            AgentFrame::Accepted { turn, .. } => {
                if let (Some(row), Some(place)) = (turn.message(), heard.conversation)
                    && self.is_ours(place).await?
                {
                    self.remember(row, Some(place));
                    self.put(place, |desk| desk.sign(row, now));
                }
            }
            AgentFrame::TextChunk(chunk) => {
                if let Some((row, place)) = self.written_here(&chunk.turn).await? {
                    self.put(place, |desk| desk.add(row, chunk, now));
                }
            }
            AgentFrame::Update(Update::Restart { turn }) => {
                if let Some((row, place)) = self.written_here(turn).await? {
                    self.put(place, |desk| desk.restart(row));
                }
            }
            // That it is still at it keeps the sign of it.
            AgentFrame::Update(Update::Model { turn, .. }) => self.sign_of(Some(turn), now).await?,
            AgentFrame::ToolCall(call) => self.sign_of(call.turn.as_ref(), now).await?,
            AgentFrame::ToolResult(result) => self.sign_of(result.turn.as_ref(), now).await?,
            AgentFrame::Update(Update::Answered { approval, left: 0, .. }) => {
                self.answered(*approval).await?;
            }
            AgentFrame::End(_)
            | AgentFrame::Ask(_)
            | AgentFrame::SendFile(_)
            | AgentFrame::Error(_)
            | AgentFrame::Update(_) => {}
        }
        if let (Some(_row), Some(place)) = (heard.said.outbox, heard.conversation)
            && self.is_ours(place).await?
        {
            self.put(place, super::Desk::look);
        }
        if let AgentFrame::End(end) = &*heard.said.frame
            && let Some(row) = end.turn.message()
        {
            self.turns.remove(&row);
        }
        Ok(())
    }

    async fn sign_of(&mut self, turn: Option<&TurnId>, now: Instant) -> Result<(), StoreError> {
        if let Some(turn) = turn
            && let Some((row, place)) = self.written_here(turn).await?
        {
            self.put(place, |desk| desk.sign(row, now));
        }
        Ok(())
    }

    /// A question is settled: its message shows that, wherever it is.
    async fn answered(&mut self, id: ApprovalId) -> Result<(), StoreError> {
        let approval = self.control.store().approvals().approval(id).await?;
        let asked = asked_by(&self.control, &approval).await?;
        if let Some(place) = asked.and_then(|row| row.conversation)
            && self.is_ours(place).await?
        {
            self.put(place, |desk| desk.settle(id));
        }
        Ok(())
    }

    /// The inbox row of a turn and where its message was written, if on this connector.
    async fn written_here(
        &mut self,
        turn: &TurnId,
    ) -> Result<Option<(i64, ConversationId)>, StoreError> {
        let Some(row) = turn.message() else { return Ok(None) };
        if let Some(known) = self.turns.get(&row) {
            return Ok(known.map(|place| (row, place)));
        }
        let origin = self.control.store().outbox().origin_of_turn(row).await?;
        let place = match origin.and_then(|(place, _)| place) {
            Some(place) if self.is_ours(place).await? => Some(place),
            Some(_) | None => None,
        };
        self.remember(row, place);
        Ok(place.map(|place| (row, place)))
    }

    fn remember(&mut self, row: i64, place: Option<ConversationId>) {
        if self.turns.len() >= MOST_REMEMBERED {
            self.turns.clear();
        }
        self.turns.insert(row, place);
    }

    /// Whether a conversation is on this connector. That never changes.
    async fn is_ours(&mut self, place: ConversationId) -> Result<bool, StoreError> {
        if let Some(known) = self.ours.get(&place) {
            return Ok(*known);
        }
        let found = self.control.store().conversations().conversation_by_id(place).await?;
        let ours = found.is_some_and(|found| found.connector == self.surface.connector());
        if self.ours.len() >= MOST_REMEMBERED {
            self.ours.clear();
        }
        self.ours.insert(place, ours);
        Ok(ours)
    }
}
