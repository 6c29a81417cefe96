//! Rooms and Spaces that are no longer there: made again, and offered again to who left them.
//!
//! Promises: what vanished from the server is made again at most once a day by itself, and when its person asks for
//! it; who left something is invited back only when they ask, and once a day at most.

use std::collections::HashSet;
use std::time::Duration;

use cloister_kit::PlaneError;
use cloister_protocol::surface::{
    ChatsChanged, Conversation, ConversationKind, Conversations, ForgetConversation, Home, Homes,
    SetHome,
};
use cloister_protocol::{ChatId, UserId as Whose};
use futures_util::FutureExt;
use matrix_sdk::ruma::RoomId;

use super::Rooms;
use super::graph::NOT_IN_IT;
use super::members::has_left;
use super::server::is_refusal;
use crate::incoming::is_closed;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How often a person may ask for the same again.
const ASKED: Duration = Duration::from_secs(60);

/// How often the server is asked, by itself, which rooms there are.
const LOOKED: Duration = Duration::from_secs(30);

/// What a person asks to find, with `!chats` or `!chats C5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    All,
    One(ChatId),
}

impl Wanted {
    fn of(text: &str) -> Option<Self> {
        let text = text.trim().strip_prefix(['/', '!'])?;
        let mut words = text.split_whitespace();
        if !words.next()?.eq_ignore_ascii_case("chats") {
            return None;
        }
        match words.next() {
            None => Some(Self::All),
            Some(chat) => chat.to_uppercase().parse().ok().map(Self::One),
        }
    }

    fn is(self, chat: ChatId) -> bool {
        self == Self::All || self == Self::One(chat)
    }
}

impl Rooms {
    /// Who asks what chats there are is told what is there now.
    pub(crate) async fn about_to_ask(&self, text: &str) {
        if Wanted::of(text).is_some()
            && let Err(error) = self.note_gone().await
        {
            tracing::warn!(error = error.chain(), "it is not known which rooms there are");
        }
    }

    /// Who asks what chats there are wants to find them: they are invited back to what they left, and what vanished
    /// is made again.
    pub(crate) async fn asked_for_chats(&self, text: &str, user: Whose) {
        let Some(wanted) = Wanted::of(text) else { return };
        let offered = async {
            self.invite_home(user).await?;
            self.bot.members().invite_back(user, |chat| wanted.is(chat)).await?;
            let now = self.bot.plane.now_ms();
            let again = |row: &Conversation| {
                let key = format!("asked again {}", row.id.number());
                row.user == Some(user)
                    && wanted.is(row.chat)
                    && self.bot.rooms.lately.first_in(key, ASKED, now)
            };
            self.make_again(again).await?;
            // A Space may have to be made as well.
            self.bot.plane.tell(ChatsChanged {});
            Ok::<_, PlaneError>(())
        };
        if let Err(error) = offered.await {
            tracing::warn!(%user, error = error.chain(), "a person could not be offered their rooms");
        }
    }

    /// Sees to rooms and Spaces that vanished from the server.
    pub(super) async fn tend_gone(&self) -> Result<(), PlaneError> {
        let now = self.bot.plane.now_ms();
        if self.bot.rooms.lately.first_in("looked for what is gone".to_owned(), LOOKED, now) {
            self.note_gone().await?;
        }
        let again = |row: &Conversation| {
            let key = format!("made again {} {}", row.workspace, row.chat);
            self.bot.rooms.lately.first_in(key, DAY, now)
        };
        self.make_again(again).await?;
        self.mend_homes().await
    }

