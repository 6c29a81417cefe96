//! Invitations: who is let in where, and how a person comes to their Space and first chat.
//!
//! A direct room of a person we know becomes a door: it shows their first chat and points to its own room. What
//! is to be made is written down first; the rooms themselves are made where all rooms are.

use cloister_control::ports::SendError;
use cloister_control::{ControlError, Heard, Located};
use cloister_protocol::ErrorCode;
use cloister_store::contexts;
use cloister_store::conversations::{Conversation, ConversationKind, NewConversation};
use futures_util::FutureExt;
use matrix_sdk::deserialized_responses::MemberEvent;
use matrix_sdk::ruma::{OwnedUserId, UserId};
use matrix_sdk::{Room, RoomState};

use super::graph::{FIRST_CHAT, Person};
use super::server::{failed, is_refusal};
use crate::SURFACE;
use crate::bot::Bot;

/// Said where others read along and nobody connected the room.
const NOT_HERE: &str = "I am for one person at a time, and others are in this room. Whoever runs this can \
                        connect a shared room with `cloister context add`; then invite me again.";

/// What is said with an invitation that is not taken.
const NOBODYS_INVITATION: &str = "It is not known who invited me. Start a direct chat with me.";
const NO_SPACES: &str = "I have nothing to do in a Space of others. Start a direct chat with me.";
const TOLD_ELSEWHERE: &str = "We have a room already: write `pair` there for a code. If you leave that room, I come when \
     you invite me again.";
const TOLD_OFTEN: &str = "You have invited me several times today without being linked to anybody here. Ask whoever runs \
     this to link your account, or invite me again in a few hours.";

impl Bot {
    /// Answers an invitation. Whatever it leads to that takes longer is written down and done elsewhere.
    pub(crate) async fn take_invite(&self, room: &Room) -> Result<(), ControlError> {
        let inviter = match room.state() {
            RoomState::Invited => inviter(room).await?,
            // Something failed after it was accepted.
            RoomState::Joined if !self.placed().await?.contains(room.room_id().as_str()) => {
                self.others(room).await?.pop().and_then(|other| other.parse().ok())
            }
            RoomState::Joined | RoomState::Left | RoomState::Knocked | RoomState::Banned => {
                return Ok(());
            }
        };
        let Some(inviter) = inviter else { return self.decline(room, NOBODYS_INVITATION).await };
        if let Some(chat) = self.connected(room).await? {
            return match self.enter(room).await? {
                true => self.put(room, chat, ConversationKind::Shared, None).await.map(drop),
                false => Ok(()),
            };
        }
        if room.is_space() {
            return self.decline(room, NO_SPACES).await;
        }
        match self.person(inviter.as_str()).await? {
            Some(person) => self.let_in(room, &inviter, person).await,
            None => self.hear_stranger(room, &inviter).await,
        }
    }

    /// The chat of a room that an admin connected.
    async fn connected(
        &self,
        room: &Room,
    ) -> Result<Option<(cloister_protocol::WorkspaceId, cloister_protocol::ChatId)>, ControlError>
    {
        let id = room.room_id().to_string();
        let conversation = contexts::Conversation { surface: SURFACE.to_owned(), id };
        let context = self.control.store().context_of(&conversation).await?;
        Ok(context.and_then(|context| Some((context.workspace, context.chat?))))
    }

