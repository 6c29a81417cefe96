//! The master keys in use: one as a rule, two while one replaces the other.

use std::sync::{Arc, PoisonError, RwLock};

use crate::envelope::{DataKey, SealedDataKey};
use crate::error::VaultError;
use crate::master::{MasterId, MasterKey};
use crate::owner::Owner;

/// Opens and seals data keys. Cheap to clone; all clones see a key that is added.
#[derive(Clone, Debug)]
pub struct Keyring(Arc<RwLock<Masters>>);

#[derive(Debug)]
struct Masters {
    /// New data keys are sealed under this one.
    current: MasterKey,
    /// What may still be met in the database.
    others: Vec<MasterKey>,
}

impl Keyring {
    pub fn new(current: MasterKey) -> Self {
        Self(Arc::new(RwLock::new(Masters { current, others: Vec::new() })))
    }

    pub fn current(&self) -> MasterId {
        self.read(|masters| masters.current.id().clone())
    }

    pub fn holds(&self, id: &MasterId) -> bool {
        self.read(|masters| masters.find(id).is_some())
    }

    /// Adds a key that opens what is sealed under it; new data keys keep to the current one.
    pub fn add(&self, key: MasterKey) {
        let mut masters = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if masters.find(key.id()).is_none() {
            masters.others.push(key);
        }
    }

    /// Makes a key that was added the current one; the one before still opens.
    pub fn promote(&self, id: &MasterId) -> Result<(), VaultError> {
        let mut masters = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let key = masters.require(id)?.clone();
        if masters.current.id() != id {
            let before = std::mem::replace(&mut masters.current, key);
            masters.others.retain(|other| other.id() != id);
            masters.others.push(before);
        }
        Ok(())
    }

    /// Forgets every key but the current one.
    pub fn drop_others(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).others.clear();
    }

    pub fn new_data_key(&self, owner: Owner) -> Result<(DataKey, SealedDataKey), VaultError> {
        let (key, sealed) = self.read(|masters| masters.current.new_data_key(owner))?;
        Ok((DataKey(key), sealed))
    }

    pub fn open_data_key(
        &self,
        owner: Owner,
        sealed: &SealedDataKey,
    ) -> Result<DataKey, VaultError> {
        self.read(|masters| {
            masters.require(&sealed.master)?.open_data_key(owner, &sealed.bytes).map(DataKey)
        })
    }

    /// Seals a data key anew under another master key; what is sealed under the data key stays as it is.
    pub fn reseal(
        &self,
        owner: Owner,
        sealed: &SealedDataKey,
        under: &MasterId,
    ) -> Result<SealedDataKey, VaultError> {
        let key = self.open_data_key(owner, sealed)?;
        self.read(|masters| masters.require(under)?.seal_data_key(owner, &key.0))
    }

    fn read<T>(&self, look: impl FnOnce(&Masters) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Masters {
    fn find(&self, id: &MasterId) -> Option<&MasterKey> {
        std::iter::once(&self.current).chain(&self.others).find(|key| key.id() == id)
    }

    fn require(&self, id: &MasterId) -> Result<&MasterKey, VaultError> {
        self.find(id).ok_or_else(|| {
            let loaded = std::iter::once(&self.current).chain(&self.others);
            let loaded: Vec<&str> = loaded.map(|key| key.id().as_str()).collect();
            VaultError::WrongMaster { wanted: id.clone(), loaded: loaded.join(", ") }
        })
    }
}

#[cfg(test)]
#[path = "keyring_tests.rs"]
mod tests;
