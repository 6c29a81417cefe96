//! The requests this part makes of the homeserver, by room id, and what their failures mean.

use std::error::Error as _;
use std::time::Duration;

use cloister_kit::{PlaneError, part};
use cloister_protocol::{ErrorCode, with_causes};
use futures_util::future::BoxFuture;
use matrix_sdk::config::RequestConfig;
use matrix_sdk::ruma::api::client::membership::invite_user::v3::{
    InvitationRecipient, InviteUserId,
};
use matrix_sdk::ruma::api::client::membership::{invite_user, joined_rooms, leave_room};
use matrix_sdk::ruma::api::client::room::create_room;
use matrix_sdk::ruma::api::client::state::{
    get_state_event_for_key, get_state_events, send_state_event,
};
use matrix_sdk::ruma::api::error::{ErrorKind, RetryAfter};
use matrix_sdk::ruma::events::StateEventType;
use matrix_sdk::ruma::serde::Raw;
use matrix_sdk::ruma::{OwnedRoomId, RoomId, UserId};
use matrix_sdk::{Room, RoomState};

use super::ownership::StateEvent;
use crate::bot::Bot;

/// What is waited when the server does not say how long.
const USUAL_WAIT: Duration = Duration::from_secs(2);
/// The longest that is waited for the server's permission before giving up for now.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// How often something is tried when the server asks to wait.
const ATTEMPTS: u32 = 5;
/// How long making a room may take.
const MAKING_TIME: Duration = Duration::from_secs(60);

/// Names what failed. When the server asks to wait, it says for how long.
pub(super) fn failed<E: Into<matrix_sdk::Error>>(
    what: &'static str,
) -> impl FnOnce(E) -> PlaneError {
    move |error| {
        let error = error.into();
        if let Some(ErrorKind::LimitExceeded(limit)) = error.client_api_error_kind() {
            let wait = match limit.retry_after {
                Some(RetryAfter::Delay(wait)) => wait,
                Some(RetryAfter::DateTime(_)) | None => USUAL_WAIT,
            };
            return PlaneError::busy(what, wait);
        }
        PlaneError::io(what)(std::io::Error::other(error))
    }
}

/// Whether the server said that it will not, whoever asks again.
pub(super) fn is_refusal(error: &PlaneError) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<std::io::Error>());
    let cause = cause.and_then(std::io::Error::get_ref);
    let cause = cause.and_then(|cause| cause.downcast_ref::<matrix_sdk::Error>());
    let Some(cause) = cause.and_then(matrix_sdk::Error::as_client_api_error) else { return false };
    match cause.error_kind() {
        Some(ErrorKind::Forbidden | ErrorKind::NotFound) => true,
        Some(ErrorKind::Unknown) => cause.status_code.is_client_error(),
        Some(_) | None => false,
    }
}

part! {
    /// The homeserver, asked by room id.
    pub(crate) struct Homeserver of Bot;
}

impl Homeserver {
    pub(super) fn own_id(&self) -> Result<&UserId, PlaneError> {
        self.bot
            .client
            .user_id()
            .ok_or_else(|| PlaneError::refused(ErrorCode::Internal, "the account is not logged in"))
    }

