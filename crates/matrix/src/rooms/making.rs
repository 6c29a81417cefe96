//! Making Spaces and rooms: each carries our mark from its first moment, so that making one and owning it is
//! one step, and a kill in between leaves nothing that is nobody's.

use cloister_kit::{PlaneError, part};
use cloister_protocol::surface::{
    AccountsOf, Conversation, ConversationKind, Conversations, Home, SetHome,
};
use cloister_protocol::{ChatId, UserId, WorkspaceId};
use futures_util::FutureExt;
use matrix_sdk::RoomState;
use matrix_sdk::ruma::api::client::room::create_room;
use matrix_sdk::ruma::api::client::room::create_room::v3::RoomPreset;
use matrix_sdk::ruma::{OwnedRoomId, OwnedUserId, RoomId};
use serde_json::{Value, json};

use super::naming::{HOME_NAME, room_name};
use super::ownership::{CHAT_EVENT, ChatClaim, Claim, HOME_EVENT, HomeClaim};
use super::server::{failed, is_refusal, raw};
use crate::bot::Bot;

/// What only this account may change: everything that is not listed.
const OURS: u64 = 100;
/// What the person may change.
const THEIRS: u64 = 50;
/// The most accounts of one person that are invited.
const MOST_ACCOUNTS: usize = 8;
const HOME_TOPIC: &str = "Your chats, one room each. `!new` opens another.";

/// Whom a room is made for.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    pub(super) user: UserId,
    /// Their accounts, at least one; the first is the one the mark names.
    pub(super) accounts: Vec<OwnedUserId>,
}

impl Owner {
    fn is(&self, account: &OwnedUserId) -> bool {
        self.accounts.contains(account)
    }
}

part! {
    /// Spaces and rooms, made once.
    pub(crate) struct Making of Bot;
}

impl Making {
    /// The accounts of a user; none if they have none on Matrix.
    pub(super) async fn owner(&self, user: UserId) -> Result<Option<Owner>, PlaneError> {
        let accounts = self.bot.plane.call(AccountsOf { user }).await?;
        let accounts: Vec<OwnedUserId> = accounts
            .iter()
            .filter_map(|account| account.parse().ok())
            .take(MOST_ACCOUNTS)
            .collect();
        Ok((!accounts.is_empty()).then_some(Owner { user, accounts }))
    }

    /// The Space of a person, made if there is none. Call it with `making` held.
    pub(super) async fn ensure_home(&self, owner: &Owner) -> Result<OwnedRoomId, PlaneError> {
        if let Some(home) = self.live_home(owner.user).await? {
            return Ok(home);
        }
        let made = self.bot.survey().unplaced().await?.into_iter().find(|seen| match &seen.claim {
            Claim::Home(claim) => owner.is(&claim.user),
            Claim::None | Claim::Foreign { .. } | Claim::Unreadable | Claim::Chat(_) => false,
        });
        let id = match made.and_then(|seen| seen.room.parse::<OwnedRoomId>().ok()) {
            Some(id) => id,
            None => self.make_home(owner).await?,
        };
        self.invite_all(&id, owner).await?;
        self.move_in(&id, owner.user).await?;
        let (user, place) = (owner.user, Some(id.to_string()));
        self.bot.plane.call(SetHome { connector: self.bot.id(), user, place }).await?;
        Ok(id)
    }

    /// Invites a person to their Space who never was: it may have been made just before a kill.
    pub(super) async fn let_into_home(
        &self,
        home: &RoomId,
        owner: &Owner,
    ) -> Result<(), PlaneError> {
        let mut never = Vec::new();
        for account in &owner.accounts {
            let server = self.bot.homeserver();
            if server.patiently(|| server.membership(home, account).boxed()).await?.is_none() {
                never.push(account.clone());
            }
        }
        self.invite_all(home, &Owner { user: owner.user, accounts: never }).await
    }