    /// Joins a room; not, if the invitation is no longer good.
    pub(super) async fn enter(&self, room: &Room) -> Result<bool, ControlError> {
        if room.state() == RoomState::Joined {
            return Ok(true);
        }
        let joined = room.join().await.map_err(failed("an invitation could not be accepted"));
        match joined {
            Ok(()) => Ok(true),
            Err(error) if is_refusal(&error) => {
                tracing::info!(room = %room.room_id(), error = error.chain(), "an invitation was no good");
                self.leave(room).await?;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    async fn let_in(
        &self,
        room: &Room,
        inviter: &UserId,
        person: Person,
    ) -> Result<(), ControlError> {
        if !self.enter(room).await? {
            return Ok(());
        }
        if let Some(why) = self.not_direct(room, inviter).await? {
            return self.turn_away(room, &why).await;
        }
        self.open_door(room, person).await
    }

    /// Why a room is not one for this person and this account alone; none if it is. What the invitation says
    /// about that is not believed.
    pub(super) async fn not_direct(
        &self,
        room: &Room,
        person: &UserId,
    ) -> Result<Option<String>, ControlError> {
        room.sync_members().await.map_err(failed("the members of a room could not be read"))?;
        let others = self.others(room).await?;
        if others.iter().any(|other| other != person.as_str()) {
            return Ok(Some(NOT_HERE.to_owned()));
        }
        Ok(self.opened(room).await?.map(|open| open.words("then invite me again")))
    }

    /// Leaves a room that is nobody's own, with a sentence.
    pub(super) async fn turn_away(&self, room: &Room, why: &str) -> Result<(), ControlError> {
        if self.control.once_a_while(&format!("turn away {}", room.room_id())) {
            let said = self.say(room, "not-here", why).await;
            if let Err(error) = said {
                tracing::info!(room = %room.room_id(), %error, "a room is left without a word");
            }
        }
        self.leave(room).await
    }

    /// A direct room of a person we know shows their first chat; their Space and a room for each of their chats
    /// are wanted from now on.
    pub(super) async fn open_door(&self, room: &Room, person: Person) -> Result<(), ControlError> {
        let store = self.control.store();
        store.ensure_first_chat(person.workspace).await?;
        let chat = (person.workspace, FIRST_CHAT);
        self.put(room, chat, ConversationKind::Door, Some(person.user)).await?;
        self.want_rooms(person).await?;
        self.control.chats_changed();
        Ok(())
    }

    /// Every chat of theirs is to have a room. What is closed stays so: only who closed it opens it.
    async fn want_rooms(&self, person: Person) -> Result<(), ControlError> {
        Ok(self.control.store().want_rooms(self.id(), person.user, person.workspace).await?)
    }

    async fn put(
        &self,
        room: &Room,
        chat: (cloister_protocol::WorkspaceId, cloister_protocol::ChatId),
        kind: ConversationKind,
        user: Option<cloister_protocol::UserId>,
    ) -> Result<Conversation, ControlError> {
        let external_id = Some(room.room_id().to_string());
        let new = NewConversation { connector: self.id(), external_id, chat, kind, user };
        Ok(self.control.store().put_conversation(&new).await?)
    }

    /// Doors whose person has not been shown the way yet: their rooms are wanted.
    pub(super) async fn tend_doors(&self) -> Result<(), ControlError> {
        for door in self.unshown_doors().await? {
            let Some(user) = door.user else { continue };
            self.want_rooms(Person { user, workspace: door.workspace }).await?;
        }
        Ok(())
    }

    /// Says something, waiting as the server asks.
    pub(super) async fn say_surely(
        &self,
        room: &Room,
        key: &str,
        words: &str,
    ) -> Result<(), ControlError> {
        self.patiently(|| self.say_once(room, key, words).boxed()).await
    }

    async fn say_once(&self, room: &Room, key: &str, words: &str) -> Result<(), ControlError> {
        self.say(room, key, words).await.map_err(|error| match error {
            SendError::Wait(wait) => ControlError::busy("the server asks to wait", wait),
            error => ControlError::refused(ErrorCode::Internal, error.to_string()),
        })
    }

    /// A stranger is told what to do, if they were not told lately; they may ask for a code in that room.
    async fn hear_stranger(&self, room: &Room, inviter: &UserId) -> Result<(), ControlError> {
        let heard = Heard::Direct(room.room_id().as_str());
        let located = self.control.locate(self.id(), SURFACE, inviter.as_str(), heard).await?;
        let words = match located {
            Located::Stranger { tell: Some(words) } => words,
            Located::Stranger { tell: None } if room.state() == RoomState::Joined => {
                return self.keep_for_pairing(room).await;
            }
            Located::Stranger { tell: None } => {
                if self.has_room_with(inviter).await? {
                    return self.decline(room, TOLD_ELSEWHERE).await;
                }
                // They have left where they were told.
                match self.control.refusal_again(SURFACE, inviter.as_str()) {
                    Some(words) => words,
                    None => return self.decline(room, TOLD_OFTEN).await,
                }
            }
            Located::NotHere { tell } => {
                return self.decline(room, tell.as_deref().unwrap_or(NOT_HERE)).await;
            }
            // Linked a moment ago.
            Located::To(speaker) => {
                let person = Person { user: speaker.user, workspace: speaker.workspace };
                return self.let_in(room, inviter, person).await;
            }
        };
        let told = self.tell_stranger(room, inviter, &words).await;
        if told.is_err() {
            self.control.take_back_refusal(SURFACE, inviter.as_str()).await?;
        }
        told
    }

    async fn tell_stranger(
        &self,
        room: &Room,
        inviter: &UserId,
        words: &str,
    ) -> Result<(), ControlError> {
        if !self.enter(room).await? {
            return Ok(());
        }
        if let Some(why) = self.not_direct(room, inviter).await? {
            return self.turn_away(room, &why).await;
        }
        self.keep_for_pairing(room).await?;
        self.say_surely(room, "stranger", words).await
    }
}

/// Who invited this account.
async fn inviter(room: &Room) -> Result<Option<OwnedUserId>, ControlError> {
    let own = room.get_member_no_sync(room.own_user_id()).await;
    let own = own.map_err(failed("an invitation could not be read"))?;
    Ok(own.map(|own| match &**own.event() {
        MemberEvent::Sync(event) => event.sender().to_owned(),
        MemberEvent::Stripped(event) => event.sender.clone(),
    }))
}
