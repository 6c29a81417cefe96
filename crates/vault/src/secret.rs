//! Values and names of secrets.

use std::fmt;
use std::str::FromStr;

use cloister_protocol::ParseIdError;
use secrecy::{ExposeSecret, SecretSlice};
use serde::{Deserialize, Serialize};

/// A secret value. It does not print, is not serialised, and is wiped when dropped.
#[derive(Clone)]
pub struct SecretValue(SecretSlice<u8>);

impl SecretValue {
    /// Takes the bytes over; the caller's copy is gone.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }

    /// The bytes themselves, for the one place that uses them.
    pub fn expose(&self) -> &[u8] {
        self.0.expose_secret()
    }

    /// Whether some text contains this value, for whoever masks it.
    pub fn is_in(&self, haystack: &[u8]) -> bool {
        let value = self.expose();
        !value.is_empty() && haystack.windows(value.len()).any(|window| window == value)
    }
}

impl From<String> for SecretValue {
    fn from(text: String) -> Self {
        Self::new(text.into_bytes())
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretValue(…)")
    }
}

/// What a secret is called; it is shown, and is no secret itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SecretName(String);

impl SecretName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for SecretName {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let fits = (1..=64).contains(&text.len())
            && text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
        if fits {
            return Ok(Self(text.to_owned()));
        }
        Err(ParseIdError {
            kind: "secret name",
            value: text.chars().take(80).collect(),
            expected: "expected a letter, then up to 63 letters, digits, '-' or '_'",
        })
    }
}

impl TryFrom<String> for SecretName {
    type Error = ParseIdError;

    fn try_from(text: String) -> Result<Self, ParseIdError> {
        text.parse()
    }
}

impl From<SecretName> for String {
    fn from(name: SecretName) -> Self {
        name.0
    }
}
