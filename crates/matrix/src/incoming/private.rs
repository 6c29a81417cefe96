//! A person's own room stays their own: while somebody else is in it, or may come in or read without being asked in,
//! nothing is taken or told there. Judged anew for every message, answer and sending, by what the room is then.

use cloister_kit::{PlaneError, part};
use cloister_protocol::surface::{
    AccountsOf, ChatsChanged, Conversation, ConversationAt, SetBroken,
};
use matrix_sdk::ruma::OwnedUserId;
use matrix_sdk::ruma::events::StateEventType;
use matrix_sdk::{Room, RoomMemberships};

use super::speakers::is_private;
use super::{ASK_AGAIN, HOUR, text};
use crate::bot::Bot;

/// What a room is that nobody said anything about: as the specification has it.
const USUAL_JOIN_RULE: &str = "invite";
const USUAL_HISTORY: &str = "shared";

/// What a room is open to that nobody was asked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Open {
    /// Whoever wants comes in, or whoever is in another room, or knocks.
    ToEnter,
    /// What is said can be read from outside.
    ToRead,
}

/// Whether a room is open to people who were not asked in. What is not known to keep them out does not.
pub(crate) fn opened_by(join_rule: &str, history: &str) -> Option<Open> {
    match (join_rule, history) {
        ("" | "invite" | "private", "" | "invited" | "joined" | "shared") => None,
        ("" | "invite" | "private", _) => Some(Open::ToRead),
        (_, _) => Some(Open::ToEnter),
    }
}

impl Open {
    /// Why nothing is sent there. Set and taken back here alone.
    pub(crate) const fn mark(self) -> &'static str {
        match self {
            Self::ToEnter => "people can come into this room without an invitation",
            Self::ToRead => "this room can be read from outside",
        }
    }

    /// What is said about it, with what the person is to do when they have mended it.
    pub(crate) fn words(self, then: &str) -> String {
        let (what, how) = match self {
            Self::ToEnter => (
                "People can come into this room without an invitation, and read what is said",
                "Set *who can join* to *invite only*",
            ),
            Self::ToRead => (
                "This room can be read by anybody, also from outside",
                "Set *who can read history* to members",
            ),
        };
        format!(
            "{what}. What you have with me is for the two of us: I take nothing and say nothing here. {how} in the \
             settings of the room (*Security & privacy*), {then}. Or start a direct chat with me."
        )
    }
}

const OTHERS_HERE: &str = "others are in this room";

/// Why a private room is not private now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotPrivate {
    /// These are in it or invited.
    Others(Vec<OwnedUserId>),
    Open(Open),
}

impl NotPrivate {
    pub(crate) const fn mark(&self) -> &'static str {
        match self {
            Self::Others(_) => OTHERS_HERE,
            Self::Open(open) => open.mark(),
        }
    }

    fn words(&self) -> String {
        let others = match self {
            Self::Others(others) => others,
            Self::Open(open) => return open.words("then write again"),
        };
        let who = others.iter().take(3).map(|id| format!("`{}`", text::short(id.as_str(), 80)));
        let who: Vec<String> = who.collect();
        let more = if others.len() > 3 { " and others" } else { "" };
        format!(
            "{}{more} can read along here, and this room is for one person and me. I take nothing and say nothing \
             here until they have left (or their invitation is taken back). Your other rooms work as before.",
            who.join(", ")
        )
    }
}

/// Whether a conversation is closed because it is not private; who watches that opens it again.
pub(crate) fn is_closed(conversation: &Conversation) -> bool {
    let marks = [OTHERS_HERE, Open::ToEnter.mark(), Open::ToRead.mark()];
    conversation.broken.as_deref().is_some_and(|why| marks.contains(&why))
}

part! {
    /// Who else is in a room.
    pub(crate) struct Privacy of Bot;
}

impl Privacy {
    /// Why a person's own room is not private now; none if it is, or is nobody's own.
    pub(crate) async fn not_private(
        &self,
        room: &Room,
        conversation: &Conversation,
    ) -> Result<Option<NotPrivate>, PlaneError> {
        if !is_private(conversation) {
            return Ok(None);
        }
        let others = self.others_in(room, conversation).await?;
        if !others.is_empty() {
            return Ok(Some(NotPrivate::Others(others)));
        }
        Ok(self.opened(room).await?.map(NotPrivate::Open))
    }