    /// Invites every account of a person. One that the server will not have invited keeps out no other.
    pub(super) async fn invite_all(&self, room: &RoomId, owner: &Owner) -> Result<(), PlaneError> {
        for account in &owner.accounts {
            let server = self.bot.homeserver();
            match server.patiently(|| server.invite(room, account).boxed()).await {
                Err(error) if is_refusal(&error) => {
                    tracing::warn!(%room, %account, error = error.chain(), "a person can't be invited");
                }
                invited => invited?,
            }
        }
        Ok(())
    }

    /// Puts the rooms that a person has already into a new Space.
    async fn move_in(&self, home: &RoomId, user: UserId) -> Result<(), PlaneError> {
        for row in self.bot.plane.call(Conversations { connector: self.bot.id() }).await? {
            let made = row.kind == ConversationKind::Room && row.shown_title.is_some();
            let id = row.external_id.as_deref().and_then(|id| id.parse::<OwnedRoomId>().ok());
            if let Some(id) = id.filter(|_| made && row.user == Some(user) && !row.shown_archived) {
                self.bot.rooms().put_into(home, &id, &row, false).await?;
                let parent = json!({"via": [self.server()?], "canonical": true});
                self.bot.rooms().set(&id, ("m.space.parent", home.as_str()), &parent).await?;
            }
        }
        Ok(())
    }

    /// The home that is known, unless this account is no longer in it.
    async fn live_home(&self, user: UserId) -> Result<Option<OwnedRoomId>, PlaneError> {
        let connector = self.bot.id();
        let Some(home) = self.bot.plane.call(Home { connector, user }).await? else {
            return Ok(None);
        };
        let Some(id) = home.parse::<OwnedRoomId>().ok() else { return Ok(None) };
        let state = self.bot.client.get_room(&id).map(|room| room.state());
        if matches!(state, Some(RoomState::Left | RoomState::Banned)) {
            self.bot.plane.call(SetHome { connector, user, place: None }).await?;
            return Ok(None);
        }
        Ok(Some(id))
    }

    async fn make_home(&self, owner: &Owner) -> Result<OwnedRoomId, PlaneError> {
        let account = first(owner)?;
        let mut request = create_room::v3::Request::new();
        request.preset = Some(RoomPreset::PrivateChat);
        request.name = Some(HOME_NAME.to_owned());
        request.topic = Some(HOME_TOPIC.to_owned());
        request.creation_content = Some(raw(&json!({"type": "m.space"}))?);
        let claim = json_of(&HomeClaim::new(account))?;
        request.initial_state = vec![
            raw(&state(HOME_EVENT, "", &claim))?,
            raw(&state("m.room.guest_access", "", &json!({"guest_access": "forbidden"})))?,
            raw(&state(
                "m.room.history_visibility",
                "",
                &json!({"history_visibility": "invited"}),
            ))?,
        ];
        let mut power = self.power(owner).await?;
        // A Space is not written in; its order is the person's to change.
        merge(&mut power, &json!({"events_default": OURS}));
        merge_events(&mut power, &json!({"m.space.child": THEIRS}));
        request.power_level_content_override = Some(raw(&power)?);
        let server = self.bot.homeserver();
        let id = server.patiently(|| server.create(request.clone()).boxed()).await?;
        tracing::info!(room = %id, user = %owner.user, "made a Space");
        Ok(id)
    }

    /// The room of a chat: the one that carries its mark already, or a new one. Call it with `making` held.
    pub(super) async fn ensure_room(
        &self,
        wanted: &Conversation,
        title: &str,
        owner: &Owner,
        home: &RoomId,
    ) -> Result<OwnedRoomId, PlaneError> {
        let chat = (wanted.workspace, wanted.chat);
        let made = self.bot.survey().unplaced().await?.into_iter().find(|seen| match &seen.claim {
            Claim::Chat(claim) => owner.is(&claim.user) && (claim.workspace, claim.chat) == chat,
            Claim::None | Claim::Foreign { .. } | Claim::Unreadable | Claim::Home(_) => false,
        });
        match made.and_then(|seen| seen.room.parse::<OwnedRoomId>().ok()) {
            Some(id) => Ok(id),
            None => self.make_room(chat, title, owner, home).await,
        }
    }

