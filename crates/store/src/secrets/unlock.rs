//! Which master key the database is sealed under, and replacing it while all goes on.
//!
//! Replacing: the new key is on disk before anything is sealed under it; data keys are sealed anew one by one,
//! each in a transaction; when none is left under the old key, the new one takes its place. Cut short anywhere,
//! it goes on from there.

use std::path::{Path, PathBuf};

use cloister_vault::{
    Keyring, MasterId, MasterKey, MasterSource, Owner, SealedDataKey, VaultError, sync_dir,
};

use super::SecretError;
use crate::actor::Actor;
use crate::audit;
use crate::db::Tx;
use crate::error::{StoreError, Tried, corrupt};
use crate::secrets::Secrets;

/// Data keys sealed anew in one transaction.
const BATCH: i64 = 64;

/// Where the master key is, and where the one that is to replace it.
#[derive(Clone, Debug)]
pub struct MasterPlace {
    pub current: MasterSource,
    pub incoming: Option<MasterSource>,
}

impl MasterPlace {
    /// A key file, and beside it the one that replaces it.
    pub fn file(path: &Path) -> Self {
        let incoming = Some(MasterSource::File(incoming_path(path)));
        Self { current: MasterSource::File(path.to_owned()), incoming }
    }
}

/// How a replacement of the master key ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RotationDone {
    pub from: MasterId,
    pub to: MasterId,
    pub data_keys: u64,
}

fn incoming_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".incoming");
    path.with_file_name(name)
}

/// Which keys the database says it is sealed under.
#[derive(Clone, Debug, Default)]
struct KnownMasters {
    current: Option<MasterId>,
    incoming: Option<MasterId>,
}

impl Secrets {
    /// Makes the master key when there is none yet: neither a file nor anything sealed.
    pub async fn create_master(&self, path: &Path) -> Result<bool, SecretError> {
        if path.exists() || self.masters().await?.current.is_some() {
            return Ok(false);
        }
        MasterKey::create(path)?;
        Ok(true)
    }

    /// Loads the master key and checks that it is the one the database is sealed under. Without it nothing
    /// starts: there is no other way to a secret.
    pub async fn unlock(&self, place: &MasterPlace) -> Result<Keyring, SecretError> {
        let known = self.masters().await?;
        let incoming = load_if_there(place.incoming.as_ref())?;
        let current = match (MasterKey::load(&place.current), &incoming) {
            // The file was about to be replaced: the new key has all.
            (Err(VaultError::NoMaster { .. }), Some(key))
                if known.current.as_ref() == Some(key.id()) =>
            {
                key.clone()
            }
            (loaded, _) => loaded?,
        };
        let wanted = match known.current {
            None => {
                self.register(current.id(), "current").await?;
                current.id().clone()
            }
            Some(wanted) => wanted,
        };
        let found = current.id().clone();
        let keys = Keyring::new(current);
        incoming.into_iter().for_each(|key| keys.add(key));
        if !keys.holds(&wanted) {
            return Err(SecretError::WrongMaster { wanted, found });
        }
        if let Some(wanted) = known.incoming.filter(|id| !keys.holds(id)) {
            return Err(SecretError::WrongMaster { wanted, found });
        }
        keys.promote(&wanted)?;
        self.prove(&keys).await?;
        if let MasterSource::File(path) = &place.current {
            settle_files(path, &wanted)?;
        }
        Ok(keys)
    }

    /// Replaces the master key file; `rotate_master_to` with a key made here.
    pub async fn rotate_master_file(
        &self,
        actor: &Actor,
        keys: &Keyring,
        path: &Path,
    ) -> Result<RotationDone, SecretError> {
        let beside = incoming_path(path);
        let key = match load_if_there(Some(&MasterSource::File(beside.clone())))? {
            Some(key) => key,
            None => MasterKey::create(&beside)?,
        };
        let done = self.rotate_master_to(actor, keys, key).await?;
        settle_files(path, &done.to)?;
        keys.drop_others();
        Ok(done)
    }

    /// Seals every data key under another master key, which is kept safe already. Secrets can be opened and
    /// set all the while.
    pub async fn rotate_master_to(
        &self,
        actor: &Actor,
        keys: &Keyring,
        to: MasterKey,
    ) -> Result<RotationDone, SecretError> {
        let (from, to_id) = (keys.current(), to.id().clone());
        if from == to_id {
            return Err(SecretError::NoIncoming { current: from });
        }
        keys.add(to);
        self.register(&to_id, "incoming").await?;
        let mut data_keys = 0;
        loop {
            let resealed = self.reseal_batch(keys, &to_id).await?;
            data_keys += resealed;
            if resealed == 0 {
                break;
            }
        }
        data_keys += self.take_over(actor, keys, &from, &to_id).await?;
        Ok(RotationDone { from, to: to_id, data_keys })
    }

    pub(super) async fn reseal_batch(
        &self,
        keys: &Keyring,
        to: &MasterId,
    ) -> Result<u64, SecretError> {
        let mut tx = self.store.begin().await?;
        let resealed = reseal(&mut tx, keys, to, BATCH).await?;
        tx.commit().await.tried("seal data keys anew")?;
        Ok(resealed)
    }

