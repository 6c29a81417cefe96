//! Secrets: sealed values with what they are bound to, one file per concern.
//!
//! Promises: no value is ever written in the clear; a list shows names and bindings, never values; every change
//! is audited, by name. The master key must be the one the database was sealed under, or nothing opens.

mod unlock;

use cloister_vault::{
    Binding, BindingError, DataKey, Keyring, MasterId, Owner, SealedDataKey, SecretContext,
    SecretName, SecretValue, VaultError,
};
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row as _, SqliteExecutor};

pub use unlock::{MasterPlace, RotationDone};

use crate::actor::Actor;
use crate::audit;
use crate::db::Tx;
use crate::error::{StoreError, Tried, corrupt};

#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error("the secrets could not be read or written")]
    Store(#[from] StoreError),
    #[error(transparent)]
    Vault(#[from] VaultError),
    #[error(transparent)]
    Binding(#[from] BindingError),
    #[error("{owner} has no secret {name}")]
    NoSecret { owner: Owner, name: SecretName },
    #[error("the database is sealed under master key {wanted}, but {found} was given")]
    WrongMaster { wanted: MasterId, found: MasterId },
    #[error("a master key that replaces {current} is needed to rotate, and none is there")]
    NoIncoming { current: MasterId },
}

/// A secret to be set: new, or in place of the one of this name.
#[derive(Debug)]
pub struct NewSecret {
    pub owner: Owner,
    pub name: SecretName,
    pub binding: Binding,
    pub value: SecretValue,
}

/// What is shown of a secret.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SecretInfo {
    pub owner: Owner,
    pub name: SecretName,
    pub version: u64,
    pub binding: Binding,
    pub set_by: String,
    pub set_at: i64,
    /// Until when; none for the version in use.
    pub expires_at: Option<i64>,
}

/// A secret that was opened, to be used and dropped.
#[derive(Clone, Debug)]
pub struct OpenSecret {
    pub info: SecretInfo,
    pub value: SecretValue,
}

struct Row {
    owner: String,
    name: String,
    version: i64,
    binding: String,
    set_by: String,
    set_at: i64,
    expires_at: Option<i64>,
    /// Empty where only what is shown was asked for.
    sealed: Vec<u8>,
}

impl FromRow<'_, SqliteRow> for Row {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        let sealed = match row.try_get("sealed") {
            Err(sqlx::Error::ColumnNotFound(_)) => Vec::new(),
            read => read?,
        };
        Ok(Self {
            owner: row.try_get("owner")?,
            name: row.try_get("name")?,
            version: row.try_get("version")?,
            binding: row.try_get("binding")?,
            set_by: row.try_get("set_by")?,
            set_at: row.try_get("set_at")?,
            expires_at: row.try_get("expires_at")?,
            sealed,
        })
    }
}

const SHOWN: &str = "owner, name, version, binding, set_by, set_at, expires_at";

impl Row {
    fn info(&self) -> Result<SecretInfo, StoreError> {
        Ok(SecretInfo {
            owner: self.owner.parse().map_err(|error| corrupt("owner", error))?,
            name: self.name.parse().map_err(|error| corrupt("secret name", error))?,
            version: self.version.unsigned_abs(),
            binding: serde_json::from_str(&self.binding)
                .map_err(|_unreadable| corrupt("binding of secret", &self.name))?,
            set_by: self.set_by.clone(),
            set_at: self.set_at,
            expires_at: self.expires_at,
        })
    }

    fn open(&self, key: &DataKey) -> Result<OpenSecret, SecretError> {
        let info = self.info()?;
        let context = SecretContext {
            owner: info.owner,
            name: &info.name,
            version: info.version,
            binding: &info.binding,
        };
        let value = key.open(&context, &self.sealed)?;
        Ok(OpenSecret { info, value })
    }
}

/// What a new version does to the one before.
#[derive(Clone, Copy, Debug)]
enum Before {
    /// It opens until then.
    Until(i64),
    Gone,
}

table! {
    /// Secrets, sealed, and the master key.
    pub struct Secrets;
}

impl Secrets {
    /// Sets a secret. What it was before is gone.
    pub async fn set_secret(
        &self,
        actor: &Actor,
        keys: &Keyring,
        new: NewSecret,
    ) -> Result<SecretInfo, SecretError> {
        self.put_secret(actor, keys, new, Before::Gone, "secret.set").await
    }

    /// Gives a secret a new value; the old one opens for the time of grace.
    pub async fn rotate_secret(
        &self,
        actor: &Actor,
        keys: &Keyring,
        (owner, name): (Owner, &SecretName),
        value: SecretValue,
        grace_ms: i64,
    ) -> Result<SecretInfo, SecretError> {
        let binding = self.newest(owner, name).await?.info()?.binding;
        let until = self.store.clock.now_ms().saturating_add(grace_ms);
        let new = NewSecret { owner, name: name.clone(), binding, value };
        self.put_secret(actor, keys, new, Before::Until(until), "secret.rotate").await
    }