    async fn make_room(
        &self,
        (workspace, chat): (WorkspaceId, ChatId),
        title: &str,
        owner: &Owner,
        home: &RoomId,
    ) -> Result<OwnedRoomId, PlaneError> {
        let mut request = create_room::v3::Request::new();
        request.preset = Some(RoomPreset::PrivateChat);
        request.name = Some(room_name(chat, title, false));
        let claim = json_of(&ChatClaim::new(workspace, chat, first(owner)?))?;
        let parent = json!({"via": [self.server()?], "canonical": true});
        let mut initial = vec![
            raw(&state(CHAT_EVENT, "", &claim))?,
            raw(&state("m.space.parent", home.as_str(), &parent))?,
            raw(&state("m.room.guest_access", "", &json!({"guest_access": "forbidden"})))?,
            raw(&state(
                "m.room.history_visibility",
                "",
                &json!({"history_visibility": "invited"}),
            ))?,
        ];
        if self.bot.settings.encrypted {
            let algorithm = json!({"algorithm": "m.megolm.v1.aes-sha2"});
            initial.push(raw(&state("m.room.encryption", "", &algorithm))?);
        }
        request.initial_state = initial;
        request.power_level_content_override = Some(raw(&self.power(owner).await?)?);
        let server = self.bot.homeserver();
        let id = server.patiently(|| server.create(request.clone()).boxed()).await?;
        if self.bot.settings.encrypted {
            self.bot.encryption().remember_sealed(&id).await?;
        }
        tracing::info!(room = %id, %workspace, %chat, "made a room");
        Ok(id)
    }

    /// Who may do what in a room of ours: the person renames, pins and redacts; what the room is, who comes in
    /// and our mark are this account's.
    async fn power(&self, owner: &Owner) -> Result<Value, PlaneError> {
        let versions = self.bot.client.homeserver_capabilities().room_versions().await;
        let versions = versions.map_err(failed("the room versions of the server are not known"))?;
        let rules = versions.default.rules();
        // Where who made a room is above all others, they must not be listed.
        let above_all =
            rules.is_none_or(|rules| rules.authorization.explicitly_privilege_room_creators);
        let mut users: serde_json::Map<String, Value> =
            owner.accounts.iter().map(|account| (account.to_string(), json!(THEIRS))).collect();
        if !above_all {
            users.insert(self.bot.homeserver().own_id()?.to_string(), json!(OURS));
        }
        Ok(json!({
            "users": users,
            "users_default": 0,
            "events_default": 0,
            "state_default": OURS,
            "invite": OURS,
            "kick": OURS,
            "ban": OURS,
            "redact": THEIRS,
            "events": {
                CHAT_EVENT: OURS,
                HOME_EVENT: OURS,
                "m.room.name": THEIRS,
                "m.room.topic": THEIRS,
                "m.room.avatar": THEIRS,
                "m.room.pinned_events": THEIRS,
            },
        }))
    }

    /// The server this account is on, through which its rooms are reached.
    pub(super) fn server(&self) -> Result<String, PlaneError> {
        Ok(self.bot.homeserver().own_id()?.server_name().to_string())
    }
}

fn first(owner: &Owner) -> Result<OwnedUserId, PlaneError> {
    owner.accounts.first().cloned().ok_or_else(|| {
        let message = format!("{} has no account on Matrix", owner.user);
        PlaneError::refused(cloister_protocol::ErrorCode::NotFound, message)
    })
}

fn state(kind: &str, key: &str, content: &Value) -> Value {
    json!({"type": kind, "state_key": key, "content": content})
}

fn json_of<T: serde::Serialize>(value: &T) -> Result<Value, PlaneError> {
    let json = serde_json::to_value(value).map_err(std::io::Error::other);
    json.map_err(PlaneError::io("a mark could not be written"))
}

fn merge(into: &mut Value, more: &Value) {
    if let (Some(into), Some(more)) = (into.as_object_mut(), more.as_object()) {
        into.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
}

fn merge_events(power: &mut Value, more: &Value) {
    if let Some(events) = power.get_mut("events") {
        merge(events, more);
    }
}
