//! Invitations: who is let in where, and how a person comes to their Space and first chat.
//!
//! A direct room of a person we know becomes a lobby: it shows their first chat and points to its own room. What
//! is to be made is written down first; the rooms themselves are made where all rooms are.

use cloister_kit::PlaneError;
use cloister_protocol::surface::{
    ChatsChanged, ContextOf, ConversationKind, EnsureFirstChat, Heard, Locate, Located,
    NewConversation, OnceAWhile, PutConversation, RefusalAgain, SendError, TakeBackRefusal,
    WantRooms,
};
use cloister_protocol::{ErrorCode, UserId as Whose, with_causes};
use futures_util::FutureExt;
use matrix_sdk::deserialized_responses::MemberEvent;
use matrix_sdk::ruma::{OwnedUserId, UserId};
use matrix_sdk::{Room, RoomState};

use super::Lobbies;
use super::graph::{ChatKey, FIRST_CHAT, Person};
use super::server::{failed, is_refusal};

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

impl Lobbies {
    /// Answers an invitation. Whatever it leads to that takes longer is written down and done elsewhere.
    pub(crate) async fn take_invite(&self, room: &Room) -> Result<(), PlaneError> {
        let inviter = match room.state() {
            RoomState::Invited => inviter(room).await?,
            // Something failed after it was accepted.
            RoomState::Joined
                if !self.bot.survey().placed().await?.contains(room.room_id().as_str()) =>
            {
                self.bot.survey().others(room).await?.pop().and_then(|other| other.parse().ok())
            }
            RoomState::Joined | RoomState::Left | RoomState::Knocked | RoomState::Banned => {
                return Ok(());
            }
        };
        let Some(inviter) = inviter else {
            return self.bot.homeserver().decline(room, NOBODYS_INVITATION).await;
        };
        if let Some(chat) = self.connected(room).await? {
            return match self.enter(room).await? {
                true => self.put(room, chat, ConversationKind::Shared, None).await,
                false => Ok(()),
            };
        }
        if room.is_space() {
            return self.bot.homeserver().decline(room, NO_SPACES).await;
        }
        match self.bot.comparison().person(inviter.as_str()).await? {
            Some(person) => self.let_in(room, &inviter, person).await,
            None => self.hear_stranger(room, &inviter).await,
        }
    }

    /// The chat of a room that an admin connected.
    async fn connected(&self, room: &Room) -> Result<Option<ChatKey>, PlaneError> {
        let context = self.bot.plane.call(ContextOf { place: room.room_id().to_string() }).await?;
        Ok(context.and_then(|context| Some((context.workspace, context.chat?))))
    }