    /// Changes where a secret may be used: its value is sealed anew, bound to that.
    pub async fn rebind_secret(
        &self,
        actor: &Actor,
        keys: &Keyring,
        (owner, name): (Owner, &SecretName),
        binding: Binding,
    ) -> Result<SecretInfo, SecretError> {
        let value = self.open_secret(keys, owner, name).await?.value;
        let new = NewSecret { owner, name: name.clone(), binding, value };
        self.put_secret(actor, keys, new, Before::Gone, "secret.bind").await
    }

    async fn put_secret(
        &self,
        actor: &Actor,
        keys: &Keyring,
        new: NewSecret,
        before: Before,
        action: &'static str,
    ) -> Result<SecretInfo, SecretError> {
        new.binding.check_value(&new.value)?;
        let now = self.store.clock.now_ms();
        let NewSecret { owner, name, binding, value } = new;
        let mut tx = self.store.begin().await?;
        let key = ensure_data_key(&mut tx, keys, owner, now).await?;
        let version = next_version(&mut tx, owner, &name, now).await?;
        let context = SecretContext { owner, name: &name, version, binding: &binding };
        let sealed = key.seal(&context, &value)?;
        retire(&mut tx, owner, &name, before).await?;
        sqlx::query(
            "INSERT INTO secrets (owner, name, version, binding, sealed, set_by, set_at) \
             VALUES (?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(owner.to_string())
        .bind(name.as_str())
        .bind(i64::try_from(version).unwrap_or(i64::MAX))
        .bind(serde_json::to_string(&binding).unwrap_or_default())
        .bind(sealed)
        .bind(actor.to_string())
        .bind(now)
        .execute(&mut *tx)
        .await
        .tried("keep a secret")?;
        let hosts: Vec<String> = binding.hosts().iter().map(ToString::to_string).collect();
        let detail = format!("version {version}, {}, for {}", binding.form(), hosts.join(" "));
        let entry = audit::Entry::new(actor, action, &name).with(detail).in_chain(owner);
        audit::record(&mut tx, now, entry).await?;
        tx.commit().await.tried("keep a secret")?;
        let set_by = actor.to_string();
        Ok(SecretInfo { owner, name, version, binding, set_by, set_at: now, expires_at: None })
    }

    /// Names and bindings of an owner's secrets, never values; versions in grace included.
    pub async fn of(&self, owner: Owner) -> Result<Vec<SecretInfo>, StoreError> {
        let read = async {
            let query =
                format!("SELECT {SHOWN} FROM secrets WHERE owner = ? ORDER BY name, version DESC");
            let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(query))
                .bind(owner.to_string())
                .fetch_all(self.store.reader())
                .await
                .tried("list secrets")?;
            rows.iter().map(Row::info).collect()
        };
        let mut secrets = self.store.memory.secrets.or_read(owner, read).await?;
        // Nothing is written when one expires.
        let now = self.store.clock.now_ms();
        secrets.retain(|secret| secret.expires_at.is_none_or(|until| until > now));
        Ok(secrets)
    }

    /// Opens the version in use.
    pub async fn open_secret(
        &self,
        keys: &Keyring,
        owner: Owner,
        name: &SecretName,
    ) -> Result<OpenSecret, SecretError> {
        let row = self.newest(owner, name).await?;
        let key = self.data_key(keys, owner).await?;
        let key = key.ok_or_else(|| SecretError::NoSecret { owner, name: name.clone() })?;
        row.open(&key)
    }

    /// Opens all that still open, those in grace too: what must not be seen in a response.
    pub async fn open_secrets(
        &self,
        keys: &Keyring,
        owner: Owner,
    ) -> Result<Vec<OpenSecret>, SecretError> {
        let Some(key) = self.data_key(keys, owner).await? else {
            return Ok(Vec::new());
        };
        let query = format!(
            "SELECT {SHOWN}, sealed FROM secrets WHERE owner = ? AND (expires_at IS NULL OR expires_at > ?)"
        );
        let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(owner.to_string())
            .bind(self.store.clock.now_ms())
            .fetch_all(self.store.reader())
            .await
            .tried("open secrets")?;
        rows.iter().map(|row| row.open(&key)).collect()
    }