    /// Tries again as long as the server asks to wait, a few times.
    pub(super) async fn patiently<'a, T>(
        &'a self,
        attempt: impl Fn() -> BoxFuture<'a, Result<T, PlaneError>> + Send + Sync,
    ) -> Result<T, PlaneError> {
        let stop = self.bot.plane.stop_token();
        for _ in 1..ATTEMPTS {
            let done = attempt().await;
            let asked = done.as_ref().err().filter(|error| error.is_busy());
            let wait = asked.and_then(PlaneError::retry_after);
            let Some(wait) = wait.filter(|wait| *wait <= LONGEST_WAIT) else { return done };
            if stop.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
                break;
            }
        }
        attempt().await
    }

    /// Every room that this account is in, as the server has it.
    pub(super) async fn joined_ids(&self) -> Result<Vec<OwnedRoomId>, PlaneError> {
        let answer = self.bot.client.send(joined_rooms::v3::Request::new()).await;
        Ok(answer.map_err(failed("the rooms of the account could not be listed"))?.joined_rooms)
    }

    /// The whole state of a room.
    pub(super) async fn state_of(&self, room: &RoomId) -> Result<Vec<StateEvent>, PlaneError> {
        let answer =
            self.bot.client.send(get_state_events::v3::Request::new(room.to_owned())).await;
        let state = answer.map_err(failed("the state of a room could not be read"))?.room_state;
        Ok(state.iter().filter_map(|event| StateEvent::parse(event.json().get())).collect())
    }

    /// Whether somebody is in a room or invited, as the server has it.
    async fn is_member(&self, room: &RoomId, user: &UserId) -> Result<bool, PlaneError> {
        let membership = self.membership(room, user).await?;
        Ok(matches!(membership.as_deref(), Some("join" | "invite")))
    }

    /// What somebody is in a room, as the server has it; none if they never had to do with it.
    pub(super) async fn membership(
        &self,
        room: &RoomId,
        user: &UserId,
    ) -> Result<Option<String>, PlaneError> {
        self.state_of_key(room, (StateEventType::RoomMember, user.as_str()), "membership").await
    }

    /// A text of a room's state, as the server has it; none if there is none.
    pub(crate) async fn state_text(
        &self,
        room: &RoomId,
        (kind, field): (StateEventType, &str),
    ) -> Result<Option<String>, PlaneError> {
        self.state_of_key(room, (kind, ""), field).await
    }

    async fn state_of_key(
        &self,
        room: &RoomId,
        (kind, key): (StateEventType, &str),
        field: &str,
    ) -> Result<Option<String>, PlaneError> {
        let request =
            get_state_event_for_key::v3::Request::new(room.to_owned(), kind, key.to_owned());
        let answer = match self.bot.client.send(request).await {
            Ok(answer) => answer,
            Err(error) if error.client_api_error_kind() == Some(&ErrorKind::NotFound) => {
                return Ok(None);
            }
            Err(error) => return Err(failed("the state of a room could not be read")(error)),
        };
        let content: serde_json::Value =
            serde_json::from_str(answer.event_or_content.get()).unwrap_or_default();
        let text = content.get(field).and_then(serde_json::Value::as_str);
        Ok(text.map(str::to_owned))
    }

    /// Invites somebody; who is there already stays.
    pub(super) async fn invite(&self, room: &RoomId, user: &UserId) -> Result<(), PlaneError> {
        let recipient = InvitationRecipient::UserId(InviteUserId::new(user.to_owned()));
        let request = invite_user::v3::Request::new(room.to_owned(), recipient);
        let invited = self.bot.client.send(request).await;
        let Err(error) = invited.map_err(failed("a person could not be invited")) else {
            return Ok(());
        };
        if is_refusal(&error) && self.is_member(room, user).await? {
            return Ok(());
        }
        Err(error)
    }

    pub(super) async fn set_state(
        &self,
        room: &RoomId,
        (kind, key): (&str, &str),
        content: &serde_json::Value,
    ) -> Result<(), PlaneError> {
        let content = raw(content)?;
        let kind = StateEventType::from(kind);
        let request =
            send_state_event::v3::Request::new_raw(room.to_owned(), kind, key.to_owned(), content);
        let sent = self.bot.client.send(request).await;
        sent.map(drop).map_err(failed("the state of a room could not be changed"))
    }

    /// Makes a room. It is asked for once: whether a failed request made one is seen by looking, not by asking
    /// again.
    pub(super) async fn create(
        &self,
        request: create_room::v3::Request,
    ) -> Result<OwnedRoomId, PlaneError> {
        let once = RequestConfig::new().disable_retry().timeout(MAKING_TIME);
        let made = self.bot.client.send(request).with_request_config(once).await;
        Ok(made.map_err(failed("a room could not be made"))?.room_id)
    }

    /// A room that this account is in, also before a sync brought it.
    pub(super) async fn room(&self, id: &RoomId) -> Result<Room, PlaneError> {
        match self.bot.client.get_room(id) {
            Some(room) if room.state() == RoomState::Joined => Ok(room),
            // Joining again what one is in changes nothing.
            Some(_) | None => self
                .bot
                .client
                .join_room_by_id(id)
                .await
                .map_err(failed("a room of ours could not be entered")),
        }
    }

    /// Turns an invitation down, and says why: who invited sees it with that.
    pub(super) async fn decline(&self, room: &Room, why: &str) -> Result<(), PlaneError> {
        let mut request = leave_room::v3::Request::new(room.room_id().to_owned());
        request.reason = Some(why.to_owned());
        let declined = self.bot.client.send(request).await;
        match declined.map_err(failed("an invitation could not be turned down")) {
            Err(error) if !is_refusal(&error) => return Err(error),
            Ok(_) | Err(_) => {}
        }
        self.leave(room).await
    }

    /// Leaves a room for good.
    pub(super) async fn leave(&self, room: &Room) -> Result<(), PlaneError> {
        if matches!(room.state(), RoomState::Joined | RoomState::Invited | RoomState::Knocked) {
            room.leave().await.map_err(failed("a room could not be left"))?;
        }
        if matches!(room.state(), RoomState::Left | RoomState::Banned) {
            // A server may have forgotten it with the leave.
            if let Err(error) = room.forget().await {
                tracing::debug!(room = %room.room_id(), error = with_causes(&error), "a left room was not forgotten");
            }
        }
        Ok(())
    }
}

/// JSON of ours as the SDK wants it.
pub(super) fn raw<T>(json: &serde_json::Value) -> Result<Raw<T>, PlaneError> {
    let json = serde_json::value::to_raw_value(json).map_err(std::io::Error::other);
    json.map(Raw::from_json).map_err(PlaneError::io("an event could not be written"))
}
