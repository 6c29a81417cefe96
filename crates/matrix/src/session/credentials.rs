//! What an account logs in with and what opens its store: one sealed secret of the platform per account. No
//! task can use a secret of the platform; lists show its name.

use std::fmt;

use cloister_control::{Control, ControlError};
use cloister_protocol::ErrorCode;
use cloister_store::connectors::ConnectorId;
use cloister_store::secrets::{NewSecret, SecretError};
use cloister_vault::{Binding, Form, Owner, SecretName, SecretValue};
use matrix_sdk::reqwest::Url;
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
        let name = secret_name(id)?;
        let opened = control.store().open_secret(control.keys(), Owner::Platform, &name).await;
        let opened = match opened {
            Ok(opened) => opened,
            Err(SecretError::NoSecret { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let read = serde_json::from_slice(opened.value.expose());
        // What can't be read is not shown: it may be half of a token.
        Ok(read.ok())
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
        let new = NewSecret {
            owner: Owner::Platform,
            name: secret_name(id)?,
            binding: binding(homeserver)?,
            value: SecretValue::new(value),
            by: by.to_owned(),
        };
        control.set_secret(new).await?;
        Ok(())
    }

    pub(crate) async fn forget(
        control: &Control,
        id: ConnectorId,
        by: &str,
    ) -> Result<(), ControlError> {
        let name = secret_name(id)?;
        match control.store().remove_secret(Owner::Platform, &name, by).await {
            Ok(()) | Err(SecretError::NoSecret { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn secret_name(id: ConnectorId) -> Result<SecretName, ControlError> {
    Ok(format!("{}-{id}", crate::SURFACE).parse()?)
}

/// It belongs to the homeserver, as the header that the account is known by.
fn binding(homeserver: &str) -> Result<Binding, ControlError> {
    let form = Form::Header { name: "authorization".to_owned(), template: "Bearer {}".to_owned() };
    let host = Url::parse(homeserver).ok().and_then(|url| {
        let port = url.port_or_known_default()?;
        format!("{}:{port}", url.host_str()?).parse().ok()
    });
    // An address without a name, such as [::1], is not one that a secret can be bound to; this binds to none.
    let host = match host {
        Some(host) => host,
        None => "homeserver.invalid".parse().map_err(SecretError::from)?,
    };
    Ok(Binding::new(vec![host], form).map_err(SecretError::from)?)
}

#[cfg(test)]
#[path = "credentials_tests.rs"]
mod tests;
