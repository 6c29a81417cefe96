//! Which device wrote it: who has signing keys speaks through devices that these keys have signed.
//!
//! Promise: what an unsigned device of such a person writes is neither a command, nor an answer, nor a message,
//! also when it comes again. A password alone, or a device that a homeserver made up, says nothing here.

use cloister_kit::{Lately, PlaneError, part};
use cloister_protocol::surface::{RefuseEvent, RefusedDevice, WasRefused};
use cloister_protocol::with_causes;
use matrix_sdk::Room;
use matrix_sdk::deserialized_responses::{
    EncryptionInfo, TimelineEvent, TimelineEventKind, VerificationLevel, VerificationState,
};
use matrix_sdk::ruma::UserId;

use super::heard::{Heard, Seen};
use super::{ASK_AGAIN, HOUR, text};
use crate::bot::Bot;

/// How sure it is that a device is the person's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Device {
    Signed,
    Unsigned,
    /// Nobody knows which device it was: it is gone, or the key came another way than from it.
    Untold,
}

fn device(state: &VerificationState) -> Device {
    match state {
        VerificationState::Unverified(VerificationLevel::UnsignedDevice) => Device::Unsigned,
        VerificationState::Unverified(VerificationLevel::None(_)) => Device::Untold,
        VerificationState::Verified | VerificationState::Unverified(_) => Device::Signed,
    }
}

/// Whose devices were looked at lately.
#[derive(Default)]
pub(crate) struct DevicesState {
    lately: Lately,
}

part! {
    /// The devices that people write with.
    pub(crate) struct Devices of Bot;
}

impl Devices {
    /// Whether an event is not taken because of the device it came from. Who it is of is told, and what to do.
    pub(super) async fn is_of_doubtful_device(
        &self,
        room: &Room,
        event: &TimelineEvent,
        seen: &Seen,
    ) -> Result<bool, PlaneError> {
        let TimelineEventKind::Decrypted(decrypted) = &event.kind else { return Ok(false) };
        // Who is linked to nobody can do nothing here but ask to be.
        if matches!(seen.heard, Heard::Nothing) || !self.bot.speakers().knows(&seen.sender).await? {
            return Ok(false);
        }
        let (connector, event) = (self.bot.id(), seen.id.to_string());
        if self.bot.plane.call(WasRefused { connector, event: event.clone() }).await? {
            return Ok(true);
        }
        let info = &decrypted.encryption_info;
        if device(&info.verification_state) == Device::Signed {
            return Ok(false);
        }
        let doubtful = match self.device_now(room, info, &seen.sender).await? {
            Device::Signed => return Ok(false),
            doubtful => doubtful,
        };
        self.bot.plane.call(RefuseEvent { connector, event }).await?;
        self.refused_device(room, seen, info, doubtful).await?;
        Ok(true)
    }

    /// How it is with a device by what the homeserver has now: it may have been signed a moment ago. Who has no
    /// signing keys can have none of their devices signed.
    async fn device_now(
        &self,
        room: &Room,
        info: &EncryptionInfo,
        sender: &UserId,
    ) -> Result<Device, PlaneError> {
        let encryption = self.bot.client.encryption();
        let known = encryption.get_user_identity(sender).await.map_err(|e| unknown(sender, &e))?;
        let now = self.bot.plane.now_ms();
        let untold = device(&info.verification_state) == Device::Untold;
        let look = untold || self.bot.devices.lately.first_in(format!("keys {sender}"), HOUR, now);
        if known.is_none() && !look {
            return Ok(Device::Signed);
        }
        if !self.has_signing_keys(sender).await? {
            return Ok(Device::Signed);
        }
        let Some(session) = info.session_id() else { return Ok(Device::Untold) };
        let info = room.get_encryption_info(session, sender).await;
        Ok(info.map_or(Device::Untold, |info| device(&info.verification_state)))
    }

    /// Whether every device of a person that the homeserver tells of is signed by them, or none can be.
    pub(super) async fn has_only_signed_devices(
        &self,
        person: &UserId,
    ) -> Result<bool, PlaneError> {
        if !self.has_signing_keys(person).await? {
            return Ok(true);
        }
        let devices = self.bot.client.encryption().get_user_devices(person).await;
        let devices = devices.map_err(|error| unknown(person, &error))?;
        Ok(devices.devices().all(|device| device.is_cross_signed_by_owner()))
    }

    /// Whether a person has signing keys, and what they have signed, by what the homeserver has now.
    async fn has_signing_keys(&self, person: &UserId) -> Result<bool, PlaneError> {
        let encryption = self.bot.client.encryption();
        let asked = encryption.request_user_identity(person);
        let asked = tokio::time::timeout(self.bot.options.request_timeout(), asked).await;
        let asked = asked.map_err(|late| unknown(person, &late))?;
        Ok(asked.map_err(|error| unknown(person, &error))?.is_some())
    }

    async fn refused_device(
        &self,
        room: &Room,
        seen: &Seen,
        info: &EncryptionInfo,
        doubtful: Device,
    ) -> Result<(), PlaneError> {
        let name = info.sender_device.as_ref().map(|id| text::short(id.as_str(), 60));
        let name = name.unwrap_or_else(|| "unknown".to_owned());
        tracing::warn!(room = %room.room_id(), sender = %seen.sender, device = name, event = %seen.id,
            "a message of an unverified device was not taken");
        let now = self.bot.plane.now_ms();
        let place = room.room_id();
        if self.bot.devices.lately.first_in(format!("doubtful {place} {}", seen.sender), HOUR, now)
        {
            let refused = RefusedDevice {
                connector: self.bot.id(),
                place: place.to_string(),
                account: seen.sender.to_string(),
                device: name.clone(),
                event: seen.id.to_string(),
            };
            self.bot.plane.call(refused).await?;
        }
        let (topic, words) = match doubtful {
            Device::Unsigned => ("unverified", not_verified(&name)),
            Device::Untold | Device::Signed => ("untold", NOBODY_KNOWS.to_owned()),
        };
        self.bot.sayings().tell(room, topic, HOUR, &words).await;
        Ok(())
    }
}

fn not_verified(name: &str) -> String {
    format!(
        "I did not take a message from here: it came from a new device (`{name}`) that you have not verified. Verify \
         it in your app, with a device that you trust or with your recovery key, then write again. If it is not \
         yours, log it out and change your password."
    )
}

const NOBODY_KNOWS: &str = "I did not take a message from here: nobody can tell which device wrote it (the device is \
     gone, or its key came from a backup). Send it again from a device that you have verified.";

fn unknown(whose: &UserId, why: &dyn std::error::Error) -> PlaneError {
    tracing::warn!(%whose, error = with_causes(why), "the keys of a person could not be asked for");
    // It passes: an event is never skipped for it.
    PlaneError::busy("the keys of a person could not be asked for", ASK_AGAIN)
}

#[cfg(test)]
#[path = "devices_tests.rs"]
mod tests;