    /// Who is in a private room, or invited to it, besides its person and us.
    async fn others_in(
        &self,
        room: &Room,
        conversation: &Conversation,
    ) -> Result<Vec<OwnedUserId>, PlaneError> {
        let Some(user) = conversation.user else { return Ok(Vec::new()) };
        let mut there = self.members(room).await?;
        let us = self.bot.client.user_id();
        there.retain(|member| Some(&**member) != us);
        if there.is_empty() {
            return Ok(there);
        }
        let own = self.bot.plane.call(AccountsOf { user }).await?;
        there.retain(|member| !own.iter().any(|account| account == member.as_str()));
        Ok(there)
    }

    /// What a room is open to that nobody was asked into. Asked of the homeserver while a sync has not said.
    pub(crate) async fn opened(&self, room: &Room) -> Result<Option<Open>, PlaneError> {
        if room.is_state_fully_synced() {
            let rule = room.join_rule();
            let rule = rule.as_ref().map_or(USUAL_JOIN_RULE, |rule| rule.as_str());
            let history = room.history_visibility();
            let history = history.as_ref().map_or(USUAL_HISTORY, |history| history.as_str());
            return Ok(opened_by(rule, history));
        }
        let id = room.room_id();
        let rule = self
            .bot
            .homeserver()
            .state_text(id, (StateEventType::RoomJoinRules, "join_rule"))
            .await?;
        let history = (StateEventType::RoomHistoryVisibility, "history_visibility");
        let history = self.bot.homeserver().state_text(id, history).await?;
        Ok(opened_by(
            rule.as_deref().unwrap_or(USUAL_JOIN_RULE),
            history.as_deref().unwrap_or(USUAL_HISTORY),
        ))
    }

    /// Closes a private room that is not private, and opens it again when it is. Whether it is now.
    pub(crate) async fn keep_private(
        &self,
        room: &Room,
        conversation: &Conversation,
    ) -> Result<bool, PlaneError> {
        let closed = is_closed(conversation);
        let Some(why) = self.not_private(room, conversation).await? else {
            if closed {
                let opened = SetBroken { conversation: conversation.id, why: None };
                self.bot.plane.call(opened).await?;
                self.bot.plane.tell(ChatsChanged {});
                tracing::info!(room = %room.room_id(), "a room is private again");
            }
            return Ok(true);
        };
        if conversation.broken.is_none() || closed {
            if conversation.broken.as_deref() != Some(why.mark()) {
                let mark = Some(why.mark().to_owned());
                self.bot.plane.call(SetBroken { conversation: conversation.id, why: mark }).await?;
            }
            tracing::warn!(room = %room.room_id(), why = why.mark(), "a private room is not private");
        }
        let topic = match &why {
            NotPrivate::Others(_) => "others-here",
            NotPrivate::Open(Open::ToEnter) => "open-to-enter",
            NotPrivate::Open(Open::ToRead) => "open-to-read",
        };
        self.bot.sayings().tell(room, topic, HOUR, &why.words()).await;
        Ok(false)
    }

    /// Who can read along changed.
    pub(super) async fn somebody_moved(&self, room: &Room) -> Result<(), PlaneError> {
        let here = ConversationAt { connector: self.bot.id(), place: room.room_id().to_string() };
        if let Some(conversation) = self.bot.plane.call(here).await? {
            self.keep_private(room, &conversation).await?;
            self.bot.members().came_back(room, &conversation).await?;
        }
        Ok(())
    }

    /// Who is in a room, or invited to it.
    pub(super) async fn members(&self, room: &Room) -> Result<Vec<OwnedUserId>, PlaneError> {
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
            PlaneError::busy("the members of a room could not be asked for", ASK_AGAIN)
        };
        let found = tokio::time::timeout(self.bot.options.request_timeout(), members).await;
        let found = found.map_err(|late| unknown(late.to_string()))?;
        found.map_err(|error| unknown(error.to_string()))
    }
}

#[cfg(test)]
#[path = "private_tests.rs"]
mod tests;
