//! Looking at rooms: what their state says, from what the last sync kept where that is enough, else from the
//! server.

use std::collections::HashSet;

use cloister_kit::{PlaneError, part};
use cloister_protocol::admin::Skipped;
use cloister_protocol::surface::{Conversations, Homes};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use matrix_sdk::deserialized_responses::RawAnySyncOrStrippedState;
use matrix_sdk::ruma::events::StateEventType;
use matrix_sdk::ruma::{OwnedRoomId, RoomId};
use matrix_sdk::{Room, RoomMemberships, RoomState};

use super::MOST_REMEMBERED;
use super::graph::Seen;
use super::ownership::{CHAT_EVENT, Claim, HOME_EVENT, StateEvent, claim_in};
use super::server::{failed, is_refusal};
use crate::bot::Bot;
use crate::incoming::opened_by;

/// How many rooms are looked at side by side.
const AT_ONCE: usize = 8;
const CREATE: &str = "m.room.create";
const NAME: &str = "m.room.name";
const MEMBER: &str = "m.room.member";
const JOIN_RULES: &str = "m.room.join_rules";
const HISTORY: &str = "m.room.history_visibility";

part! {
    /// The rooms as the server has them.
    pub(crate) struct Survey of Bot;
}

impl Survey {
    /// Looks at a room that this account is in.
    pub(super) async fn see(&self, id: &RoomId) -> Result<Seen, PlaneError> {
        match self.bot.client.get_room(id) {
            Some(room) if room.state() == RoomState::Joined && room.is_state_fully_synced() => {
                self.see_kept(&room).await
            }
            Some(_) | None => self.see_there(id).await,
        }
    }

    /// Looks at a room on the server, whatever was kept.
    pub(super) async fn see_there(&self, id: &RoomId) -> Result<Seen, PlaneError> {
        let own = self.bot.homeserver().own_id()?;
        let server = self.bot.homeserver();
        let state = server.patiently(|| server.state_of(id).boxed()).await?;
        let one = |kind: &str| state.iter().find(|event| event.kind == kind);
        let text = |event: Option<&StateEvent>, key: &str| {
            let value = event.and_then(|event| event.content.get(key));
            value.and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
        };
        let active = |event: &&StateEvent| {
            event.kind == MEMBER
                && event.state_key.as_deref() != Some(own.as_str())
                && matches!(text(Some(event), "membership").as_str(), "join" | "invite")
        };
        Ok(Seen {
            room: id.to_string(),
            claim: claim_in(&state, own),
            created_at: one(CREATE).map_or(0, |event| event.origin_server_ts),
            name: text(one(NAME), "name"),
            named_by_us: one(NAME).is_some_and(|event| event.sender == own),
            space: text(one(CREATE), "type") == "m.space",
            members: state
                .iter()
                .filter(active)
                .filter_map(|event| event.state_key.clone())
                .collect(),
            open: opened_by(
                &text(one(JOIN_RULES), "join_rule"),
                &text(one(HISTORY), "history_visibility"),
            ),
        })
    }

    /// The event that gave a room the name it has now, as the server has it.
    pub(super) async fn naming_event(&self, id: &RoomId) -> Result<Option<String>, PlaneError> {
        let state = self.bot.homeserver().state_of(id).await?;
        let named = state.into_iter().find(|event| event.kind == NAME);
        Ok(named.and_then(|event| event.event_id))
    }

    async fn see_kept(&self, room: &Room) -> Result<Seen, PlaneError> {
        let mut state = Vec::new();
        for kind in [CHAT_EVENT, HOME_EVENT, CREATE, NAME] {
            let kept = room.get_state_event(StateEventType::from(kind), "").await;
            let kept = kept.map_err(failed("the kept state of a room could not be read"))?;
            if let Some(RawAnySyncOrStrippedState::Sync(event)) = kept {
                state.extend(StateEvent::parse(event.json().get()));
            }
        }
        let own = self.bot.homeserver().own_id()?;
        let created = state.iter().find(|event| event.kind == CREATE);
        let named = state.iter().find(|event| event.kind == NAME);
        Ok(Seen {
            room: room.room_id().to_string(),
            claim: claim_in(&state, own),
            created_at: created.map_or(0, |event| event.origin_server_ts),
            name: room.name().unwrap_or_default(),
            named_by_us: named.is_some_and(|event| event.sender == own),
            space: room.is_space(),
            members: self.others(room).await?,
            open: self.bot.privacy().opened(room).await?,
        })
    }