    /// Removes a secret with all its versions.
    pub async fn remove_secret(
        &self,
        actor: &Actor,
        owner: Owner,
        name: &SecretName,
    ) -> Result<(), SecretError> {
        let mut tx = self.store.begin().await?;
        if retire(&mut tx, owner, name, Before::Gone).await? == 0 {
            return Err(SecretError::NoSecret { owner, name: name.clone() });
        }
        let entry = audit::Entry::new(actor, "secret.remove", name).in_chain(owner);
        audit::record(&mut tx, self.store.clock.now_ms(), entry).await?;
        tx.commit().await.tried("remove a secret")?;
        Ok(())
    }

    /// Forgets versions whose grace is over.
    pub async fn drop_expired_secrets(&self) -> Result<u64, StoreError> {
        let mut tx = self.store.begin_one().await?;
        let dropped = sqlx::query("DELETE FROM secrets WHERE expires_at <= ?")
            .bind(self.store.clock.now_ms())
            .execute(&mut *tx)
            .await
            .tried("forget old versions of secrets")?
            .rows_affected();
        tx.commit().await.tried("forget old versions of secrets")?;
        Ok(dropped)
    }

    pub(crate) async fn data_key(
        &self,
        keys: &Keyring,
        owner: Owner,
    ) -> Result<Option<DataKey>, SecretError> {
        let mut again = true;
        loop {
            let sealed = sealed_data_key(self.store.reader(), owner).await?;
            let Some(sealed) = sealed else { return Ok(None) };
            match keys.open_data_key(owner, &sealed) {
                // The master key was replaced since the row was read.
                Err(VaultError::WrongMaster { .. }) if again => again = false,
                opened => return Ok(Some(opened?)),
            }
        }
    }

    async fn newest(&self, owner: Owner, name: &SecretName) -> Result<Row, SecretError> {
        let query = format!(
            "SELECT {SHOWN}, sealed FROM secrets WHERE owner = ? AND name = ? AND expires_at IS NULL \
             ORDER BY version DESC LIMIT 1"
        );
        let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(owner.to_string())
            .bind(name.as_str())
            .fetch_optional(self.store.reader())
            .await
            .tried("find a secret")?;
        row.ok_or_else(|| SecretError::NoSecret { owner, name: name.clone() })
    }
}

async fn sealed_data_key(
    database: impl SqliteExecutor<'_>,
    owner: Owner,
) -> Result<Option<SealedDataKey>, StoreError> {
    let row: Option<(String, Vec<u8>)> =
        sqlx::query_as("SELECT master, sealed FROM data_keys WHERE owner = ?")
            .bind(owner.to_string())
            .fetch_optional(database)
            .await
            .tried("find a data key")?;
    Ok(row.map(|(master, bytes)| SealedDataKey { master: MasterId::stored(master), bytes }))
}

pub(crate) async fn ensure_data_key(
    tx: &mut Tx,
    keys: &Keyring,
    owner: Owner,
    now: i64,
) -> Result<DataKey, SecretError> {
    // Whoever replaces the master key writes, and waits for this.
    if let Some(sealed) = sealed_data_key(&mut *tx, owner).await? {
        return Ok(keys.open_data_key(owner, &sealed)?);
    }
    let (key, sealed) = keys.new_data_key(owner)?;
    sqlx::query("INSERT INTO data_keys (owner, master, sealed, created_at) VALUES (?, ?, ?, ?)")
        .bind(owner.to_string())
        .bind(sealed.master.as_str())
        .bind(sealed.bytes)
        .bind(now)
        .execute(tx)
        .await
        .tried("keep a data key")?;
    Ok(key)
}

async fn next_version(
    tx: &mut Tx,
    owner: Owner,
    name: &SecretName,
    now: i64,
) -> Result<u64, StoreError> {
    let next: i64 = sqlx::query_scalar(
        "INSERT INTO secret_names (owner, name, next_version, created_at) VALUES (?, ?, 2, ?) \
         ON CONFLICT (owner, name) DO UPDATE SET next_version = next_version + 1 RETURNING next_version",
    )
    .bind(owner.to_string())
    .bind(name.as_str())
    .bind(now)
    .fetch_one(tx)
    .await
    .tried("number a secret's version")?;
    Ok(next.unsigned_abs().saturating_sub(1))
}

/// Ends the versions there are; returns how many there were.
async fn retire(
    tx: &mut Tx,
    owner: Owner,
    name: &SecretName,
    before: Before,
) -> Result<u64, StoreError> {
    let query = match before {
        Before::Gone => sqlx::query("DELETE FROM secrets WHERE owner = ? AND name = ?"),
        Before::Until(until) => sqlx::query(
            "UPDATE secrets SET expires_at = ? WHERE expires_at IS NULL AND owner = ? AND name = ?",
        )
        .bind(until),
    };
    let done = query.bind(owner.to_string()).bind(name.as_str()).execute(tx).await;
    Ok(done.tried("retire a secret's versions")?.rows_affected())
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
