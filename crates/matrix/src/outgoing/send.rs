//! Sending one event: under a transaction id that is the same after a kill, within a bounded time, with what
//! went wrong in the words that the control plane acts on.

use super::Sending;
use std::time::{Duration, UNIX_EPOCH};

use cloister_protocol::surface::{Recipient, SendError};
use matrix_sdk::config::RequestConfig;
use matrix_sdk::media::MediaError;
use matrix_sdk::ruma::api::client::membership::joined_rooms;
use matrix_sdk::ruma::api::error::{ErrorKind, RetryAfter};
use matrix_sdk::ruma::events::MessageLikeEventContent;
use matrix_sdk::ruma::{OwnedEventId, OwnedTransactionId, RoomId};
use matrix_sdk::{Error, HttpError, Room, RoomState};
use sha2::{Digest, Sha256};

/// How long a server that gives no time is left alone.
const DEFAULT_WAIT: Duration = Duration::from_secs(5);
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// What an event is, so that a key never names two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act<'a> {
    Post,
    Edit,
    React(&'a str),
    Say,
}

impl Act<'_> {
    fn word(self) -> String {
        match self {
            Self::Post => "post".to_owned(),
            Self::Edit => "edit".to_owned(),
            Self::React(with) => format!("react {with}"),
            Self::Say => "say".to_owned(),
        }
    }
}

impl Sending {
    /// The transaction id of one event in a conversation; the same for the same key, always. Keys count rows, and
    /// begin again where an older database is put back: what is answered and `what` is said tell such a row from
    /// the one that had its number before.
    pub(super) fn transaction(
        &self,
        to: &Recipient,
        act: Act<'_>,
        key: &str,
        what: &str,
    ) -> OwnedTransactionId {
        transaction(&[
            &self.bot.id().number().to_string(),
            &to.conversation.id.number().to_string(),
            &act.word(),
            key,
            to.origin.as_deref().unwrap_or_default(),
            what,
        ])
    }

    /// The transaction id of a sentence in a room that may be nobody's conversation.
    pub(super) fn transaction_in(&self, room: &RoomId, key: &str) -> OwnedTransactionId {
        transaction(&[&self.bot.id().number().to_string(), room.as_str(), &Act::Say.word(), key])
    }

    /// A room that can be written to.
    pub(super) async fn room_to_write(&self, id: &str) -> Result<Room, SendError> {
        let id = RoomId::parse(id)
            .map_err(|error| SendError::Gone(format!("{id} is no room: {error}")))?;
        let Some(room) = self.bot.client.get_room(&id) else {
            return Err(self.why_unknown(&id).await);
        };
        match room.state() {
            RoomState::Joined => Ok(room),
            RoomState::Left => Err(SendError::Gone("the room was left".to_owned())),
            RoomState::Banned => {
                Err(SendError::Gone("the account was banned from the room".to_owned()))
            }
            RoomState::Invited | RoomState::Knocked => {
                Err(SendError::Unreachable("the room is not joined yet".to_owned()))
            }
        }
    }

    /// A room that was never synced may be known to the server all the same.
    async fn why_unknown(&self, id: &RoomId) -> SendError {
        let request = self.bot.client.send(joined_rooms::v3::Request::new());
        match request.with_request_config(self.once()).await {
            Ok(answer) if answer.joined_rooms.iter().any(|joined| joined == id) => {
                SendError::Unreachable("the room is not synced yet".to_owned())
            }
            Ok(_) => SendError::Gone("the account is not in the room".to_owned()),
            Err(error) => self.failed(&error.into()),
        }
    }

    /// One try, within the time that a request may take: when to try again is decided elsewhere.
    pub(super) fn once(&self) -> RequestConfig {
        RequestConfig::new().disable_retry().timeout(self.bot.options.request_timeout())
    }

    /// Sends an event, encrypted where the room is or ever was. The same id again is the same event.
    pub(super) async fn send(
        &self,
        room: &Room,
        transaction: OwnedTransactionId,
        content: impl MessageLikeEventContent,
    ) -> Result<OwnedEventId, SendError> {
        self.bot.encryption().seals(room).await?;
        let sending =
            room.send(content).with_transaction_id(transaction).with_request_config(self.once());
        // Keys may have to be fetched and shared first.
        let bound = self.bot.options.request_timeout().saturating_mul(3);
        match tokio::time::timeout(bound, sending.into_future()).await {
            Ok(Ok(sent)) => Ok(sent.response.event_id),
            Ok(Err(error)) => Err(self.failed(&error)),
            Err(_elapsed) => Err(SendError::Unreachable(format!(
                "the homeserver took longer than {} s",
                bound.as_secs()
            ))),
        }
    }

    /// What a failure of the SDK means to who wants to send.
    pub(super) fn failed(&self, error: &Error) -> SendError {
        let now = u64::try_from(self.bot.plane.now_ms()).unwrap_or(0);
        meaning(error, Duration::from_millis(now))
    }
}

fn transaction(parts: &[&str]) -> OwnedTransactionId {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    hex::encode(digest.get(..24).unwrap_or(&digest)).into()
}

/// `now` is the time since the epoch.
fn meaning(error: &Error, now: Duration) -> SendError {
    match error {
        Error::Http(http) => meaning_of_http(http, now),
        Error::WrongRoomState(state) => SendError::Gone(format!("the room can't be used: {state}")),
        Error::Media(MediaError::MediaTooLargeToUpload { max, .. }) => {
            SendError::Refused(format!("the homeserver takes files of up to {max} bytes"))
        }
        Error::SerdeJson(error) => SendError::Refused(format!("it can't be written: {error}")),
        other => SendError::Unreachable(other.to_string()),
    }
}

fn meaning_of_http(error: &HttpError, now: Duration) -> SendError {
    if let HttpError::Cached(inner) = error {
        return meaning_of_http(inner, now);
    }
    let Some(answer) = error.as_client_api_error() else {
        return SendError::Unreachable(error.to_string());
    };
    let status = answer.status_code.as_u16();
    let said = answer.to_string();
    match answer.error_kind() {
        Some(ErrorKind::LimitExceeded(limit)) => {
            SendError::Wait(wait(limit.retry_after.as_ref(), now))
        }
        Some(ErrorKind::Forbidden) => SendError::Gone(said),
        Some(ErrorKind::NotFound) if status == 404 => SendError::Gone(said),
        Some(ErrorKind::TooLarge) => SendError::Refused(said),
        Some(ErrorKind::BadJson | ErrorKind::InvalidParam | ErrorKind::NotJson) => {
            SendError::Refused(said)
        }
        Some(_) | None if status == 429 => SendError::Wait(DEFAULT_WAIT),
        Some(_) | None if status == 413 => SendError::Refused(said),
        // Whether an unknown token, a locked account or a server that is down: others act on it.
        Some(_) | None => SendError::Unreachable(said),
    }
}

fn wait(after: Option<&RetryAfter>, now: Duration) -> Duration {
    let wait = match after {
        Some(RetryAfter::Delay(delay)) => *delay,
        Some(RetryAfter::DateTime(time)) => match time.duration_since(UNIX_EPOCH) {
            Ok(time) => time.saturating_sub(now),
            Err(_before_the_epoch) => DEFAULT_WAIT,
        },
        None => DEFAULT_WAIT,
    };
    wait.clamp(Duration::from_millis(50), LONGEST_WAIT)
}

#[cfg(test)]
#[path = "send_tests.rs"]
mod tests;
