//! The one name in a client's certificate.

use std::fmt;
use std::str::FromStr;

use cloister_protocol::{ClientId, UserId};

const USER: &str = "cloister://user/";
const CLIENT: &str = "/client/";

/// Whose machine a certificate is for: `cloister://user/u1/client/K1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientName {
    pub user: UserId,
    pub client: ClientId,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the name of a client")]
pub struct ParseNameError(String);

impl fmt::Display for ClientName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{USER}{}{CLIENT}{}", self.user, self.client)
    }
}

impl FromStr for ClientName {
    type Err = ParseNameError;

    /// Only what `Display` writes is a name: no other case, no escapes, nothing before or after.
    fn from_str(text: &str) -> Result<Self, ParseNameError> {
        let parse = || {
            let (user, client) = text.strip_prefix(USER)?.split_once(CLIENT)?;
            Some(Self { user: user.parse().ok()?, client: client.parse().ok()? })
        };
        parse().ok_or_else(|| ParseNameError(text.chars().take(120).collect()))
    }
}

#[cfg(test)]
#[path = "name_tests.rs"]
mod tests;
