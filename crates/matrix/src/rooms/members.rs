//! What people do to their rooms: they leave, come back and rename them.

use cloister_kit::{PlaneError, part};
use cloister_protocol::surface::{
    ChatOf, ChatsChanged, Conversation, ConversationAt, ConversationId, ConversationKind,
    Conversations, ForgetConversation, SetBroken, SetShown, ShownAs,
};
use cloister_protocol::{ChatId, UserId as Whose};
use matrix_sdk::ruma::{EventId, OwnedRoomId, UserId};
use matrix_sdk::{Room, RoomMemberships};

use super::graph::{NOT_IN_IT, PERSON_LEFT};
use super::naming::title_in;
use super::server::is_refusal;
use crate::bot::Bot;

/// How long somebody who left is not invited again.
const INVITE_EVERY_MS: i64 = 24 * 60 * 60 * 1000;
/// Between why a room is out of use and when its person was last invited back.
const INVITED_AT: &str = "; invited back at ";

part! {
    /// Who comes into rooms, leaves them and comes back.
    pub(crate) struct Members of Bot;
}

impl Members {
    /// Somebody left a room that this account is in. A chat's room stays, for who comes back; a lobby without a
    /// person is closed.
    pub(crate) async fn member_left(&self, room: &Room) -> Result<(), PlaneError> {
        let here = ConversationAt { connector: self.bot.id(), place: room.room_id().to_string() };
        let Some(row) = self.bot.plane.call(here).await? else {
            return self.bot.strangers().stranger_left(room).await;
        };
        if row.broken.is_some() || self.is_there(room, &row, RoomMemberships::ACTIVE).await? {
            return Ok(());
        }
        match row.kind {
            ConversationKind::Room => self.set_broken(row.id, Some(PERSON_LEFT)).await,
            ConversationKind::Lobby | ConversationKind::Shared => {
                self.bot.homeserver().leave(room).await?;
                self.bot.plane.call(ForgetConversation { conversation: row.id }).await
            }
        }
    }

    /// Whether the person of a conversation is in its room; of a shared one, whether anybody is.
    async fn is_there(
        &self,
        room: &Room,
        row: &Conversation,
        which: RoomMemberships,
    ) -> Result<bool, PlaneError> {
        let others = self.bot.survey().others_who(room, which).await?;
        let Some(user) = row.user else { return Ok(!others.is_empty()) };
        let owner = self.bot.making().owner(user).await?;
        let accounts = owner.map(|owner| owner.accounts).unwrap_or_default();
        Ok(accounts.iter().any(|account| others.iter().any(|other| other == account.as_str())))
    }

    /// Rooms whose person came back are used again.
    pub(super) async fn welcome_back(&self) -> Result<(), PlaneError> {
        for row in self.bot.plane.call(Conversations { connector: self.bot.id() }).await? {
            let id = row.external_id.as_deref().and_then(|id| id.parse::<OwnedRoomId>().ok());
            if has_left(&row)
                && let Some(room) = id.and_then(|id| self.bot.client.get_room(&id))
            {
                self.came_back(&room, &row).await?;
            }
        }
        Ok(())
    }

    /// Uses a room again whose person came back.
    pub(crate) async fn came_back(
        &self,
        room: &Room,
        row: &Conversation,
    ) -> Result<(), PlaneError> {
        if has_left(row)
            && self.is_there(room, row, RoomMemberships::JOIN).await?
            && self.bot.privacy().keep_private(room, row).await?
        {
            self.set_broken(row.id, None).await?;
        }
        Ok(())
    }

    /// Invites a person back to the rooms of these chats of theirs that they left, each once a day at most.
    pub(super) async fn invite_back(
        &self,
        user: Whose,
        wanted: impl Fn(ChatId) -> bool,
    ) -> Result<(), PlaneError> {
        let now = self.bot.plane.now_ms();
        let Some(owner) = self.bot.making().owner(user).await? else { return Ok(()) };
        for row in self.bot.plane.call(Conversations { connector: self.bot.id() }).await? {
            let theirs = row.user == Some(user) && row.kind == ConversationKind::Room;
            let theirs = theirs && wanted(row.chat);
            let why = row.broken.as_deref().filter(|_| theirs && has_left(&row));
            let id = row.external_id.as_deref().and_then(|id| id.parse::<OwnedRoomId>().ok());
            let (Some(why), Some(id)) = (why, id) else { continue };
            let last = why.split_once(INVITED_AT).and_then(|(_, at)| at.parse::<i64>().ok());
            let archived = self.is_archived(&row).await?;
            if archived || last.is_some_and(|at| now.saturating_sub(at) < INVITE_EVERY_MS) {
                continue;
            }
            // Noted first: a kill invites once too few, not once too many.
            let why = format!("{PERSON_LEFT}{INVITED_AT}{now}");
            self.set_broken(row.id, Some(&why)).await?;
            for account in &owner.accounts {
                match self.bot.homeserver().invite(&id, account).await {
                    Ok(()) => {}
                    Err(error) if is_refusal(&error) => {
                        self.set_broken(row.id, Some(NOT_IN_IT)).await?;
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// A person gave their room another name: that is the chat's title from now on, unless the room is called something
    /// else by now, or the chat was given another title meanwhile that the room is still to show.
    pub(crate) async fn room_renamed(
        &self,
        room: &Room,
        name: &str,
        (sender, event): (&UserId, &EventId),
    ) -> Result<(), PlaneError> {
        if sender == self.bot.homeserver().own_id()? {
            return Ok(());
        }
        // While rooms are named here, it is not certain what was shown last.
        let _making = self.bot.rooms.making.lock().await;
        let here = ConversationAt { connector: self.bot.id(), place: room.room_id().to_string() };
        let Some(row) = self.bot.plane.call(here).await? else { return Ok(()) };
        let person = self.bot.comparison().person(sender.as_str()).await?.map(|person| person.user);
        if person.is_none() || row.kind != ConversationKind::Room || person != row.user {
            return Ok(());
        }
        // What a sync brings may be older than what we have called it since: the server knows.
        let newest = match self.bot.survey().naming_event(room.room_id()).await {
            Err(error) if is_refusal(&error) => return Ok(()),
            newest => newest?,
        };
        if newest.as_deref() != Some(event.as_str()) {
            return Ok(());
        }
        let (title, archived) = title_in(name, row.chat);
        let (conversation, by) = (row.id, Some(sender.to_string()));
        if !self.bot.plane.call(ShownAs { conversation, title: title.clone(), by }).await? {
            tracing::info!(room = %room.room_id(), "a room was renamed whose chat has a newer title");
        }
        // What they called it stays as it is: nothing is to be renamed here.
        let archived = archived || row.shown_archived;
        self.bot.plane.call(SetShown { conversation, title, archived }).await?;
        self.bot.plane.tell(ChatsChanged {});
        Ok(())
    }

    /// Nothing can be sent there any more, or (none) it can again.
    pub(super) async fn set_broken(
        &self,
        conversation: ConversationId,
        why: Option<&str>,
    ) -> Result<(), PlaneError> {
        self.bot.plane.call(SetBroken { conversation, why: why.map(str::to_owned) }).await
    }

    /// Whether the chat of a conversation is put away.
    pub(super) async fn is_archived(&self, row: &Conversation) -> Result<bool, PlaneError> {
        let chat = ChatOf { workspace: row.workspace, chat: row.chat };
        Ok(self.bot.plane.call(chat).await?.archived)
    }
}

pub(super) fn has_left(row: &Conversation) -> bool {
    row.broken.as_deref().is_some_and(|why| why.starts_with(PERSON_LEFT))
}
