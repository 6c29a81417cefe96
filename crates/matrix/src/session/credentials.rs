//! What an account logs in with and what opens its store, as they are in its sealed secret.

use std::fmt;

use cloister_kit::{Plane, PlaneError};
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::Key;
use cloister_protocol::surface::{ConnectorId, ForgetSecret, KeepSecret, OpenSecret};
use serde::{Deserialize, Serialize};

/// How many bytes the key of the store has.
const KEY: usize = 32;

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Credentials {
    pub(crate) access_token: String,
    pub(crate) device_id: String,
    /// The directory of the device's keys and rooms, under the surface's own.
    pub(crate) store: String,
    /// What that directory is encrypted with, in hexadecimal.
    store_key: String,
    /// Opens the account's key backup and cross-signing, if we know it.
    pub(crate) recovery_key: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("device_id", &self.device_id).finish_non_exhaustive()
    }
}

/// A store that does not exist yet.
#[derive(Clone)]
pub(crate) struct NewStore {
    pub(crate) name: String,
    key: [u8; KEY],
}

impl NewStore {
    pub(crate) fn random() -> Result<Self, PlaneError> {
        let mut name = [0; 8];
        let mut key = [0; KEY];
        for bytes in [&mut name[..], &mut key[..]] {
            getrandom::fill(bytes).map_err(|error| {
                PlaneError::refused(ErrorCode::Internal, format!("no random numbers: {error}"))
            })?;
        }
        Ok(Self { name: hex::encode(name), key })
    }

    pub(crate) const fn key(&self) -> &[u8; KEY] {
        &self.key
    }
}

impl Credentials {
    pub(crate) fn new(
        store: &NewStore,
        access_token: String,
        device_id: String,
        recovery_key: Option<String>,
    ) -> Self {
        let (name, key) = (store.name.clone(), hex::encode(store.key));
        Self { access_token, device_id, store: name, store_key: key, recovery_key }
    }

    /// What the store is encrypted with.
    pub(crate) fn store_key(&self) -> Result<[u8; KEY], PlaneError> {
        let mut key = [0; KEY];
        hex::decode_to_slice(&self.store_key, &mut key).map_err(|error| {
            PlaneError::refused(ErrorCode::Internal, format!("a damaged store key: {error}"))
        })?;
        Ok(key)
    }

    /// Opens an account's credentials; none: there are none.
    pub(crate) async fn open(plane: &Plane, id: ConnectorId) -> Result<Option<Self>, PlaneError> {
        let opened = plane.call(OpenSecret { connector: id }).await?;
        // What can't be read is not shown: it may be half of a token.
        Ok(opened.and_then(|value| serde_json::from_str(value.expose()).ok()))
    }

    /// Seals them, in the place of what was there.
    pub(crate) async fn keep(
        &self,
        plane: &Plane,
        id: ConnectorId,
        homeserver: &str,
        by: &str,
    ) -> Result<(), PlaneError> {
        let value = serde_json::to_string(self).map_err(|error| {
            PlaneError::refused(ErrorCode::Internal, format!("credentials: {error}"))
        })?;
        let (address, value, by) = (homeserver.to_owned(), Key::new(value), by.to_owned());
        plane.call(KeepSecret { connector: id, address, value, by }).await
    }

    pub(crate) async fn forget(plane: &Plane, id: ConnectorId, by: &str) -> Result<(), PlaneError> {
        plane.call(ForgetSecret { connector: id, by: by.to_owned() }).await
    }
}

#[cfg(test)]
#[path = "credentials_tests.rs"]
mod tests;
