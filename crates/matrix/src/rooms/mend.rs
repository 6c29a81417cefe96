//! Making the rooms show the chats: whatever the control plane wants and the server does not have yet.
//!
//! Each step is looked for before it is done, and what is shown is written down last: a kill anywhere is mended
//! by the next run.

use cloister_kit::PlaneError;
use cloister_protocol::surface::{
    Conversation, ConversationById, ConversationKind, ConversationsToMend, NewConversation,
    PutConversation, SetHome, SetShown, ToMend,
};
use futures_util::FutureExt;
use matrix_sdk::ruma::{OwnedRoomId, RoomId};
use serde_json::json;

use super::Rooms;
use super::graph::{FIRST_CHAT, NOT_IN_IT};
use super::making::Owner;
use super::naming::{room_name, title_in};
use super::server::is_refusal;

const ARCHIVED_TOPIC: &str =
    "This chat is archived: its files and history stay. Open it again from another chat.";

impl Rooms {
    /// Makes, renames and puts away rooms as the control plane wants it; lets in who is known by now, and leaves
    /// where nobody is left. One failure does not keep the rest from being mended.
    pub(crate) async fn mend(&self) -> Result<(), PlaneError> {
        let mut worst = Ok(());
        let mut note = |done: Result<(), PlaneError>| {
            if done.is_err() {
                worst = done;
            }
        };
        note(self.bot.strangers().tend().await);
        note(self.bot.lobbies().tend().await);
        note(self.tend_gone().await);
        for item in self.bot.plane.call(ConversationsToMend { connector: self.bot.id() }).await? {
            if self.bot.plane.stopping() {
                break;
            }
            let mended = self.mend_one(&item).await;
            if let Err(error) = &mended {
                let chat = format!("{} {}", item.conversation.workspace, item.conversation.chat);
                tracing::warn!(chat, error = error.chain(), "a room does not show its chat yet");
            }
            note(mended);
        }
        note(self.bot.lobbies().point_from_lobbies().await);
        note(self.bot.members().welcome_back().await);
        worst
    }

    async fn mend_one(&self, item: &ToMend) -> Result<(), PlaneError> {
        let _making = self.bot.rooms.making.lock().await;
        // Somebody else may have been faster.
        let known = ConversationById { conversation: item.conversation.id };
        let Some(row) = self.bot.plane.call(known).await? else { return Ok(()) };
        let Some(user) = row.user else { return Ok(()) };
        let Some(owner) = self.bot.making().owner(user).await? else {
            tracing::debug!(%user, "a room is wanted by somebody without an account here");
            return Ok(());
        };
        let home = self.bot.making().ensure_home(&owner).await?;
        let row = match row.external_id {
            Some(_) => row,
            None => {
                let room = self.bot.making().ensure_room(&row, &item.title, &owner, &home).await?;
                let new = NewConversation {
                    connector: self.bot.id(),
                    external_id: Some(room.to_string()),
                    chat: (row.workspace, row.chat),
                    kind: ConversationKind::Room,
                    user: Some(user),
                };
                self.bot.plane.call(PutConversation { new }).await?
            }
        };
        let Some(id) = row.external_id.as_ref().and_then(|id| id.parse::<OwnedRoomId>().ok())
        else {
            return Ok(());
        };
        match self.show(&row, item, (&id, &home), &owner).await {
            Err(error) if is_refusal(&error) => {
                let joined = self.bot.homeserver().joined_ids().await?;
                if !joined.contains(&id) {
                    tracing::warn!(room = %id, "this account is no longer in a room of its own");
                    self.bot.members().set_broken(row.id, Some(NOT_IN_IT)).await?;
                    return Ok(());
                }
                if !joined.contains(&home) {
                    tracing::warn!(room = %home, "this account is no longer in a Space of its own");
                    let connector = self.bot.id();
                    self.bot.plane.call(SetHome { connector, user, place: None }).await?;
                }
                Err(error)
            }
            shown => shown,
        }
    }

    /// Has a room show its chat: its name, its place in the Space, who is in it.
    async fn show(
        &self,
        row: &Conversation,
        item: &ToMend,
        (room, home): (&RoomId, &RoomId),
        owner: &Owner,
    ) -> Result<(), PlaneError> {
        let ToMend { title, archived, .. } = item;
        if row.shown_title.as_deref() != Some(title) || row.shown_archived != *archived {
            self.name(room, row, title, *archived).await?;
        }
        if row.shown_title.is_none() || row.shown_archived != *archived {
            self.put_into(home, room, row, *archived).await?;
        }
        if row.shown_archived != *archived {
            let topic = json!({"topic": if *archived { ARCHIVED_TOPIC } else { "" }});
            self.set(room, ("m.room.topic", ""), &topic).await?;
        }
        if row.shown_title.is_none() {
            self.bot.making().let_into_home(home, owner).await?;
            self.bot.making().invite_all(room, owner).await?;
            if row.chat == FIRST_CHAT {
                self.bot.lobbies().welcome_in(room, owner).await?;
            }
        }
        let (title, archived) = (title.clone(), *archived);
        self.bot.plane.call(SetShown { conversation: row.id, title, archived }).await
    }

    /// Names a room. One that was never shown may be called so from its first moment.
    async fn name(
        &self,
        room: &RoomId,
        row: &Conversation,
        title: &str,
        archived: bool,
    ) -> Result<(), PlaneError> {
        let kept = self.bot.client.get_room(room).and_then(|room| room.name());
        let is_so = |now: String| title_in(&now, row.chat) == (title.to_owned(), archived);
        // What the last sync kept is not what was shown since.
        if row.shown_title.is_none() && kept.is_some_and(is_so) {
            return Ok(());
        }
        let name = room_name(row.chat, title, archived);
        self.set(room, ("m.room.name", ""), &json!({"name": name})).await
    }

    /// Puts a room among the others of its person, in the order of chats; or takes it out.
    pub(super) async fn put_into(
        &self,
        home: &RoomId,
        room: &RoomId,
        row: &Conversation,
        archived: bool,
    ) -> Result<(), PlaneError> {
        let child = if archived {
            json!({})
        } else {
            let order = format!("{:09}", row.chat.number());
            json!({"via": [self.bot.making().server()?], "order": order, "suggested": true})
        };
        self.set(home, ("m.space.child", room.as_str()), &child).await
    }

    pub(super) async fn set(
        &self,
        room: &RoomId,
        event: (&str, &str),
        content: &serde_json::Value,
    ) -> Result<(), PlaneError> {
        let server = self.bot.homeserver();
        server.patiently(|| server.set_state(room, event, content).boxed()).await
    }
}
