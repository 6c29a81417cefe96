//! One room that nobody knows: looked at on the server, and placed if it is ours.

use std::collections::HashSet;

use cloister_kit::PlaneError;
use cloister_protocol::surface::{ChatsChanged, Conversation, ConversationAt};
use matrix_sdk::Room;

use super::Comparison;
use super::decide::decide;
use super::graph::Scope;

impl Comparison {
    /// Places a room by what its mark on the server says, by the same rules as a comparison of all. None: it
    /// has no place here.
    pub(crate) async fn repair_room(
        &self,
        room: &Room,
    ) -> Result<Option<Conversation>, PlaneError> {
        let _making = self.bot.rooms.making.lock().await;
        let place = room.room_id().as_str();
        let here = ConversationAt { connector: self.bot.id(), place: place.to_owned() };
        if let Some(known) = self.bot.plane.call(here.clone()).await? {
            return Ok(Some(known));
        }
        let seen = [self.bot.survey().see_there(room.room_id()).await?];
        let joined: HashSet<String> =
            self.bot.client.joined_rooms().iter().map(|room| room.room_id().to_string()).collect();
        let known = self.known(&seen).await?;
        let plan = decide(&seen, &joined, &known, Scope::OneRoom);
        self.carry_out(&plan).await?;
        self.close_shared(&plan, &seen).await?;
        let repaired = self.bot.plane.call(here).await?;
        for reason in plan.skipped.iter().chain(&plan.conflicts) {
            tracing::info!(room = place, why = reason.why, "a room nobody knows was not placed");
        }
        if repaired.is_some() {
            tracing::info!(room = place, "a room that was not known was placed by its mark");
            self.bot.plane.tell(ChatsChanged {});
        }
        Ok(repaired)
    }
}
