//! Where a homeserver is and whom an operator means there: checked before anything is tried.

use cloister_kit::PlaneError;
use cloister_kit::adding::bad;
use cloister_protocol::ErrorCode;
use matrix_sdk::reqwest::Url;
use matrix_sdk::ruma::{OwnedServerName, OwnedUserId, UserId};

use super::fault::in_short;
use super::login::{Means, builder};

/// Where an operator says that the homeserver is.
pub(super) enum Address {
    Url(Url),
    ServerName(OwnedServerName),
}

pub(super) fn server_failed(what: &str, why: impl std::fmt::Display) -> PlaneError {
    PlaneError::with_fix(
        ErrorCode::Refused,
        format!("{what}: {why}"),
        "check the address and that the homeserver is up, then try again",
    )
}

impl Address {
    pub(super) fn parse(text: &str) -> Result<Self, PlaneError> {
        const FIX: &str =
            "give its address, such as https://matrix.example.org, or the server's name";
        let text = text.trim();
        if !text.contains("://") {
            let name = OwnedServerName::try_from(text).map_err(|error| {
                bad(format!("{text:?} is neither an address nor a server's name: {error}"), FIX)
            })?;
            return Ok(Self::ServerName(name));
        }
        let url = Url::parse(text)
            .map_err(|error| bad(format!("{text:?} is not an address: {error}"), FIX))?;
        let plain = url.username().is_empty() && url.password().is_none();
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() || !plain {
            return Err(bad(format!("{text:?} is not the address of a homeserver"), FIX));
        }
        Ok(Self::Url(url))
    }
}

pub(crate) fn account_id(account: &str) -> Result<OwnedUserId, PlaneError> {
    UserId::parse(account.trim()).map_err(|error| {
        bad(
            format!("{account:?} is not an account: {error}"),
            "give it in full, such as @cloister:example.org",
        )
    })
}

/// The address of what answers as a homeserver.
pub(super) async fn find_homeserver(
    address: &Address,
    means: Means<'_>,
) -> Result<String, PlaneError> {
    let (builder, named) = match address {
        Address::Url(url) => (builder(means).homeserver_url(url.as_str()), url.to_string()),
        Address::ServerName(name) => (builder(means).server_name(name), name.to_string()),
    };
    let found = builder
        .build()
        .await
        .map_err(|error| server_failed(&format!("no homeserver was found at {named}"), error))?;
    found.server_versions().await.map_err(|error| {
        server_failed(&format!("{named} does not answer as a homeserver"), in_short(&error))
    })?;
    Ok(found.homeserver().as_str().trim_end_matches('/').to_owned())
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
