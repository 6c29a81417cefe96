//! One entry of a chain, and the hash that ties it to the one before.
//!
//! The hash covers the chain, the number, the entry before, the time, the action, and salted hashes of the
//! names and of the detail. What people said can therefore be erased, salt and all, and the chain stays whole.

use std::borrow::Cow;

use cloister_vault::{Canonical, Digest32, Owner};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Entry;

/// The entries that say what was redacted. They are never redacted themselves.
pub const REDACT: &str = "audit.redact";
pub const ERASE: &str = "audit.erase";

/// Makes a hash of content say nothing once the content is gone. Written as hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Salt(pub [u8; 16]);

impl Serialize for Salt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(self.0))
    }
}

impl<'de> Deserialize<'de> for Salt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        let mut bytes = [0; 16];
        hex::decode_to_slice(text.as_bytes(), &mut bytes).map_err(serde::de::Error::custom)?;
        Ok(Self(bytes))
    }
}

/// The end of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tip {
    pub seq: u64,
    pub hash: Digest32,
}

impl Tip {
    pub const NONE: Self = Self { seq: 0, hash: Digest32::ZERO };
}

/// An entry as it is stored, in the database and in segments. The chain it is in is known from where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    pub seq: u64,
    pub at: i64,
    pub action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Names>,
    pub names_hash: Digest32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
    pub detail_hash: Digest32,
    pub prev: Digest32,
    pub hash: Digest32,
}

/// Who did it, and to what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Names {
    pub actor: String,
    pub subject: String,
    pub salt: Salt,
}

impl Names {
    fn hash(&self) -> Digest32 {
        let fields = Canonical::new("cloister audit names v1").bytes(&self.salt.0);
        fields.text(&self.actor).text(&self.subject).hash()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Detail {
    pub text: String,
    pub salt: Salt,
}

impl Detail {
    fn hash(&self) -> Digest32 {
        Canonical::new("cloister audit detail v1").bytes(&self.salt.0).text(&self.text).hash()
    }
}

/// How much of an entry is redacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    Detail,
    /// The detail, and the names.
    All,
}

impl Extent {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Detail => "detail",
            Self::All => "all",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Detail, Self::All].into_iter().find(|extent| extent.as_str() == text)
    }

    /// The action of the entry that says so.
    pub const fn action(self) -> &'static str {
        match self {
            Self::Detail => REDACT,
            Self::All => ERASE,
        }
    }
}

impl Record {
    /// The next entry of a chain. `salts` is random.
    pub fn next(chain: Owner, tip: &Tip, at: i64, entry: Entry, salts: [Salt; 2]) -> Self {
        let [names_salt, detail_salt] = salts;
        let names = Names { actor: entry.actor, subject: entry.subject, salt: names_salt };
        let detail = Detail { text: entry.detail, salt: detail_salt };
        let mut record = Self {
            seq: tip.seq + 1,
            at,
            action: entry.action.to_owned(),
            names_hash: names.hash(),
            names: Some(names),
            detail_hash: detail.hash(),
            detail: Some(detail),
            prev: tip.hash,
            hash: Digest32::ZERO,
        };
        record.hash = record.expected_hash(chain);
        record
    }

    /// The hash that an entry of this content has.
    pub fn expected_hash(&self, chain: Owner) -> Digest32 {
        Canonical::new("cloister audit entry v1")
            .text(&chain.to_string())
            .number(self.seq)
            .digest(&self.prev)
            .time(self.at)
            .text(&self.action)
            .digest(&self.names_hash)
            .digest(&self.detail_hash)
            .hash()
    }

    /// Whether all of it, and what content there is, is what was recorded.
    pub fn is_genuine(&self, chain: Owner) -> bool {
        self.expected_hash(chain) == self.hash
            && self.names.as_ref().is_none_or(|names| names.hash() == self.names_hash)
            && self.detail.as_ref().is_none_or(|detail| detail.hash() == self.detail_hash)
    }

    pub fn tip(&self) -> Tip {
        Tip { seq: self.seq, hash: self.hash }
    }

    pub fn is_redaction(&self) -> bool {
        [REDACT, ERASE].contains(&self.action.as_str())
    }

    /// What is missing of it, if anything.
    pub fn missing(&self) -> Option<Extent> {
        match (&self.names, &self.detail) {
            (Some(_), Some(_)) => None,
            (Some(_), None) => Some(Extent::Detail),
            (None, _) => Some(Extent::All),
        }
    }

    /// Takes content out; the hashes stay.
    pub fn redact(&mut self, extent: Extent) {
        self.detail = None;
        if extent == Extent::All {
            self.names = None;
        }
    }
}
