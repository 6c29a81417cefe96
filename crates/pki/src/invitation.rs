//! The one word that a person carries from one machine to the other.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cloister_protocol::admin::Key;
use serde::{Deserialize, Serialize};

use crate::root::Fingerprint;

const PREFIX: &str = "cloister-enroll-";

/// Where to enrol, whom to find there, and what to say.
#[derive(Clone, Debug)]
pub struct Invitation {
    /// `HOST:PORT` of the admin listener.
    pub address: String,
    pub fingerprint: Fingerprint,
    pub number: u32,
    pub secret: Key,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not an invitation: {0}")]
pub struct ParseInvitationError(&'static str);

#[derive(Serialize, Deserialize)]
struct Word {
    a: String,
    f: String,
    n: u32,
    s: Key,
}

impl fmt::Display for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Word {
            a: self.address.clone(),
            f: self.fingerprint.to_string(),
            n: self.number,
            s: self.secret.clone(),
        };
        let json =
            serde_json::to_vec(&word).map_err(|_unwritable: serde_json::Error| fmt::Error)?;
        write!(f, "{PREFIX}{}", URL_SAFE_NO_PAD.encode(json))
    }
}

impl FromStr for Invitation {
    type Err = ParseInvitationError;

    fn from_str(text: &str) -> Result<Self, ParseInvitationError> {
        let parts = text.trim().strip_prefix(PREFIX);
        let parts = parts.ok_or(ParseInvitationError("it does not begin as one"))?;
        let damaged = ParseInvitationError("it is not complete");
        let json = URL_SAFE_NO_PAD.decode(parts).ok().ok_or(damaged.clone())?;
        let word: Word = serde_json::from_slice(&json).ok().ok_or(damaged.clone())?;
        let fingerprint = word.f.parse().ok().ok_or(damaged)?;
        Ok(Self { address: word.a, fingerprint, number: word.n, secret: word.s })
    }
}
