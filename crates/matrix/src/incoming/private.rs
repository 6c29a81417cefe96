//! A person's own room stays their own: while somebody else is in it, nothing is taken or told there.

use cloister_control::ControlError;
use cloister_store::conversations::Conversation;
use matrix_sdk::ruma::OwnedUserId;
use matrix_sdk::{Room, RoomMemberships};

use super::speakers::is_private;
use super::{ASK_AGAIN, HOUR, text};
use crate::SURFACE;
use crate::bot::Bot;

/// Why nothing is sent to a private room that others are in. Set and taken back here alone.
pub(crate) const OTHERS_HERE: &str = "others are in this room";

impl Bot {
    /// Who is in a private room, or invited to it, besides its person and us. Nobody where it is not private.
    pub(crate) async fn others_in(
        &self,
        room: &Room,
        conversation: &Conversation,
    ) -> Result<Vec<OwnedUserId>, ControlError> {
        let Some(user) = conversation.user.filter(|_| is_private(conversation)) else {
            return Ok(Vec::new());
        };
        let mut there = self.members(room).await?;
        let us = self.client.user_id();
        there.retain(|member| Some(&**member) != us);
        if there.is_empty() {
            return Ok(there);
        }
        let own = self.control.store().identities_of(user).await?;
        let is_own = |member: &OwnedUserId| {
            own.iter().any(|identity| {
                identity.account.surface == SURFACE
                    && identity.account.external_id == member.as_str()
            })
        };
        there.retain(|member| !is_own(member));
        Ok(there)
    }

    /// Closes a private room that others are in, and opens it again when they are gone. Whether it is private
    /// now.
    pub(crate) async fn keep_private(
        &self,
        room: &Room,
        conversation: &Conversation,
    ) -> Result<bool, ControlError> {
        let others = self.others_in(room, conversation).await?;
        let closed = conversation.broken.as_deref() == Some(OTHERS_HERE);
        let store = self.control.store();
        if others.is_empty() {
            if closed {
                store.set_broken(conversation.id, None).await?;
                self.control.chats_changed();
                tracing::info!(room = %room.room_id(), "a room is private again");
            }
            return Ok(true);
        }
        if conversation.broken.is_none() {
            store.set_broken(conversation.id, Some(OTHERS_HERE)).await?;
            tracing::warn!(room = %room.room_id(), others = others.len(), "others are in a private room");
        }
        let who: Vec<String> =
            others.iter().take(3).map(|id| format!("`{}`", text::short(id.as_str(), 80))).collect();
        let more = if others.len() > 3 { " and others" } else { "" };
        let words = format!(
            "{}{more} can read along here, and this room is for one person and me. I take nothing and say \
             nothing here until they have left (or their invitation is taken back). Your other rooms work as \
             before.",
            who.join(", ")
        );
        self.tell(room, "others-here", HOUR, &words).await;
        Ok(false)
    }

    /// Somebody came, was invited or left.
    pub(super) async fn somebody_moved(&self, room: &Room) -> Result<(), ControlError> {
        let place = room.room_id().as_str();
        if let Some(conversation) = self.control.store().conversation(self.id(), place).await? {
            self.keep_private(room, &conversation).await?;
            self.came_back(room, &conversation).await?;
        }
        Ok(())
    }

    /// Who is in a room, or invited to it.
    pub(super) async fn members(&self, room: &Room) -> Result<Vec<OwnedUserId>, ControlError> {
        let members = async {
            room.sync_members().await?;
            let mut there = room.joined_user_ids().await?;
            if room.invited_members_count() > 0 {
                let invited = room.members_no_sync(RoomMemberships::INVITE).await?;
                there.extend(invited.iter().map(|member| member.user_id().to_owned()));
            }
            Ok::<_, matrix_sdk::Error>(there)
        };
        let unknown = |why: String| {
            tracing::warn!(room = %room.room_id(), why, "the members of a room could not be asked for");
            // It passes: an event is never skipped for it.
            ControlError::busy("the members of a room could not be asked for", ASK_AGAIN)
        };
        let found = tokio::time::timeout(self.options.request_timeout(), members).await;
        let found = found.map_err(|late| unknown(late.to_string()))?;
        found.map_err(|error| unknown(error.to_string()))
    }
}
