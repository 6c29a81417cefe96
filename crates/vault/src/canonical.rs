//! The one encoding that is hashed, signed and authenticated: fields with their lengths, behind the name of
//! what they are. No two different lists of fields encode alike.

use std::fmt;
use std::str::FromStr;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

/// A list of fields in its canonical encoding.
#[derive(Clone, Debug)]
pub struct Canonical(Vec<u8>);

impl Canonical {
    /// Begins the encoding of one kind of thing; `domain` is unique to it.
    pub fn new(domain: &str) -> Self {
        Self(Vec::with_capacity(256)).bytes(domain.as_bytes())
    }

    pub fn bytes(mut self, field: &[u8]) -> Self {
        self.0.extend_from_slice(&(field.len() as u64).to_be_bytes());
        self.0.extend_from_slice(field);
        self
    }

    pub fn text(self, field: &str) -> Self {
        self.bytes(field.as_bytes())
    }

    pub fn number(self, field: u64) -> Self {
        self.bytes(&field.to_be_bytes())
    }

    /// A time in milliseconds since 1970.
    pub fn time(self, field: i64) -> Self {
        self.bytes(&field.to_be_bytes())
    }

    pub fn digest(self, field: &Digest32) -> Self {
        self.bytes(&field.0)
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn hash(&self) -> Digest32 {
        Digest32(Sha256::digest(&self.0).into())
    }
}

/// A SHA-256 digest; prints, parses and serialises as hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest32(pub [u8; 32]);

impl Digest32 {
    /// What the first of a row of things points to.
    pub const ZERO: Self = Self([0; 32]);

    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Display for Digest32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Digest32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest32 {
    type Err = hex::FromHexError;

    fn from_str(text: &str) -> Result<Self, hex::FromHexError> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes)?;
        Ok(Self(bytes))
    }
}

impl Serialize for Digest32 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = [0; 64];
        hex::encode_to_slice(self.0, &mut text).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(std::str::from_utf8(&text).map_err(serde::ser::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for Digest32 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Hexadecimal;

        impl Visitor<'_> for Hexadecimal {
            type Value = Digest32;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("64 hexadecimal digits")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Digest32, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Hexadecimal)
    }
}

#[cfg(test)]
#[path = "canonical_tests.rs"]
mod tests;
