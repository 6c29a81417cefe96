//! Handing messages over to the coordinator, and what a message does to the answer that its person still waits for.

use cloister_protocol::link::{Cause, Downlink, Trigger};
use cloister_protocol::{Level, TurnId};
use cloister_store::inbox::InboxItem;

use super::Actor;
use crate::cells::Owed;
use crate::commands;
use crate::error::Fault;
use crate::options::SecondMessage;

impl Actor {
    /// Gives a row to the coordinator, if one is connected; else it is given when one is.
    pub(super) async fn hand_over(&mut self, row: InboxItem) -> Result<(), Fault> {
        let (id, owed) = (row.id, Owed::of(&row));
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
        let trigger = Trigger { id: trigger, chat, cause: row.cause, prompt, model, now };
        let turn = TurnId::of_trigger(&trigger.id);
        if self.send(Downlink::Trigger(trigger)).await {
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

    /// Does to what the same person still waits for what they are set up to. Only where nothing else is under way:
    /// nobody's message ends the turn of somebody else, or is answered in it.
    async fn make_way(&mut self, row: i64, owed: &Owed) {
        let Some(cell) = self.cell.as_ref().filter(|_| owed.from.is_some()) else { return };
        let alone = cell.sent.values().all(|open| open.from == owed.from);
        let earlier: Vec<i64> = cell.sent.keys().copied().filter(|open| *open < row).collect();
        if !alone {
            return;
        }
        for open in earlier {
            let turn = TurnId::of_message(open);
            match self.control.inner.parts.cells.second_message {
                SecondMessage::Queue => {}
                SecondMessage::Steer => {
                    self.send(Downlink::YieldTurn { turn }).await;
                }
                SecondMessage::Interrupt => self.cancel(turn).await,
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
