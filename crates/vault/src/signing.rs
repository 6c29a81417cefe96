//! The key that signs the audit's checkpoints, and the log of the keys there have been.
//!
//! A key that takes over is signed by the one before it, and signs itself: whoever trusts one key of the log
//! can follow it to the next.

use std::fmt;
use std::path::{Path, PathBuf};

use ed25519_dalek::{Signer as _, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::canonical::{Canonical, Digest32};
use crate::error::VaultError;
use crate::files;

const FILE: &str = "the signing key file";
const LOG: &str = "the log of signing keys";

/// A name for a signing key: the hash of its public half.
pub type KeyId = Digest32;

/// Makes bytes that are written as hexadecimal text.
macro_rules! hex_bytes {
    ($(#[$doc:meta])* $name:ident, $length:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(pub [u8; $length]);

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&hex::encode(self.0))
            }
        }

        impl TryFrom<String> for $name {
            type Error = hex::FromHexError;

            fn try_from(text: String) -> Result<Self, hex::FromHexError> {
                let mut bytes = [0; $length];
                hex::decode_to_slice(text, &mut bytes)?;
                Ok(Self(bytes))
            }
        }

        impl From<$name> for String {
            fn from(bytes: $name) -> Self {
                hex::encode(bytes.0)
            }
        }
    };
}

hex_bytes!(
    /// The public half of a signing key (ed25519).
    PublicKey, 32
);
hex_bytes!(
    /// A signature (ed25519).
    Signature, 64
);

impl PublicKey {
    pub fn id(&self) -> KeyId {
        Canonical::new("cloister audit key id v1").bytes(&self.0).hash()
    }

    pub fn verifies(&self, signed: &Canonical, signature: &Signature) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(&signature.0);
        VerifyingKey::from_bytes(&self.0)
            .is_ok_and(|key| key.verify_strict(signed.as_bytes(), &signature).is_ok())
    }
}

/// One key of the log, and who vouches for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRecord {
    pub number: u64,
    pub key: PublicKey,
    pub at: i64,
    /// The hash of the record before.
    pub previous: Digest32,
    pub by_itself: Signature,
    /// By the key before; none for the first.
    pub by_previous: Option<Signature>,
}

impl KeyRecord {
    fn canonical(number: u64, key: &PublicKey, at: i64, previous: &Digest32) -> Canonical {
        Canonical::new("cloister audit key v1")
            .number(number)
            .bytes(&key.0)
            .time(at)
            .digest(previous)
    }

    fn signed(&self) -> Canonical {
        Self::canonical(self.number, &self.key, self.at, &self.previous)
    }

    fn hash(&self) -> Digest32 {
        self.signed().hash()
    }
}

/// The keys there have been, oldest first, each vouched for by the one before.
#[derive(Clone, Debug, Default)]
pub struct KeyLog(Vec<KeyRecord>);

impl KeyLog {
    /// Reads and checks the log; empty when there is none yet.
    pub fn read(dir: &Path) -> Result<Self, VaultError> {
        let path = log_path(dir);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(source) => return Err(VaultError::File { what: LOG, tried: "read", path, source }),
        };
        Self::parse(&text)
    }

    /// A last line without its end was never written whole, and is left out.
    pub fn parse(text: &str) -> Result<Self, VaultError> {
        let whole = text.rfind('\n').and_then(|end| text.get(..end)).unwrap_or_default();
        let mut log = Self::default();
        for line in whole.lines() {
            let number = log.0.len() as u64 + 1;
            let record: KeyRecord = serde_json::from_str(line).map_err(|_unreadable| {
                VaultError::BadKeyRecord { number, problem: "it can't be read" }
            })?;
            log.check(&record)?;
            log.0.push(record);
        }
        Ok(log)
    }

    fn check(&self, record: &KeyRecord) -> Result<(), VaultError> {
        let number = self.0.len() as u64 + 1;
        let bad = |problem| Err(VaultError::BadKeyRecord { number, problem });
        let before = self.0.last();
        if record.number != number {
            return bad("a record before it is missing");
        }
        if record.previous != before.map_or(Digest32::ZERO, KeyRecord::hash) {
            return bad("it does not follow the record before it");
        }
        let signed = record.signed();
        if !record.key.verifies(&signed, &record.by_itself) {
            return bad("its own signature is wrong");
        }
        let vouched = match (before, &record.by_previous) {
            (None, None) => true,
            (Some(before), Some(signature)) => before.key.verifies(&signed, signature),
            (None, Some(_)) | (Some(_), None) => false,
        };
        if vouched { Ok(()) } else { bad("the key before it does not vouch for it") }
    }

    pub fn records(&self) -> &[KeyRecord] {
        &self.0
    }

    pub fn find(&self, id: &KeyId) -> Option<&KeyRecord> {
        self.0.iter().find(|record| record.key.id() == *id)
    }

    fn append(&mut self, dir: &Path, record: KeyRecord) -> Result<(), VaultError> {
        self.check(&record)?;
        self.0.push(record);
        let mut text = Vec::new();
        for record in &self.0 {
            let line = serde_json::to_string(record).unwrap_or_default();
            text.extend_from_slice(line.as_bytes());
            text.push(b'\n');
        }
        files::replace_file(&log_path(dir), &text).map_err(|source| VaultError::File {
            what: LOG,
            tried: "written",
            path: log_path(dir),
            source,
        })
    }
}

