//! A room that was encrypted once stays so: nothing is written in the clear there, and nothing that comes in
//! the clear is believed, whatever the homeserver says later.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use cloister_kit::{PlaneError, part};
use cloister_protocol::surface::{SendError, SetEncrypted, WasEncrypted};
use matrix_sdk::ruma::{OwnedRoomId, RoomId};
use matrix_sdk::{EncryptionState, Room};
use serde_json::json;

use crate::bot::Bot;

/// How many rooms are known to be encrypted without asking the control plane.
const MOST_REMEMBERED: usize = 10_000;

/// Rooms that are written down as encrypted.
#[derive(Default)]
pub(crate) struct Sealed(Mutex<HashSet<OwnedRoomId>>);

impl Sealed {
    fn has(&self, room: &RoomId) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(room)
    }

    fn add(&self, room: &RoomId) {
        let mut rooms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if rooms.len() >= MOST_REMEMBERED {
            rooms.clear();
        }
        rooms.insert(room.to_owned());
    }
}

/// What may be done in a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Secrecy {
    Encrypted,
    Clear,
    /// It was encrypted, and the homeserver does not say so (any more).
    Lost,
    Unknown,
}

fn secrecy(now: &EncryptionState, was_encrypted: bool) -> Secrecy {
    match (now, was_encrypted) {
        (EncryptionState::Encrypted, _) => Secrecy::Encrypted,
        (EncryptionState::NotEncrypted | EncryptionState::Unknown, true) => Secrecy::Lost,
        (EncryptionState::NotEncrypted, false) => Secrecy::Clear,
        (EncryptionState::Unknown, false) => Secrecy::Unknown,
    }
}

part! {
    /// Which rooms are encrypted, for ever.
    pub(crate) struct Encryption of Bot;
}

impl Encryption {
    /// A room is encrypted from now on, for ever.
    pub(crate) async fn remember_sealed(&self, room: &RoomId) -> Result<(), PlaneError> {
        if !self.bot.sealed.has(room) {
            self.bot.plane.call(SetEncrypted { place: room.to_string() }).await?;
            self.bot.sealed.add(room);
        }
        Ok(())
    }

    /// Whether what is written in a room goes out encrypted. What must not go out in the clear is an error.
    pub(crate) async fn seals(&self, room: &Room) -> Result<bool, SendError> {
        let id = room.room_id();
        let unknown = |why: String| SendError::Unreachable(format!("{NOT_KNOWN}: {why}"));
        let asked = room.latest_encryption_state();
        let now = match tokio::time::timeout(self.bot.options.request_timeout(), asked).await {
            Ok(Ok(now)) => now,
            Ok(Err(error)) => return Err(unknown(error.to_string())),
            Err(elapsed) => return Err(unknown(elapsed.to_string())),
        };
        let stored = |error: PlaneError| unknown(error.to_string());
        let asked = WasEncrypted { place: id.to_string() };
        let was = self.bot.sealed.has(id) || self.bot.plane.call(asked).await.map_err(stored)?;
        match secrecy(&now, was) {
            Secrecy::Encrypted => {
                self.remember_sealed(id).await.map_err(stored)?;
                Ok(true)
            }
            Secrecy::Clear => Ok(false),
            Secrecy::Unknown => Err(unknown("the homeserver does not say".to_owned())),
            Secrecy::Lost => self.seal_again(room).await.map(|()| true),
        }
    }

    /// Goes on encrypting where the homeserver says that there is no need to.
    async fn seal_again(&self, room: &Room) -> Result<(), SendError> {
        let id = room.room_id();
        tracing::error!(room = %id, "the homeserver says that a room is not encrypted which was; it stays so");
        let told = room
            .update_and_save_room_info(|mut info| {
                let usual = json!({"algorithm": "m.megolm.v1.aes-sha2"});
                info.set_encryption_event(serde_json::from_value(usual).ok());
                info.mark_encryption_state_synced();
                // There is no reason to look at the room anew.
                (info, [].into_iter().collect())
            })
            .await;
        if let Err(error) = told {
            return Err(SendError::Unreachable(format!("{NOT_SEALED}: {error}")));
        }
        if room.encryption_state().is_encrypted() {
            return Ok(());
        }
        Err(SendError::Unreachable(NOT_SEALED.to_owned()))
    }
}

const NOT_KNOWN: &str = "it is not known whether the room is encrypted";
const NOT_SEALED: &str = "the room was encrypted, and the homeserver says that it is not: nothing is sent in the \
     clear";

#[cfg(test)]
#[path = "secrecy_tests.rs"]
mod tests;