    /// Who else is in a room or invited.
    pub(super) async fn others(&self, room: &Room) -> Result<Vec<String>, PlaneError> {
        self.others_who(room, RoomMemberships::ACTIVE).await
    }

    /// Who else is in a room, or invited, or either.
    pub(super) async fn others_who(
        &self,
        room: &Room,
        which: RoomMemberships,
    ) -> Result<Vec<String>, PlaneError> {
        let unread = "the members of a room could not be read";
        let active = RoomMemberships::ACTIVE;
        let mut members = room.members_no_sync(active).await.map_err(failed(unread))?;
        let counted = usize::try_from(room.active_members_count()).unwrap_or(usize::MAX);
        if members.len() < counted.max(1) {
            members = room.members(active).await.map_err(failed(unread))?;
        }
        let own = self.bot.homeserver().own_id()?;
        let others = members
            .iter()
            .filter(|member| member.user_id() != own && which.matches(member.membership()));
        Ok(others.map(|member| member.user_id().to_string()).collect())
    }

    /// Looks at many rooms; those that could not be looked at are named with why.
    pub(super) async fn see_all(&self, ids: &[OwnedRoomId]) -> (Vec<Seen>, Vec<Skipped>) {
        let looks: Vec<BoxFuture<'_, (&OwnedRoomId, Result<Seen, PlaneError>)>> =
            ids.iter().map(|id| self.see(id).map(move |look| (id, look)).boxed()).collect();
        let mut looks = stream::iter(looks).buffer_unordered(AT_ONCE);
        let (mut seen, mut unseen) = (Vec::new(), Vec::new());
        while let Some((id, look)) = looks.next().await {
            match look {
                Ok(room) => seen.push(room),
                Err(error) => unseen.push(Skipped {
                    room: id.to_string(),
                    why: format!("it could not be looked at: {}", error.chain()),
                }),
            }
        }
        (seen, unseen)
    }

    /// The rooms with our mark that have no place here: made, and not stored before a kill. Looked for on the
    /// server, as a sync may not have brought them yet.
    pub(super) async fn unplaced(&self) -> Result<Vec<Seen>, PlaneError> {
        let placed = self.placed().await?;
        let server = self.bot.homeserver();
        let joined = server.patiently(|| server.joined_ids().boxed()).await?;
        let mut unplaced = Vec::new();
        for id in joined.into_iter().filter(|id| !placed.contains(id.as_str())) {
            match self.marked(&id).await {
                // Left, or closed to us: not one that was made a moment ago.
                Err(error) if is_refusal(&error) => {}
                seen => unplaced.extend(seen?),
            }
        }
        unplaced.sort_by_key(|seen| seen.created_at);
        Ok(unplaced)
    }

    /// A room without a place here, if it carries our mark. A mark is there from the first moment or never:
    /// what was seen once is remembered.
    pub(super) async fn marked(&self, id: &RoomId) -> Result<Option<Seen>, PlaneError> {
        if let Some(seen) = self.bot.rooms.unplaced().get(id).cloned() {
            return Ok(seen);
        }
        let seen = self.see(id).await?;
        let ours = matches!(seen.claim, Claim::Chat(_) | Claim::Home(_) | Claim::Unreadable);
        let seen = ours.then_some(seen);
        let mut memory = self.bot.rooms.unplaced();
        if memory.len() >= MOST_REMEMBERED {
            memory.clear();
        }
        memory.insert(id.to_owned(), seen.clone());
        Ok(seen)
    }

    /// The rooms that are known here.
    pub(super) async fn placed(&self) -> Result<HashSet<String>, PlaneError> {
        let connector = self.bot.id();
        let rows = self.bot.plane.call(Conversations { connector }).await?;
        let homes = self.bot.plane.call(Homes { connector }).await?;
        let rooms = rows.into_iter().filter_map(|row| row.external_id);
        Ok(rooms.chain(homes.into_iter().map(|(_, room)| room)).collect())
    }
}
