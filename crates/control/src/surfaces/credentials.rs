//! What a connector logs in with: one sealed secret of the platform per connector. No task can use a secret of
//! the platform; lists show its name, and nothing shows its value.

use cloister_protocol::admin::Key;
use cloister_store::Actor;
use cloister_store::connectors::ConnectorId;
use cloister_store::secrets::{NewSecret, SecretError};
use cloister_vault::{Binding, Form, Owner, SecretName, SecretValue};

use crate::control::Control;
use crate::error::Fault;
use crate::surfaces::SurfaceError;

/// What a secret is bound to whose server has an address that a secret can't be bound to.
const NOWHERE: &str = "nowhere.invalid";

/// Seals a connector's secret, in the place of what was there. It belongs to the server at `address`.
pub(crate) async fn keep(
    control: &Control,
    actor: &Actor,
    surface: &str,
    connector: ConnectorId,
    address: &str,
    value: SecretValue,
) -> Result<(), SurfaceError> {
    let new = NewSecret {
        owner: Owner::Platform,
        name: name(surface, connector)?,
        binding: binding(address)?,
        value,
    };
    control.secrets().set_secret(actor, new).await?;
    Ok(())
}

/// Opens a connector's secret; none: there is none.
pub(crate) async fn open(
    control: &Control,
    surface: &str,
    connector: ConnectorId,
) -> Result<Option<SecretValue>, Fault> {
    let name = name(surface, connector)?;
    match control.store().secrets().open_secret(control.keys(), Owner::Platform, &name).await {
        Ok(opened) => Ok(Some(opened.value)),
        Err(SecretError::NoSecret { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A secret as a connector is handed it; none: it is no text.
pub(crate) fn as_key(value: &SecretValue) -> Option<Key> {
    std::str::from_utf8(value.expose()).ok().map(Key::new)
}

/// Forgets a connector's secret; that there is none is no error.
pub(crate) async fn forget(
    control: &Control,
    actor: &Actor,
    surface: &str,
    connector: ConnectorId,
) -> Result<(), Fault> {
    let name = name(surface, connector)?;
    match control.store().secrets().remove_secret(actor, Owner::Platform, &name).await {
        Ok(()) | Err(SecretError::NoSecret { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn name(surface: &str, connector: ConnectorId) -> Result<SecretName, Fault> {
    Ok(format!("{surface}-{connector}").parse()?)
}

/// It belongs to the server, as the header that the account is known by.
pub(crate) fn binding(address: &str) -> Result<Binding, Fault> {
    let form = Form::Header { name: "authorization".to_owned(), template: "Bearer {}".to_owned() };
    let host = host_of(address).and_then(|host| host.parse().ok());
    // An address without a name, such as [::1], is not one that a secret can be bound to; this binds to none.
    let host = match host {
        Some(host) => host,
        None => NOWHERE.parse().map_err(SecretError::from)?,
    };
    Ok(Binding::new(vec![host], form).map_err(SecretError::from)?)
}

/// Host and port of an address.
fn host_of(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once("://")?;
    let usual = match scheme.to_ascii_lowercase().as_str() {
        "https" | "wss" => 443,
        "http" | "ws" => 80,
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?;
    if host.contains(':') { Some(host.to_owned()) } else { Some(format!("{host}:{usual}")) }
}

#[cfg(test)]
#[path = "credentials_tests.rs"]
mod tests;
