//! What an account logs in with and what opens its store, as they are in its sealed secret.

use std::fmt;

use cloister_control::{Control, ControlError, credentials};
use cloister_protocol::ErrorCode;
use cloister_store::connectors::ConnectorId;
use cloister_vault::SecretValue;
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
    pub(crate) fn random() -> Result<Self, ControlError> {
        let mut name = [0; 8];
        let mut key = [0; KEY];
        for bytes in [&mut name[..], &mut key[..]] {
            getrandom::fill(bytes).map_err(|error| {
                ControlError::refused(ErrorCode::Internal, format!("no random numbers: {error}"))
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
    pub(crate) fn store_key(&self) -> Result<[u8; KEY], ControlError> {
        let mut key = [0; KEY];
        hex::decode_to_slice(&self.store_key, &mut key).map_err(|error| {
            ControlError::refused(ErrorCode::Internal, format!("a damaged store key: {error}"))
        })?;
        Ok(key)
    }

    /// Opens an account's credentials; none: there are none.
    pub(crate) async fn open(
        control: &Control,
        id: ConnectorId,
    ) -> Result<Option<Self>, ControlError> {
        let opened = credentials::open(control, crate::SURFACE, id).await?;
        // What can't be read is not shown: it may be half of a token.
        Ok(opened.and_then(|value| serde_json::from_slice(value.expose()).ok()))
    }

    /// Seals them, in the place of what was there.
    pub(crate) async fn keep(
        &self,
        control: &Control,
        id: ConnectorId,
        homeserver: &str,
        by: &str,
    ) -> Result<(), ControlError> {
        let value = serde_json::to_vec(self).map_err(|error| {
            ControlError::refused(ErrorCode::Internal, format!("credentials: {error}"))
        })?;
        let value = SecretValue::new(value);
        credentials::keep(control, crate::SURFACE, id, homeserver, value, by).await
    }

    pub(crate) async fn forget(
        control: &Control,
        id: ConnectorId,
        by: &str,
    ) -> Result<(), ControlError> {
        credentials::forget(control, crate::SURFACE, id, by).await
    }
}

#[cfg(test)]
#[path = "credentials_tests.rs"]
mod tests;
