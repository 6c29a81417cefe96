//! Adding a bot that has a token, and forgetting it: what surfaces do alike that have such bots.

use std::fmt::Display;
use std::net::IpAddr;

use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{AddConnector, Credential, Key};
use cloister_protocol::surface::{
    Added, Connector, ConnectorId, ForgetSecret, KeepSecret, PutConnector, RemoveConnector,
    SetPosition,
};

use crate::error::PlaneError;
use crate::host::Host;

/// What an operator gave is not what it should be.
pub fn bad(message: impl Into<String>, fix: &str) -> PlaneError {
    PlaneError::with_fix(ErrorCode::BadRequest, message, fix)
}

/// The token that was given. `fix`: where there is one.
pub fn token<'a>(new: &'a AddConnector, of: &str, fix: &str) -> Result<&'a str, PlaneError> {
    match &new.credential {
        Credential::Token(token) => Ok(token.expose().trim()),
        Credential::Password(_) => {
            Err(bad(format!("a {of} bot has a token, and no password"), fix))
        }
    }
}

/// The platform was not reached, or answered what nobody can work with.
pub fn not_answered(address: &str, fault: impl Display) -> PlaneError {
    PlaneError::with_fix(
        ErrorCode::Refused,
        format!("the bot could not be asked who it is at {address}: {fault}"),
        "check the address and whether this machine reaches it, then try again",
    )
}

/// Whether what is sent there can be read on the way.
pub fn goes_in_the_clear(address: &str) -> bool {
    let Some(rest) = address.strip_prefix("http://") else { return false };
    let place = rest.split('/').next().unwrap_or_default();
    let host = match place.strip_prefix('[') {
        Some(bracketed) => bracketed.split(']').next(),
        None => place.split(':').next(),
    };
    let host = host.unwrap_or_default();
    let here = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    !here
}

/// A bot that the platform knows by its token.
pub struct NewBot<'a> {
    pub row: PutConnector,
    pub token: &'a str,
    /// The same bot, as it is known already.
    pub there: Option<Connector>,
    /// Where it begins to read, if nothing was read yet; none: the platform says it.
    pub begins_at: Option<String>,
}

/// Writes a bot down and connects it. Nothing is kept of one that can't be; one that was there lives on as it was.
pub async fn connect<H: Host>(host: &H, new: NewBot<'_>) -> Result<Added, PlaneError> {
    let plane = &host.hosted().plane;
    if let Some(connector) = &new.there {
        host.hosted().disconnect(connector.id).await;
    }
    let by = new.row.by.clone();
    let connector = plane.call(new.row.clone()).await?;
    if let Err(error) = keep(host, &connector, &new).await {
        match new.there {
            Some(connector) => host.connect(connector),
            None => plane.call(RemoveConnector { connector: connector.id, by }).await?,
        }
        return Err(error);
    }
    host.connect(connector.clone());
    Ok(Added { connector, recovery_key: None })
}

async fn keep<H: Host>(
    host: &H,
    connector: &Connector,
    new: &NewBot<'_>,
) -> Result<(), PlaneError> {
    let (plane, row) = (&host.hosted().plane, &new.row);
    let secret = KeepSecret {
        connector: connector.id,
        address: row.address.clone(),
        value: Key::new(new.token),
        by: row.by.clone(),
    };
    plane.call(secret).await?;
    if let (None, Some(position)) = (&connector.position, &new.begins_at) {
        let position = position.clone();
        plane.call(SetPosition { connector: connector.id, position }).await?;
    }
    Ok(())
}

/// Nothing is known of a bot any more. It was disconnected before.
pub async fn forget<H: Host>(host: &H, bot: ConnectorId, by: String) -> Result<(), PlaneError> {
    let plane = &host.hosted().plane;
    plane.call(ForgetSecret { connector: bot, by: by.clone() }).await?;
    plane.call(RemoveConnector { connector: bot, by }).await
}

#[cfg(test)]
#[path = "adding_tests.rs"]
mod tests;
