//! Handing messages over to the coordinator, and what a message does to the answer that its person still waits for.

use cloister_protocol::link::{BegunTurn, Cause, Downlink, Trigger};
use cloister_protocol::{ChatId, Level, TurnId, UserId, with_causes};
use cloister_store::StoreError;
use cloister_store::branches::BegunWith;
use cloister_store::inbox::InboxItem;

use super::Actor;
use crate::cells::Owed;
use crate::cells::phrases::phrases;
use crate::commands;
use crate::control::Control;
use crate::error::Fault;
use crate::options::SecondMessage;

/// About as much of what a chat began with is handed over at once.
const PIECE: usize = 1 << 20;

/// How long what somebody wrote is.
fn of_person(cause: &Cause) -> usize {
    match cause {
        Cause::Message { text, .. } => text.len(),
        Cause::TasksEnded { reports } => reports.iter().map(|report| report.result.len()).sum(),
        Cause::Clear => 0,
    }
}

/// What a message of somebody does to the answer they still wait for: as they chose, else as is set up here.
async fn second_message_of(control: &Control, name: &str) -> SecondMessage {
    let usual = control.inner.parts.cells.second_message;
    match control.store().users().second_message(name).await {
        Ok(chosen) => chosen.as_deref().and_then(SecondMessage::parse).unwrap_or(usual),
        Err(error) => {
            tracing::warn!(error = with_causes(&error), "a choice could not be read");
            usual
        }
    }
}

/// What a person is called who gave the tasks of a report.
async fn name_of(control: &Control, person: UserId) -> Result<Option<String>, Fault> {
    match control.store().users().user_by_id(person).await {
        Ok(user) => Ok(Some(user.name.to_string())),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl Actor {
    /// Gives a row to the coordinator, if one is connected; else it is given when one is.
    pub(super) async fn hand_over(&mut self, row: InboxItem) -> Result<(), Fault> {
        let (id, mut owed) = (row.id, Owed::of(&row));
        let person = self.control.provenance().person_of(&row).await?;
        if owed.is_report() {
            owed.from = name_of(&self.control, person).await?;
        }
        let to = self.control.people().languages().language_of(person).await?;
        let waited = self.control.cells().waited(row.received_at);
        let mut prompt = self.control.contexts().context_prompt(self.workspace, row.chat).await?;
        let scene = self.control.cells().scene_of_turn(&row).await?;
        if !prompt.is_empty() {
            prompt.push_str("\n\n");
        }
        prompt.push_str(&scene.lasting);
        let place = (self.workspace, row.chat);
        let model = self.control.models().facts(place, Level::Coordinator).await?;
        let (trigger, chat, now) = (row.trigger()?, row.chat, scene.now);
        let phrases = Box::new(phrases(to));
        let trigger = Trigger { id: trigger, chat, cause: row.cause, prompt, model, now, phrases };
        let turn = TurnId::of_trigger(&trigger.id);
        let instead = match &trigger.cause {
            Cause::Message { instead, .. } => instead.as_ref().and_then(TurnId::message),
            Cause::TasksEnded { .. } | Cause::Clear => None,
        };
        self.hand_over_beginning(chat).await?;
        if self.send(Downlink::Trigger(trigger)).await {
            self.end_replaced(instead, id, &owed).await;
            self.make_way(id, &owed).await;
            if let Some(cell) = &mut self.cell {
                cell.sent.insert(id, owed);
                cell.newest = cell.newest.max(id);
            }
            self.control.metrics().turn_started(self.workspace, id, waited);
            if self.cancelled.contains(&id) {
                self.send(Downlink::CancelTurn { turn }).await;
            }
        }
        Ok(())
    }

    /// A chat that is a branch begins with what was said in the other; its coordinator writes that into its journal
    /// before the first message. In pieces, so that no frame is too large.
    async fn hand_over_beginning(&mut self, chat: ChatId) -> Result<(), Fault> {
        if self.cell.as_ref().is_none_or(|cell| cell.begun || cell.link.is_none()) {
            return Ok(());
        }
        let begun = self.control.store().branches().begun_with(self.workspace, chat).await?;
        let for_agent = begun.into_iter().filter(|one| commands::is_for_agent(&one.said));
        let mut turns = Vec::new();
        let mut size = 0;
        for BegunWith { said, end } in for_agent {
            size += end.text.len() + of_person(&said.cause);
            turns.push(BegunTurn { at: said.received_at / 1000, cause: said.cause, end });
            if size > PIECE {
                self.send(Downlink::Began { chat, turns: std::mem::take(&mut turns) }).await;
                size = 0;
            }
        }
        if !turns.is_empty() {
            self.send(Downlink::Began { chat, turns }).await;
        }
        if let Some(cell) = &mut self.cell {
            cell.begun = true;
        }
        Ok(())
    }

    /// Nobody waits any more for the answers of what a message took the place of. Reports are told with its own.
    async fn end_replaced(&mut self, of: Option<i64>, by: i64, owed: &Owed) {
        let (Some(cell), Some(of)) = (&self.cell, of) else { return };
        let own = cell.sent.iter().filter(|(_, open)| open.from == owed.from && !open.is_report());
        let replaced: Vec<i64> =
            own.map(|(open, _)| *open).filter(|open| (of..by).contains(open)).collect();
        for open in replaced {
            self.cancel(TurnId::of_message(open)).await;
        }
    }

    /// Does to what the same person still waits for what they are set up to. Only where nothing else is under way:
    /// nobody's message ends the turn of somebody else, or is answered in it. A report that was not told to its end is
    /// told with the answer that takes its place.
    async fn make_way(&mut self, row: i64, owed: &Owed) {
        let is_message = owed.from.is_some() && !owed.is_report();
        let Some(cell) = self.cell.as_ref().filter(|_| is_message) else { return };
        let alone = cell.sent.values().all(|open| open.from == owed.from);
        let waits = |open: &i64| *open < row && !self.cancelled.contains(open);
        let earlier = cell.sent.iter().filter(|(open, _)| waits(open));
        let earlier: Vec<_> = earlier.map(|(open, owed)| (*open, owed.is_report())).collect();
        if !alone || earlier.is_empty() {
            return;
        }
        let writer = owed.from.as_deref().unwrap_or_default();
        let does = second_message_of(&self.control, writer).await;
        for (open, is_report) in earlier {
            let turn = TurnId::of_message(open);
            match does {
                SecondMessage::Queue => {}
                SecondMessage::Interrupt if !is_report => self.cancel(turn).await,
                SecondMessage::Steer | SecondMessage::Interrupt => {
                    self.send(Downlink::YieldTurn { turn }).await;
                }
            }
        }
    }

    /// Gives a row that has just been stored to a connected coordinator without reading it back. Not
    /// if it is for us, or something newer has gone ahead of it: then the inbox says what is owed.
    pub(super) async fn hand_over_new(&mut self, row: InboxItem) -> bool {
        let connected = self.cell.as_ref().filter(|cell| cell.link.is_some());
        let in_order = connected.is_some_and(|cell| row.id > cell.newest);
        let for_us = matches!(row.cause, Cause::Clear) || commands::of(&row).is_some();
        let goes_on = !self.control.stops().is_stopped() && !self.clearing;
        in_order && !for_us && goes_on && self.hand_over(row).await.is_ok()
    }
}