    /// Joins a room; not, if the invitation is no longer good.
    pub(super) async fn enter(&self, room: &Room) -> Result<bool, PlaneError> {
        if room.state() == RoomState::Joined {
            return Ok(true);
        }
        let joined = room.join().await.map_err(failed("an invitation could not be accepted"));
        match joined {
            Ok(()) => Ok(true),
            Err(error) if is_refusal(&error) => {
                tracing::info!(room = %room.room_id(), error = error.chain(), "an invitation was no good");
                self.bot.homeserver().leave(room).await?;
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
    ) -> Result<(), PlaneError> {
        if !self.enter(room).await? {
            return Ok(());
        }
        if let Some(why) = self.not_direct(room, inviter).await? {
            return self.turn_away(room, &why).await;
        }
        self.open_lobby(room, person).await
    }

    /// Why a room is not one for this person and this account alone; none if it is. What the invitation says
    /// about that is not believed.
    pub(super) async fn not_direct(
        &self,
        room: &Room,
        person: &UserId,
    ) -> Result<Option<String>, PlaneError> {
        room.sync_members().await.map_err(failed("the members of a room could not be read"))?;
        let others = self.bot.survey().others(room).await?;
        if others.iter().any(|other| other != person.as_str()) {
            return Ok(Some(NOT_HERE.to_owned()));
        }
        Ok(self.bot.privacy().opened(room).await?.map(|open| open.words("then invite me again")))
    }

    /// Leaves a room that is nobody's own, with a sentence.
    pub(super) async fn turn_away(&self, room: &Room, why: &str) -> Result<(), PlaneError> {
        let again = OnceAWhile { key: format!("turn away {}", room.room_id()) };
        if self.bot.plane.call(again).await.unwrap_or(false) {
            let said = self.bot.sending().say(room, "not-here", why).await;
            if let Err(error) = said {
                tracing::info!(room = %room.room_id(), error = with_causes(&error), "a room is left without a word");
            }
        }
        self.bot.homeserver().leave(room).await
    }

    /// A direct room of a person we know shows their first chat; their Space and a room for each of their chats
    /// are wanted from now on.
    pub(super) async fn open_lobby(&self, room: &Room, person: Person) -> Result<(), PlaneError> {
        self.bot.plane.call(EnsureFirstChat { user: person.user }).await?;
        let chat = (person.workspace, FIRST_CHAT);
        self.put(room, chat, ConversationKind::Lobby, Some(person.user)).await?;
        self.want_rooms(person.user).await?;
        self.bot.plane.tell(ChatsChanged {});
        Ok(())
    }

    /// Every chat of theirs is to have a room. What is closed stays so: only who closed it opens it.
    pub(super) async fn want_rooms(&self, user: Whose) -> Result<(), PlaneError> {
        self.bot.plane.call(WantRooms { connector: self.bot.id(), user }).await
    }

    async fn put(
        &self,
        room: &Room,
        chat: ChatKey,
        kind: ConversationKind,
        user: Option<Whose>,
    ) -> Result<(), PlaneError> {
        let external_id = Some(room.room_id().to_string());
        let new = NewConversation { connector: self.bot.id(), external_id, chat, kind, user };
        self.bot.plane.call(PutConversation { new }).await.map(drop)
    }

    /// Lobbies whose person has not been shown the way yet: their rooms are wanted.
    pub(super) async fn tend(&self) -> Result<(), PlaneError> {
        for lobby in self.unshown_lobbies().await? {
            // Who has no account here any more gets none.
            if let Some(user) = lobby.user
                && self.bot.making().owner(user).await?.is_some()
            {
                self.want_rooms(user).await?;
            }
        }
        Ok(())
    }

    /// Says something, waiting as the server asks.
    pub(super) async fn say_surely(
        &self,
        room: &Room,
        key: &str,
        words: &str,
    ) -> Result<(), PlaneError> {
        self.bot.homeserver().patiently(|| self.say_once(room, key, words).boxed()).await
    }

    async fn say_once(&self, room: &Room, key: &str, words: &str) -> Result<(), PlaneError> {
        self.bot.sending().say(room, key, words).await.map_err(|error| match error {
            SendError::Wait(wait) => PlaneError::busy("the server asks to wait", wait),
            error => PlaneError::refused(ErrorCode::Internal, error.to_string()),
        })
    }

    /// A stranger is told what to do, if they were not told lately; they may ask for a code in that room.
    async fn hear_stranger(&self, room: &Room, inviter: &UserId) -> Result<(), PlaneError> {
        let heard = Heard::Direct(room.room_id().to_string());
        let locate =
            Locate { connector: self.bot.id(), sender: inviter.to_string(), heard, language: None };
        let words = match self.bot.plane.call(locate).await? {
            Located::Stranger { tell: Some(words) } => words,
            Located::Stranger { tell: None } if room.state() == RoomState::Joined => {
                return self.bot.strangers().keep_for_pairing(room).await;
            }
            Located::Stranger { tell: None } => {
                if self.bot.strangers().has_room_with(inviter).await? {
                    return self.bot.homeserver().decline(room, TOLD_ELSEWHERE).await;
                }
                // They have left where they were told.
                match self.bot.plane.call(RefusalAgain { account: inviter.to_string() }).await? {
                    Some(words) => words,
                    None => return self.bot.homeserver().decline(room, TOLD_OFTEN).await,
                }
            }
            Located::NotHere { tell } => {
                return self
                    .bot
                    .homeserver()
                    .decline(room, tell.as_deref().unwrap_or(NOT_HERE))
                    .await;
            }
            // Linked a moment ago.
            Located::To(speaker) => {
                let person = Person { user: speaker.user, workspace: speaker.workspace };
                return self.let_in(room, inviter, person).await;
            }
        };
        let told = self.tell_stranger(room, inviter, &words).await;
        if told.is_err() {
            self.bot.plane.call(TakeBackRefusal { account: inviter.to_string() }).await?;
        }
        told
    }

    async fn tell_stranger(
        &self,
        room: &Room,
        inviter: &UserId,
        words: &str,
    ) -> Result<(), PlaneError> {
        if !self.enter(room).await? {
            return Ok(());
        }
        if let Some(why) = self.not_direct(room, inviter).await? {
            return self.turn_away(room, &why).await;
        }
        self.bot.strangers().keep_for_pairing(room).await?;
        self.say_surely(room, "stranger", words).await
    }
}

/// Who invited this account.
async fn inviter(room: &Room) -> Result<Option<OwnedUserId>, PlaneError> {
    let own = room.get_member_no_sync(room.own_user_id()).await;
    let own = own.map_err(failed("an invitation could not be read"))?;
    Ok(own.map(|own| match &**own.event() {
        MemberEvent::Sync(event) => event.sender().to_owned(),
        MemberEvent::Stripped(event) => event.sender.clone(),
    }))
}