    /// Has rooms made again that this account is not in any more, as far as `again` says.
    async fn make_again(&self, again: impl Fn(&Conversation) -> bool) -> Result<(), PlaneError> {
        let mut broken = self.bot.plane.call(Conversations { connector: self.bot.id() }).await?;
        broken.retain(|row| {
            let made = row.kind == ConversationKind::Room && row.external_id.is_some();
            made && row.broken.is_some() && !has_left(row) && !is_closed(row)
        });
        if broken.is_empty() {
            return Ok(());
        }
        let _making = self.bot.rooms.making.lock().await;
        let joined = self.joined_now().await?;
        let mut wanted = false;
        for row in broken {
            let Some(user) = row.user else { continue };
            let there = row.external_id.as_deref().is_some_and(|id| joined.contains(id));
            let archived = self.bot.members().is_archived(&row).await?;
            if there || archived || self.bot.making().owner(user).await?.is_none() || !again(&row) {
                continue;
            }
            tracing::warn!(room = row.external_id, chat = %row.chat, "a room is gone, and is made again");
            // What was still to be told there is told elsewhere.
            self.bot.plane.call(ForgetConversation { conversation: row.id }).await?;
            self.bot.lobbies().want_rooms(user).await?;
            wanted = true;
        }
        if wanted {
            self.bot.rooms.forget();
            self.bot.plane.tell(ChatsChanged {});
        }
        Ok(())
    }

    /// Notes which rooms and Spaces this account is not in any more. A server does not tell of every one: what was
    /// purged there is in no sync.
    async fn note_gone(&self) -> Result<(), PlaneError> {
        let connector = self.bot.id();
        // Before the server is asked: what is made meanwhile is in its answer.
        let rows = self.bot.plane.call(Conversations { connector }).await?;
        let homes = self.bot.plane.call(Homes { connector }).await?;
        let joined = self.joined_now().await?;
        for row in rows.iter().filter(|row| row.broken.is_none()) {
            if let Some(room) = row.external_id.as_ref().filter(|room| !joined.contains(*room)) {
                tracing::warn!(room, "a room is not on the server any more");
                self.bot.members().set_broken(row.id, Some(NOT_IN_IT)).await?;
            }
        }
        for (user, home) in homes.iter().filter(|(_, home)| !joined.contains(home)) {
            tracing::warn!(home, %user, "a Space is not on the server any more");
            self.bot.plane.call(SetHome { connector, user: *user, place: None }).await?;
        }
        Ok(())
    }

    async fn joined_now(&self) -> Result<HashSet<String>, PlaneError> {
        let server = self.bot.homeserver();
        let joined = server.patiently(|| server.joined_ids().boxed()).await?;
        Ok(joined.iter().map(ToString::to_string).collect())
    }

    /// Who has rooms has a Space for them: one that vanished is made again.
    async fn mend_homes(&self) -> Result<(), PlaneError> {
        let connector = self.bot.id();
        let homes = self.bot.plane.call(Homes { connector }).await?;
        let homes: HashSet<Whose> = homes.into_iter().map(|(user, _)| user).collect();
        let rows = self.bot.plane.call(Conversations { connector }).await?;
        let housed = rows.iter().filter(|row| {
            row.kind == ConversationKind::Room && row.shown_title.is_some() && row.broken.is_none()
        });
        let homeless: HashSet<Whose> =
            housed.filter_map(|row| row.user).filter(|user| !homes.contains(user)).collect();
        let now = self.bot.plane.now_ms();
        for user in homeless {
            if !self.bot.rooms.lately.first_in(format!("home of {user}"), DAY, now) {
                continue;
            }
            let _making = self.bot.rooms.making.lock().await;
            if let Some(owner) = self.bot.making().owner(user).await? {
                self.bot.making().ensure_home(&owner).await?;
            }
        }
        Ok(())
    }

    /// Invites a person back to their Space if they left it, once a day at most.
    async fn invite_home(&self, user: Whose) -> Result<(), PlaneError> {
        let known = Home { connector: self.bot.id(), user };
        let Some(home) = self.bot.plane.call(known).await? else { return Ok(()) };
        let Ok(home) = RoomId::parse(&home) else { return Ok(()) };
        let Some(owner) = self.bot.making().owner(user).await? else { return Ok(()) };
        let now = self.bot.plane.now_ms();
        for account in &owner.accounts {
            let left = match self.bot.homeserver().membership(&home, account).await {
                // We are not in it any more: whoever makes rooms makes another.
                Err(error) if is_refusal(&error) => return Ok(()),
                membership => membership?.is_none_or(|now| now == "leave"),
            };
            if left && self.bot.rooms.lately.first_in(format!("home {home} {account}"), DAY, now) {
                self.bot.homeserver().invite(&home, account).await?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "gone_tests.rs"]
mod tests;
