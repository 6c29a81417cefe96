//! The master key: where it comes from, and how it is told apart from another.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::str::FromStr;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::canonical::Canonical;
use crate::envelope::{RawKey, SealedDataKey};
use crate::error::VaultError;
use crate::files;
use crate::owner::Owner;

/// How long a command may take to print the key.
const COMMAND_PATIENCE: Duration = Duration::from_secs(30);
/// More than this is no key.
const MOST_PRINTED: u64 = 4096;
const FILE: &str = "the master key file";

/// Where the master key is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum MasterSource {
    /// A file that only its owner may read.
    File(PathBuf),
    /// A program and its arguments that print the key: a key management service, or the system's keyring
    /// (`keyctl pipe …`, `secret-tool lookup …`).
    Command(Vec<String>),
}

/// A name for a master key that says nothing about it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MasterId(String);

impl MasterId {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// An id as it was stored.
    pub fn stored(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for MasterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for MasterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The key that data keys are sealed under. It does not print.
#[derive(Clone)]
pub struct MasterKey {
    id: MasterId,
    key: RawKey,
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MasterKey({})", self.id)
    }
}

impl MasterKey {
    pub fn random() -> Result<Self, VaultError> {
        RawKey::random().map(Self::of)
    }

    fn of(key: RawKey) -> Self {
        let hash = Canonical::new("cloister master key id v1").bytes(key.expose()).hash();
        let mut id = hash.to_string();
        id.truncate(16);
        Self { id: MasterId(id), key }
    }

    pub fn id(&self) -> &MasterId {
        &self.id
    }

    /// Makes a key and keeps it in a new file that only its owner may read.
    pub fn create(path: &Path) -> Result<Self, VaultError> {
        let key = Self::random()?;
        key.write(path)?;
        Ok(key)
    }

    /// Keeps this key in a new file. A key that is there is never replaced.
    pub fn write(&self, path: &Path) -> Result<(), VaultError> {
        let mut text = Zeroizing::new(hex::encode(self.key.expose()));
        text.push('\n');
        files::create_private(path, text.as_bytes()).map_err(|source| VaultError::File {
            what: FILE,
            tried: "created",
            path: path.to_owned(),
            source,
        })
    }

    pub fn load(source: &MasterSource) -> Result<Self, VaultError> {
        match source {
            MasterSource::File(path) => Self::from_file(path),
            MasterSource::Command(command) => Self::from_command(command),
        }
    }

    fn from_file(path: &Path) -> Result<Self, VaultError> {
        if !path.exists() {
            return Err(VaultError::NoMaster { path: path.to_owned() });
        }
        files::require_private(path, FILE)?;
        let text = std::fs::read_to_string(path).map(Zeroizing::new).map_err(|source| {
            VaultError::File { what: FILE, tried: "read", path: path.to_owned(), source }
        })?;
        Self::parse(&text, &path.display().to_string())
    }

    fn parse(text: &str, from: &str) -> Result<Self, VaultError> {
        let bytes = hex::decode(text.trim()).map(Zeroizing::new);
        let key = bytes.ok().and_then(|bytes| RawKey::from_slice(&bytes));
        key.map(Self::of).ok_or_else(|| VaultError::NotAMaster { from: from.to_owned() })
    }

    fn from_command(command: &[String]) -> Result<Self, VaultError> {
        let Some((program, arguments)) = command.split_first() else {
            return Err(VaultError::NotAMaster { from: "an empty command".to_owned() });
        };
        #[expect(
            clippy::disallowed_methods,
            reason = "the operator's own command, outside any cell"
        )]
        let started = std::process::Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut child =
            started.map_err(|source| VaultError::Command { program: program.clone(), source })?;
        let printed = printed_key(&mut child, program);
        if printed.is_err() {
            // It may have ended by itself meanwhile; either way it is gone afterwards.
            drop(child.kill());
        }
        let status = child
            .wait()
            .map_err(|source| VaultError::Command { program: program.clone(), source })?;
        let text = printed?;
        if !status.success() {
            let problem = format!("failed ({status})");
            return Err(VaultError::CommandFailed { program: program.clone(), problem });
        }
        let text = std::str::from_utf8(&text).map_err(|_bytes| VaultError::NotAMaster {
            from: format!("what {program:?} printed"),
        })?;
        Self::parse(text, &format!("what {program:?} printed"))
    }

    /// Makes a data key for an owner.
    pub(crate) fn new_data_key(&self, owner: Owner) -> Result<(RawKey, SealedDataKey), VaultError> {
        let key = RawKey::random()?;
        let sealed = self.seal_data_key(owner, &key)?;
        Ok((key, sealed))
    }

    pub(crate) fn seal_data_key(
        &self,
        owner: Owner,
        key: &RawKey,
    ) -> Result<SealedDataKey, VaultError> {
        let bytes = self.key.seal(&self.bound_to(owner), key.expose(), &what(owner))?;
        Ok(SealedDataKey { master: self.id.clone(), bytes })
    }

    pub(crate) fn open_data_key(&self, owner: Owner, sealed: &[u8]) -> Result<RawKey, VaultError> {
        let plain = self.key.open(&self.bound_to(owner), sealed, &what(owner))?;
        RawKey::from_slice(&plain).ok_or_else(|| VaultError::DoesNotOpen { what: what(owner) })
    }

    fn bound_to(&self, owner: Owner) -> Canonical {
        Canonical::new("cloister data key v1").text(self.id.as_str()).text(&owner.to_string())
    }
}

fn what(owner: Owner) -> String {
    format!("the data key of {owner}")
}

/// Reads what a command prints: no more than a key needs, no longer than it is given.
fn printed_key(child: &mut Child, program: &str) -> Result<Zeroizing<Vec<u8>>, VaultError> {
    let failed = |problem: &str| VaultError::CommandFailed {
        program: program.to_owned(),
        problem: problem.to_owned(),
    };
    let Some(stdout) = child.stdout.take() else {
        return Err(failed("has no output"));
    };
    let (done, printed) = sync_channel(1);
    std::thread::spawn(move || {
        let mut bytes = Zeroizing::new(Vec::with_capacity(MOST_PRINTED as usize));
        let read = stdout.take(MOST_PRINTED).read_to_end(&mut bytes);
        // Whoever waited may have given up.
        drop(done.send(read.map(|_length| bytes)));
    });
    match printed.recv_timeout(COMMAND_PATIENCE) {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(source)) => Err(VaultError::Command { program: program.to_owned(), source }),
        Err(_late) => Err(failed("printed no key within 30 seconds")),
    }
}

impl FromStr for MasterKey {
    type Err = VaultError;

    fn from_str(text: &str) -> Result<Self, VaultError> {
        Self::parse(text, "the text given")
    }
}

#[cfg(test)]
#[path = "master_tests.rs"]
mod tests;
