//! First words in a room: said once, whatever is forgotten here.
//!
//! That they were said is noted on the homeserver, as data of this account: a reset here forgets rooms, and greets
//! nobody again.

use cloister_kit::PlaneError;
use cloister_protocol::ErrorCode;
use cloister_protocol::surface::{
    Conversation, ConversationKind, Conversations, SetShown, Welcome,
};
use matrix_sdk::Room;
use matrix_sdk::ruma::events::RoomAccountDataEventType;
use matrix_sdk::ruma::{OwnedRoomId, RoomId};
use serde::Deserialize;
use serde_json::json;

use super::Lobbies;
use super::making::Owner;
use super::server::{failed, raw};

/// What this account notes for itself about a room that it has said its first words in.
const GREETED: &str = "dev.cloister.greeted";

/// Said once where a person writes to us in the clear.
const IN_THE_CLEAR_HERE: &str = "⚠️ This room is not encrypted: whoever runs your homeserver can read what \
     we write here. For anything private use a room that is.";

#[derive(Deserialize)]
struct Greeted {
    /// The room that the words were about.
    about: String,
}

impl Lobbies {
    /// Says once in each lobby where the chat's own room is.
    pub(super) async fn point_from_lobbies(&self) -> Result<(), PlaneError> {
        let lobbies = self.unshown_lobbies().await?;
        if lobbies.is_empty() {
            return Ok(());
        }
        let rows = self.bot.plane.call(Conversations { connector: self.bot.id() }).await?;
        for lobby in lobbies {
            let first = rows.iter().find(|row| {
                row.kind == ConversationKind::Room
                    && (row.workspace, row.chat) == (lobby.workspace, lobby.chat)
                    && row.shown_title.is_some()
            });
            let place = first.and_then(|row| row.external_id.as_deref());
            let id = lobby.external_id.as_deref().and_then(|id| id.parse::<OwnedRoomId>().ok());
            let room = id.and_then(|id| self.bot.client.get_room(&id));
            let (Some(place), Some(room)) = (place, room) else { continue };
            let words = format!(
                "I have invited you to your Space “Cloister” and to [{}](https://matrix.to/#/{place}?via={}), \
                 where we can talk. What you write here goes to the same chat.",
                lobby.chat,
                self.bot.making().server()?,
            );
            self.greet(&room, ("lobby", place), words).await?;
            let (conversation, title) = (lobby.id, String::new());
            self.bot.plane.call(SetShown { conversation, title, archived: false }).await?;
        }
        Ok(())
    }

    /// Whether what is said in a room can be read by whoever runs the homeserver.
    async fn is_in_the_clear(&self, room: &Room) -> Result<bool, PlaneError> {
        let sealed = self.bot.encryption().seals(room).await;
        sealed
            .map(|sealed| !sealed)
            .map_err(|error| PlaneError::refused(ErrorCode::Internal, error.to_string()))
    }

    pub(super) async fn unshown_lobbies(&self) -> Result<Vec<Conversation>, PlaneError> {
        let mut rows = self.bot.plane.call(Conversations { connector: self.bot.id() }).await?;
        rows.retain(|row| {
            row.kind == ConversationKind::Lobby && row.shown_title.is_none() && row.broken.is_none()
        });
        Ok(rows)
    }

    /// Says the first words in the room of a person's first chat.
    pub(super) async fn welcome_in(&self, room: &RoomId, owner: &Owner) -> Result<(), PlaneError> {
        let words = self.bot.plane.call(Welcome { user: owner.user }).await?;
        let room = self.bot.homeserver().room(room).await?;
        self.greet(&room, ("welcome", room.room_id().as_str()), words).await
    }

    /// Says first words about a room, unless they were said; with a warning where whoever runs the homeserver reads
    /// along.
    async fn greet(
        &self,
        room: &Room,
        (key, about): (&str, &str),
        mut words: String,
    ) -> Result<(), PlaneError> {
        let kind = || RoomAccountDataEventType::from(GREETED);
        let note = room.account_data(kind()).await;
        let note = note.map_err(failed("a note about a room could not be read"))?;
        let note = note.and_then(|note| note.get_field::<Greeted>("content").ok().flatten());
        if note.is_some_and(|note| note.about == about) {
            return Ok(());
        }
        if self.is_in_the_clear(room).await? {
            words.push_str("\n\n");
            words.push_str(IN_THE_CLEAR_HERE);
        }
        self.say_surely(room, key, &words).await?;
        let kept = room.set_account_data_raw(kind(), raw(&json!({"about": about}))?).await;
        kept.map(drop).map_err(failed("a note about a room could not be kept"))
    }
}
