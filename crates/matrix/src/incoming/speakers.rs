//! Who speaks, and to which chat: by the account and the room, never by a display name.

use std::time::Duration;

use cloister_kit::{Lately, PlaneError, part, words};
use cloister_protocol::surface::{
    Connectors, Conversation, ConversationAt, ConversationKind, Heard as Where, IsKnown, Locate,
    Located, PairingWords, SetBroken, Speaker,
};
use matrix_sdk::Room;
use matrix_sdk::ruma::UserId;

use super::HOUR;
use super::heard::{Heard, Seen};
use crate::bot::Bot;

const PAIR_ALONE: &str =
    "A code is for your eyes alone: start a direct chat with me, and write `pair` there.";
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Which rooms were looked at lately, to find out whose they are.
#[derive(Default)]
pub(crate) struct SpeakersState {
    lately: Lately,
}

part! {
    /// Who speaks, and who is listened to.
    pub(crate) struct Speakers of Bot;
}

impl Speakers {
    /// Who speaks there, if it is somebody whose words are taken. Everybody else is told so, once in a while.
    pub(super) async fn speaker(
        &self,
        room: &Room,
        seen: &Seen,
        text: &str,
    ) -> Result<Option<Box<Speaker>>, PlaneError> {
        let sender = seen.sender.as_str();
        if self.is_bot_of_ours(sender).await? {
            return Ok(None);
        }
        let known = self.known_room(room).await?;
        let alone = match &known {
            Some(conversation) if is_private(conversation) => {
                self.bot.privacy().keep_private(room, conversation).await?
            }
            Some(_) => false,
            None => self.alone_with(room, &seen.sender).await?,
        };
        let place = room.room_id().to_string();
        let heard = if alone { Where::Direct(place) } else { Where::Shared(place) };
        let locate =
            Locate { connector: self.bot.id(), sender: sender.to_owned(), heard, language: None };
        match self.bot.plane.call(locate).await? {
            Located::To(mut speaker) => {
                // Who is heard there can be told something there.
                if speaker.conversation.broken.is_some() && !super::is_closed(&speaker.conversation)
                {
                    let conversation = speaker.conversation.id;
                    self.bot.plane.call(SetBroken { conversation, why: None }).await?;
                    speaker.conversation.broken = None;
                }
                if known.is_none() && speaker.conversation.kind == ConversationKind::Lobby {
                    let words = format!(
                        "I did not know this room, and nothing in it says which chat it belonged to. From now \
                         on it shows your chat {}. `!chats` lists all of them.",
                        speaker.chat
                    );
                    self.bot.sayings().tell(room, "unknown-room", DAY, &words).await;
                }
                Ok(Some(speaker))
            }
            Located::Stranger { tell } => {
                let key = format!("stranger-{}", seen.id);
                let answer = match words::asks_to_pair(text) {
                    true if alone => {
                        let (account, name) = (sender.to_owned(), sender.to_owned());
                        self.bot.plane.call(PairingWords { account, name }).await?
                    }
                    true => {
                        self.bot.sayings().tell(room, "pair-alone", HOUR, PAIR_ALONE).await;
                        None
                    }
                    false => tell,
                };
                if let Some(answer) = answer {
                    self.bot.sayings().speak(room, &key, &answer).await;
                }
                Ok(None)
            }
            Located::NotHere { tell } => {
                if let Some(tell) = tell {
                    self.bot.sayings().speak(room, &format!("not-here-{}", seen.id), &tell).await;
                }
                Ok(None)
            }
        }
    }

    /// Whether an event may wait to be looked at later: its sender is somebody we know, in a room we know.
    pub(super) async fn may_wait(&self, room: &Room, seen: &Seen) -> Result<bool, PlaneError> {
        let words = match &seen.heard {
            Heard::Said(said) => said.text.as_str(),
            _ => "",
        };
        Ok(self.speaker(room, seen, words).await?.is_some())
    }

    /// The conversation that a room is; one that nobody knows is repaired, once in a while.
    async fn known_room(&self, room: &Room) -> Result<Option<Conversation>, PlaneError> {
        let place = room.room_id().to_string();
        let here = ConversationAt { connector: self.bot.id(), place: place.clone() };
        let known = self.bot.plane.call(here).await?;
        let now = self.bot.plane.now_ms();
        let repair = format!("repair {place}");
        if known.is_none() && self.bot.speakers.lately.first_in(repair.clone(), HOUR, now) {
            let repaired = self.bot.comparison().repair_room(room).await;
            // Only that it has no place is remembered: what went wrong is tried again.
            if !matches!(repaired, Ok(None)) {
                self.bot.speakers.lately.not_yet(&repair);
            }
            return repaired;
        }
        Ok(known)
    }

    /// Whether nobody but this person and us is in a room, or invited to it, or may come in or read unasked.
    async fn alone_with(&self, room: &Room, person: &UserId) -> Result<bool, PlaneError> {
        let there = self.bot.privacy().members(room).await?;
        let us = self.bot.client.user_id();
        let alone = there.iter().all(|member| member == person || Some(&**member) == us);
        Ok(alone && self.bot.privacy().opened(room).await?.is_none())
    }

    /// Whether it is another connector's account: two of ours in one room have nothing to say to each other.
    async fn is_bot_of_ours(&self, account: &str) -> Result<bool, PlaneError> {
        let ours = self.bot.plane.call(Connectors {}).await?;
        Ok(ours.iter().any(|connector| connector.account == account))
    }

    /// Whether an account belongs to somebody.
    pub(super) async fn knows(&self, account: &UserId) -> Result<bool, PlaneError> {
        self.bot.plane.call(IsKnown { account: account.to_string() }).await
    }
}

/// Whether a conversation is between one person and the agent alone.
pub(super) fn is_private(conversation: &Conversation) -> bool {
    conversation.user.is_some()
        && matches!(conversation.kind, ConversationKind::Room | ConversationKind::Lobby)
}
