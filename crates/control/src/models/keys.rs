//! The keys of models and searches: secrets of the platform, sealed like all others. A key that somebody put into
//! the directory of keys as a plain file is sealed at the next start, and the file removed.

use std::io::{self, Write as _};
use std::path::Path;

use cloister_protocol::admin::Key;
use cloister_store::Actor;
use cloister_store::models::{KeyRef, key_secret};
use cloister_store::secrets::{NewSecret, SecretError};
use cloister_vault::{Owner, SecretValue, sync_dir};

use crate::error::Fault;
use crate::models::{ModelError, ModelRefusal, Models};
use crate::surfaces::credentials::binding;

/// The largest file that is a key.
const MOST_KEY_BYTES: u64 = 64 << 10;
/// What a key is bound to that no model uses.
const NOWHERE: &str = "";

impl Models {
    /// Seals the key of a model, in the place of what was there. It belongs to the server at `base_url`.
    pub(crate) async fn keep_key(
        &self,
        actor: &Actor,
        name: &str,
        key: &Key,
        base_url: &str,
    ) -> Result<(), Fault> {
        self.seal_key(actor, name, key.expose().trim(), base_url).await
    }

    async fn seal_key(
        &self,
        actor: &Actor,
        name: &str,
        key: &str,
        address: &str,
    ) -> Result<(), Fault> {
        let new = NewSecret {
            owner: Owner::Platform,
            name: key_secret(name)?,
            binding: binding(address)?,
            value: SecretValue::from(key.to_owned()),
        };
        self.control.store().secrets().set_secret(actor, self.control.keys(), new).await?;
        Ok(())
    }

    /// Forgets the key of a model; that there is none is no error.
    pub(crate) async fn forget_key(&self, actor: &Actor, name: &str) -> Result<(), Fault> {
        match self
            .control
            .store()
            .secrets()
            .remove_secret(actor, Owner::Platform, &key_secret(name)?)
            .await
        {
            Ok(()) | Err(SecretError::NoSecret { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Seals every key that is a plain file: it is sealed, opened again and compared, and only then is the file
    /// overwritten and removed. Returns their names.
    pub async fn seal_plain_keys(&self) -> Result<Vec<String>, ModelError> {
        let dir = self.control.layout().keys();
        let failed = || Fault::io("the directory of keys could not be read");
        let mut sealed = Vec::new();
        for entry in std::fs::read_dir(&dir).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if !entry.file_type().map_err(failed())?.is_file() {
                continue;
            }
            // What was being written when somebody pulled the plug is a key too, and nobody's.
            if !name.starts_with('.') {
                let size = entry.metadata().map_err(failed())?.len();
                if size > MOST_KEY_BYTES || !self.seal_file(&entry.path(), &name).await? {
                    tracing::warn!(name, "what is in this file of the directory of keys is no key");
                    continue;
                }
                sealed.push(name.clone());
            }
            shred(&entry.path())
                .map_err(Fault::io(format!("the plain key {name} could not be removed")))?;
        }
        if !sealed.is_empty() {
            sync_dir(&dir).map_err(failed())?;
            tracing::info!(?sealed, "keys that were plain files are sealed now");
        }
        Ok(sealed)
    }

    /// False: there is no key in it.
    async fn seal_file(&self, path: &Path, name: &str) -> Result<bool, ModelError> {
        let failed = Fault::io(format!("the key {name} could not be read"));
        let bytes = std::fs::read(path).map_err(failed)?;
        let text = String::from_utf8_lossy(&bytes);
        let key = text.trim();
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Ok(false);
        }
        let own = KeyRef::Sealed(name.to_owned());
        let models = self.control.store().models().all().await?;
        let address = models.iter().find(|model| model.key == own);
        let address = address.map_or(NOWHERE, |model| &model.base_url);
        self.seal_key(&Actor::System { part: "the start, from a plain file" }, name, key, address)
            .await?;
        let opened = self
            .control
            .store()
            .secrets()
            .open_secret(self.control.keys(), Owner::Platform, &key_secret(name)?)
            .await?;
        if opened.value.expose() == key.as_bytes() {
            return Ok(true);
        }
        Err(ModelRefusal::SealedWrongly { name: name.to_owned() }.into())
    }
}

/// Overwrites a file before it is removed: what it said is not left in the free blocks of a plain disk.
fn shred(path: &Path) -> io::Result<()> {
    let length = std::fs::symlink_metadata(path)?.len().min(MOST_KEY_BYTES);
    let mut file = std::fs::OpenOptions::new().write(true).open(path)?;
    file.write_all(&vec![0; usize::try_from(length).unwrap_or(0)])?;
    file.sync_all()?;
    std::fs::remove_file(path)
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
