//! What a coordinator says on its link: each frame by its row in the table of requests, about turns that it was
//! handed and nothing else. What the control plane answers itself, a command or a clear, is never handed over.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cloister_policy::reach::{Asker, CellRequest, Distance};
use cloister_protocol::link::{Downlink, Request, Uplink};
use cloister_protocol::{AgentFrame, End, MessageId, ToolCall, ToolResult, TurnId, Update};
use cloister_store::inbox::{InboxState, inbox_id};
use tokio::time::Instant;

use super::{Actor, NOTE_AFTER};
use crate::cells::{CellError, requests};

/// Requests for one turn, however often its coordinator dies. An honest one makes a few for each of its steps.
const MOST_REQUESTS: u32 = 1000;

impl Actor {
    pub(super) async fn take_frame(&mut self, frame: Uplink) -> Result<(), CellError> {
        let kind = CellRequest::of_frame(&frame);
        let for_us = kind.row().reach(Asker::Coordinator).covers(Distance::OwnChat);
        match frame {
            // Carried out beside, and refused there in words.
            Uplink::Request(request) => self.carry_out(request),
            _ if !for_us => {
                tracing::debug!(workspace = %self.workspace, chat = %self.chat, frame = kind.as_str(), "a frame is not for a coordinator");
            }
            Uplink::Hello { version } => {
                tracing::debug!(workspace = %self.workspace, chat = %self.chat, version, "the coordinator is there");
            }
            Uplink::Accepted { id } => {
                if let Some(id) = self.handed(&id) {
                    self.journaled.push_back((Instant::now() + NOTE_AFTER, id));
                }
            }
            Uplink::TextChunk(chunk) => {
                self.say_live(&chunk.turn.clone(), AgentFrame::TextChunk(chunk));
            }
            Uplink::ToolCall(ToolCall { turn: Some(turn), id, name, arguments, task: _ }) => {
                let call = ToolCall { turn: Some(turn.clone()), task: None, id, name, arguments };
                self.say_live(&turn, AgentFrame::ToolCall(call));
            }
            Uplink::ToolResult(ToolResult { turn: Some(turn), id, ok, output, task: _ }) => {
                let result = ToolResult { turn: Some(turn.clone()), task: None, id, ok, output };
                self.say_live(&turn, AgentFrame::ToolResult(result));
            }
            Uplink::Update(Update::Restart { turn }) => {
                let update = Update::Restart { turn: turn.clone() };
                self.say_live(&turn, AgentFrame::Update(update));
            }
            Uplink::Update(Update::Model { turn, doing, attempt, thought }) => {
                let update = Update::Model { turn: turn.clone(), doing, attempt, thought };
                self.say_live(&turn, AgentFrame::Update(update));
            }
            Uplink::End(end) => self.end_turn(end).await?,
            // Of no turn, or not a coordinator's.
            Uplink::ToolCall(_)
            | Uplink::ToolResult(_)
            | Uplink::Update(_)
            | Uplink::Step { .. }
            | Uplink::Todos { .. }
            | Uplink::Finish(_) => {}
        }
        Ok(())
    }

    /// Carries a request out beside the actor: a large file must not hold up what else it says.
    fn carry_out(&mut self, request: Request) {
        let asked = self.count(&request);
        let Some(link) = self.cell.as_ref().and_then(|cell| cell.link.as_ref()) else { return };
        let down = link.down.clone();
        let permit = Arc::clone(&self.requests).try_acquire_owned();
        let handed = request.turn.as_ref().is_some_and(|turn| self.was_handed(turn));
        let (control, key) = (self.control.clone(), (self.workspace, self.chat));
        self.control.inner.crew.go("request of a cell", async move {
            let result = match permit {
                Ok(_permit) if asked > MOST_REQUESTS => requests::too_many_of_turn(),
                Ok(_permit) if handed => requests::answer(&control, key, &request).await,
                Ok(_permit) => requests::no_open_turn(),
                Err(_full) => requests::too_many(),
            };
            // A closed link shows itself elsewhere; the agent asks again with the same id.
            drop(down.send(Downlink::Reply { id: request.id, result }).await);
        });
    }

    /// How many requests were made for a turn that this cell was handed, with this one.
    fn count(&mut self, request: &Request) -> u32 {
        let Some(row) = request.turn.as_ref().and_then(TurnId::message) else { return 0 };
        let sent = self.cell.as_ref().map(|cell| &cell.sent);
        if !sent.is_some_and(|sent| sent.contains_key(&row)) {
            return 0;
        }
        let asked = self.asked.entry(row).or_default();
        *asked = asked.saturating_add(1);
        *asked
    }

    /// The inbox row of a trigger that this cell was handed.
    fn handed(&self, trigger: &MessageId) -> Option<i64> {
        let id = inbox_id(trigger.as_str())?;
        self.cell.as_ref()?.sent.contains_key(&id).then_some(id)
    }

    /// Whether this cell was handed what started a turn, and has not ended it.
    fn was_handed(&self, turn: &TurnId) -> bool {
        let sent = self.cell.as_ref().map(|cell| &cell.sent);
        sent.zip(turn.message()).is_some_and(|(sent, id)| sent.contains_key(&id))
    }

    /// Passes a live frame on, if its turn is one that this cell was handed.
    fn say_live(&mut self, turn: &TurnId, frame: AgentFrame) {
        if self.was_handed(turn) {
            self.active_at = Instant::now();
            self.control.hub().say(self.workspace, self.chat, frame, None);
        }
    }

    async fn end_turn(&mut self, end: End) -> Result<(), CellError> {
        let turn = end.turn.clone();
        let Some(id) = turn.message() else {
            return Ok(());
        };
        let owed = self.cell.as_ref().and_then(|cell| cell.sent.get(&id)).cloned();
        let Some(owed) = owed else {
            return self.end_again(id, turn).await;
        };
        self.active_at = Instant::now();
        let untold = owed.untold(&end);
        self.control.cells().finish_turn_of_cell(&owed, end).await?;
        if let Some(cell) = &mut self.cell {
            cell.sent.remove(&id);
            let next =
                cell.sent.iter_mut().filter(|(row, _)| **row > id).min_by_key(|(row, _)| **row);
            if let Some((_, next)) = next {
                next.take_over(untold);
            }
        }
        self.deaths.remove(&id);
        self.asked.remove(&id);
        self.cancelled.remove(&id);
        self.send(Downlink::Stored { turn }).await;
        self.look_at_budget();
        if self.behind || self.clearing {
            self.reconcile().await;
        }
        Ok(())
    }

    /// A little later, and once for all the turns that end until then.
    fn look_at_budget(&self) {
        let waits = Arc::clone(&self.looks_at_budget);
        if waits.swap(true, Ordering::SeqCst) {
            return;
        }
        let (workspace, chat) = (self.workspace, self.chat);
        self.later("looking at the budget", move |control| async move {
            waits.store(false, Ordering::SeqCst);
            Ok(control.tasks().warn_of_budget(workspace, chat).await?)
        });
    }

    /// What it was not handed on this link, it can't end. What it ended on a link before, it hears again that it
    /// is stored; else it would say so for ever.
    async fn end_again(&mut self, id: i64, turn: TurnId) -> Result<(), CellError> {
        let row = self.control.store().inbox().inbox_item(id).await?;
        let stored = row.is_some_and(|row| {
            (row.workspace, row.chat) == (self.workspace, self.chat)
                && row.state == InboxState::Answered
        });
        if stored {
            self.send(Downlink::Stored { turn }).await;
        }
        Ok(())
    }
}