/// Signs checkpoints with the newest key of the log.
pub struct Signer {
    dir: PathBuf,
    key: SigningKey,
    log: KeyLog,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({:?})", self.public())
    }
}

impl Signer {
    /// Opens the key kept in a folder; makes it at first use. A log without its key is refused: a new key
    /// that nobody vouches for would look like a thief's.
    pub fn open(dir: &Path, at: i64) -> Result<Self, VaultError> {
        let log = KeyLog::read(dir)?;
        let Some(newest) = log.0.last().map(|record| record.key) else {
            return Self::create(dir, at);
        };
        for path in [key_path(dir), next_path(dir)] {
            let Some(key) = read_key(&path)? else { continue };
            if public(&key) == newest {
                if path == next_path(dir) {
                    take_over(dir)?;
                }
                return Ok(Self { dir: dir.to_owned(), key, log });
            }
        }
        let problem = "it is not the newest key of the log: put the right key file back";
        Err(VaultError::BadSigner { path: key_path(dir), problem })
    }

    fn create(dir: &Path, at: i64) -> Result<Self, VaultError> {
        let path = key_path(dir);
        let key = match read_key(&path)? {
            Some(key) => key,
            None => new_key(&path)?,
        };
        let mut log = KeyLog::default();
        let record = record(&log, &key, None, at);
        log.append(dir, record)?;
        Ok(Self { dir: dir.to_owned(), key, log })
    }

    pub fn public(&self) -> PublicKey {
        public(&self.key)
    }

    pub fn log(&self) -> &KeyLog {
        &self.log
    }

    pub fn sign(&self, statement: &Canonical) -> Signature {
        sign(&self.key, statement)
    }

    /// Takes a new key, which the present one vouches for. A rotation that was cut short is finished, or
    /// forgotten, when the key is opened again.
    pub fn rotate(&mut self, at: i64) -> Result<PublicKey, VaultError> {
        let next = next_path(&self.dir);
        match std::fs::remove_file(&next) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => {
                return Err(VaultError::File { what: FILE, tried: "removed", path: next, source });
            }
        }
        let key = new_key(&next)?;
        let record = record(&self.log, &key, Some(&self.key), at);
        self.log.append(&self.dir, record)?;
        take_over(&self.dir)?;
        self.key = key;
        Ok(self.public())
    }
}

fn record(log: &KeyLog, key: &SigningKey, before: Option<&SigningKey>, at: i64) -> KeyRecord {
    let number = log.0.len() as u64 + 1;
    let previous = log.0.last().map_or(Digest32::ZERO, KeyRecord::hash);
    let signed = KeyRecord::canonical(number, &public(key), at, &previous);
    KeyRecord {
        number,
        key: public(key),
        at,
        previous,
        by_itself: sign(key, &signed),
        by_previous: before.map(|before| sign(before, &signed)),
    }
}

fn public(key: &SigningKey) -> PublicKey {
    PublicKey(key.verifying_key().to_bytes())
}

fn sign(key: &SigningKey, statement: &Canonical) -> Signature {
    Signature(key.sign(statement.as_bytes()).to_bytes())
}

fn key_path(dir: &Path) -> PathBuf {
    dir.join("signing.key")
}

fn next_path(dir: &Path) -> PathBuf {
    dir.join("signing.key.next")
}

fn log_path(dir: &Path) -> PathBuf {
    dir.join("keys.jsonl")
}

fn take_over(dir: &Path) -> Result<(), VaultError> {
    let moved = std::fs::rename(next_path(dir), key_path(dir)).and_then(|()| files::sync_dir(dir));
    moved.map_err(|source| VaultError::File {
        what: FILE,
        tried: "replaced",
        path: key_path(dir),
        source,
    })
}

fn new_key(path: &Path) -> Result<SigningKey, VaultError> {
    let mut seed = Zeroizing::new([0; 32]);
    getrandom::fill(seed.as_mut_slice()).map_err(VaultError::Random)?;
    let text = Zeroizing::new(hex::encode(*seed));
    files::create_private(path, text.as_bytes()).map_err(|source| VaultError::File {
        what: FILE,
        tried: "created",
        path: path.to_owned(),
        source,
    })?;
    Ok(SigningKey::from_bytes(&seed))
}

fn read_key(path: &Path) -> Result<Option<SigningKey>, VaultError> {
    if !path.exists() {
        return Ok(None);
    }
    files::require_private(path, FILE)?;
    let text = std::fs::read_to_string(path).map(Zeroizing::new).map_err(|source| {
        VaultError::File { what: FILE, tried: "read", path: path.to_owned(), source }
    })?;
    let mut seed = Zeroizing::new([0; 32]);
    match hex::decode_to_slice(text.trim(), seed.as_mut_slice()) {
        Ok(()) => Ok(Some(SigningKey::from_bytes(&seed))),
        Err(_wrong) => {
            let problem = "it is not 64 hexadecimal digits";
            Err(VaultError::BadSigner { path: path.to_owned(), problem })
        }
    }
}

#[cfg(test)]
#[path = "signing_tests.rs"]
mod tests;
