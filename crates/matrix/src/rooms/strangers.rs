//! Rooms of people nobody is linked to: kept for a day so that they can ask for a code there, few at a time,
//! and never given to a model.

use cloister_kit::{PlaneError, part};
use matrix_sdk::Room;
use matrix_sdk::ruma::events::RoomAccountDataEventType;
use matrix_sdk::ruma::{OwnedUserId, UserId};
use serde_json::json;

use super::server::{failed, raw};
use crate::bot::Bot;

/// What this account notes for itself about such a room, with since when.
const WAITING: &str = "dev.cloister.stranger";
const MOST_ROOMS: usize = 50;
const KEPT_MS: i64 = 24 * 60 * 60 * 1000;

part! {
    /// The rooms of people who are not linked yet.
    pub(crate) struct Strangers of Bot;
}

impl Strangers {
    /// Notes that a room is kept for a stranger.
    pub(super) async fn keep_for_pairing(&self, room: &Room) -> Result<(), PlaneError> {
        let since = json!({"since": self.bot.plane.now_ms()});
        let kind = RoomAccountDataEventType::from(WAITING);
        let kept = room.set_account_data_raw(kind, raw(&since)?).await;
        kept.map(drop).map_err(failed("a note about a room could not be kept"))
    }

    /// Lets in who was linked meanwhile; leaves rooms that were kept long enough, or that nobody is in.
    pub(super) async fn tend(&self) -> Result<(), PlaneError> {
        let placed = self.bot.survey().placed().await?;
        let mut kept = Vec::new();
        for room in self.bot.client.joined_rooms() {
            if placed.contains(room.room_id().as_str()) || room.is_space() {
                continue;
            }
            match self.tend_unplaced(&room).await {
                Ok(Some(since)) => kept.push((since, room)),
                Ok(None) => {}
                Err(error) => {
                    let room = room.room_id();
                    tracing::warn!(%room, error = error.chain(), "a room without a place was not looked after");
                }
            }
        }
        kept.sort_by_key(|(since, _)| *since);
        let too_many = kept.len().saturating_sub(MOST_ROOMS);
        for (_, room) in kept.iter().take(too_many) {
            self.bot.homeserver().leave(room).await?;
        }
        Ok(())
    }

    /// Whether a room is kept in which this stranger can ask for a code.
    pub(super) async fn has_room_with(&self, stranger: &UserId) -> Result<bool, PlaneError> {
        let placed = self.bot.survey().placed().await?;
        for room in self.bot.client.joined_rooms() {
            if placed.contains(room.room_id().as_str()) || room.is_space() {
                continue;
            }
            let with = self.bot.survey().others(&room).await?;
            if with == [stranger.as_str()] && self.kept_since(&room).await?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Since when the room is kept for a stranger, if it still is.
    async fn tend_unplaced(&self, room: &Room) -> Result<Option<i64>, PlaneError> {
        if !room.is_state_fully_synced()
            || self.bot.survey().marked(room.room_id()).await?.is_some()
        {
            return Ok(None);
        }
        let others = self.bot.survey().others(room).await?;
        if let [other] = others.as_slice()
            && let Some(person) = self.bot.comparison().person(other).await?
            && let Ok(account) = other.parse::<OwnedUserId>()
        {
            if self.bot.lobbies().not_direct(room, &account).await?.is_none() {
                self.bot.lobbies().open_lobby(room, person).await?;
            }
            return Ok(None);
        }
        let Some(since) = self.kept_since(room).await? else { return Ok(None) };
        let now = self.bot.plane.now_ms();
        if others.is_empty() || now.saturating_sub(since) > KEPT_MS {
            self.bot.homeserver().leave(room).await?;
            return Ok(None);
        }
        Ok(Some(since))
    }

    async fn kept_since(&self, room: &Room) -> Result<Option<i64>, PlaneError> {
        let note = room.account_data(RoomAccountDataEventType::from(WAITING)).await;
        let note = note.map_err(failed("a note about a room could not be read"))?;
        let content =
            note.and_then(|note| note.get_field::<serde_json::Value>("content").ok().flatten());
        Ok(content.and_then(|content| content.get("since").and_then(serde_json::Value::as_i64)))
    }

    /// Leaves a stranger's room that nobody else is in any more.
    pub(super) async fn stranger_left(&self, room: &Room) -> Result<(), PlaneError> {
        if self.kept_since(room).await?.is_some()
            && self.bot.survey().others(room).await?.is_empty()
        {
            self.bot.homeserver().leave(room).await?;
        }
        Ok(())
    }
}