    /// Makes the incoming key the current one, with the few data keys that were made under the old one
    /// meanwhile; returns how many those were.
    async fn take_over(
        &self,
        actor: &Actor,
        keys: &Keyring,
        from: &MasterId,
        to: &MasterId,
    ) -> Result<u64, SecretError> {
        let mut tx = self.store.begin().await?;
        let resealed = reseal(&mut tx, keys, to, i64::MAX).await?;
        set_state(&mut tx, from, "retired").await?;
        set_state(&mut tx, to, "current").await?;
        let entry = audit::Entry::new(actor, "secret.master", to).with(format!("replaces {from}"));
        audit::record(&mut tx, self.store.clock.now_ms(), entry).await?;
        // Whoever makes a data key from here on waits for this transaction, and then finds the new key.
        keys.promote(to)?;
        tx.commit().await.tried("replace the master key")?;
        Ok(resealed)
    }

    async fn masters(&self) -> Result<KnownMasters, StoreError> {
        let rows: Vec<(String, String)> =
            sqlx::query_as("SELECT id, state FROM master_keys WHERE state <> 'retired'")
                .fetch_all(self.store.reader())
                .await
                .tried("find the master key's id")?;
        let mut known = KnownMasters::default();
        for (id, state) in rows {
            let id = Some(MasterId::stored(id));
            match state.as_str() {
                "current" => known.current = id,
                _ => known.incoming = id,
            }
        }
        Ok(known)
    }

    pub(super) async fn register(&self, id: &MasterId, state: &str) -> Result<(), StoreError> {
        let mut tx = self.store.begin_one().await?;
        sqlx::query(
            "INSERT INTO master_keys (id, state, created_at) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING",
        )
        .bind(id.as_str())
        .bind(state)
        .bind(self.store.clock.now_ms())
        .execute(&mut *tx)
        .await
        .tried("note a master key's id")?;
        tx.commit().await.tried("note a master key's id")
    }

    /// Opens one data key of each master key: an id can be right where the bytes are not.
    async fn prove(&self, keys: &Keyring) -> Result<(), SecretError> {
        let rows: Vec<(String, String, Vec<u8>)> =
            sqlx::query_as("SELECT owner, master, sealed FROM data_keys GROUP BY master")
                .fetch_all(self.store.reader())
                .await
                .tried("find a data key")?;
        for (owner, master, bytes) in rows {
            let owner: Owner = owner.parse().map_err(|error| corrupt("owner", error))?;
            let sealed = SealedDataKey { master: MasterId::stored(master), bytes };
            keys.open_data_key(owner, &sealed)?;
        }
        Ok(())
    }
}

/// Seals data keys under another master key, no more than so many; returns how many.
async fn reseal(tx: &mut Tx, keys: &Keyring, to: &MasterId, most: i64) -> Result<u64, SecretError> {
    let rows: Vec<(String, String, Vec<u8>)> =
        sqlx::query_as("SELECT owner, master, sealed FROM data_keys WHERE master <> ? LIMIT ?")
            .bind(to.as_str())
            .bind(most)
            .fetch_all(&mut *tx)
            .await
            .tried("find data keys to seal anew")?;
    let mut resealed = 0;
    for (owner, master, bytes) in rows {
        let whose: Owner = owner.parse().map_err(|error| corrupt("owner", error))?;
        let sealed = SealedDataKey { master: MasterId::stored(master), bytes };
        let anew = keys.reseal(whose, &sealed, to)?;
        sqlx::query("UPDATE data_keys SET master = ?, sealed = ? WHERE owner = ?")
            .bind(anew.master.as_str())
            .bind(anew.bytes)
            .bind(owner)
            .execute(&mut *tx)
            .await
            .tried("seal a data key anew")?;
        resealed += 1;
    }
    Ok(resealed)
}

async fn set_state(tx: &mut Tx, id: &MasterId, state: &str) -> Result<(), StoreError> {
    sqlx::query("UPDATE master_keys SET state = ? WHERE id = ?")
        .bind(state)
        .bind(id.as_str())
        .execute(tx)
        .await
        .tried("change a master key's state")?;
    Ok(())
}

fn load_if_there(source: Option<&MasterSource>) -> Result<Option<MasterKey>, VaultError> {
    match source.map(MasterKey::load) {
        None | Some(Err(VaultError::NoMaster { .. })) => Ok(None),
        Some(loaded) => loaded.map(Some),
    }
}

/// Puts the incoming key file in its place once it is the current one.
fn settle_files(path: &Path, current: &MasterId) -> Result<(), VaultError> {
    let beside = incoming_path(path);
    let incoming = load_if_there(Some(&MasterSource::File(beside.clone())))?;
    if incoming.is_none_or(|key| key.id() != current) {
        return Ok(());
    }
    let moved = std::fs::rename(&beside, path)
        .and_then(|()| sync_dir(path.parent().unwrap_or(Path::new("/"))));
    moved.map_err(|source| VaultError::File {
        what: "the master key file",
        tried: "replaced",
        path: path.to_owned(),
        source,
    })
}
