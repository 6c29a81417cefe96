//! Models: where each is, what it costs, what it can do, and the chain of models that serves each level.
//!
//! The built-in `demo` model always exists, costs nothing and is not a row; it is the whole chain of
//! a level that nobody has set.

use std::fmt;
use std::str::FromStr;

use cloister_protocol::{Level, ModelProfile, ModelSettings, ParseIdError, UserId};
use cloister_vault::SecretName;
use sha2::{Digest, Sha256};

use crate::actor::Actor;
use crate::audit;
use crate::db::Tx;
use crate::error::{StoreError, Tried, corrupt, not_found};
use crate::model_kinds::is_new_in;

/// The name of the built-in model.
pub const DEMO: &str = "demo";

const DEMO_OUTPUT_TOKENS: u32 = 8192;

/// Where the key of a model is; never the key itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyRef {
    /// The endpoint wants no key.
    None,
    /// An environment variable of the control plane.
    Env(String),
    /// A secret of the platform, by the name it was kept under.
    Sealed(String),
    /// With a model that a person connected for themselves, sealed as theirs; it may go without.
    Own { user: UserId, name: String },
}

impl fmt::Display for KeyRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Env(variable) => write!(f, "env:{variable}"),
            Self::Sealed(name) => write!(f, "sealed:{name}"),
            Self::Own { name, .. } => write!(f, "own:{name}"),
        }
    }
}

/// The secret of the platform that the key of this name is sealed as. Names that no secret can have are written by
/// their hash, under a beginning that no other has.
pub fn key_secret(name: &str) -> Result<SecretName, ParseIdError> {
    let plain = format!("key-{name}");
    plain.parse().or_else(|_unfit| {
        let hash = Sha256::digest(name.as_bytes());
        let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).take(24).collect();
        format!("keyhash-{hex}").parse()
    })
}

/// A reference to a key that has none of the known forms.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a key reference: expected nothing, env:VARIABLE or sealed:NAME")]
pub struct ParseKeyRefError;

impl FromStr for KeyRef {
    type Err = ParseKeyRefError;

    /// The text is never part of the error: someone may have put the key itself here.
    fn from_str(text: &str) -> Result<Self, ParseKeyRefError> {
        if text.is_empty() {
            return Ok(Self::None);
        }
        let word = |word: &str| {
            let fits = !word.is_empty()
                && !word.starts_with('.')
                && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
            fits.then(|| word.to_owned())
        };
        let env = text.strip_prefix("env:").and_then(word).map(Self::Env);
        // Keys were files once; what was written then means the secret that the file became.
        let kept = text.strip_prefix("sealed:").or_else(|| text.strip_prefix("file:"));
        env.or(kept.and_then(word).map(Self::Sealed)).ok_or(ParseKeyRefError)
    }
}

/// A model that a level may use.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// What people call it.
    pub name: String,
    /// The endpoint, up to and without `/chat/completions`; empty for the built-in model.
    pub base_url: String,
    /// What the provider calls it.
    pub model: String,
    pub key: KeyRef,
    /// Nano-dollars per token.
    pub prompt_price: i64,
    /// Nano-dollars per token.
    pub completion_price: i64,
    pub max_output_tokens: u32,
    /// What was found out by trying it.
    pub profile: ModelProfile,
    /// What the operator says of it.
    pub settings: ModelSettings,
}

impl Model {
    /// The built-in model.
    pub fn demo() -> Self {
        Self {
            name: DEMO.to_owned(),
            base_url: String::new(),
            model: DEMO.to_owned(),
            key: KeyRef::None,
            prompt_price: 0,
            completion_price: 0,
            max_output_tokens: DEMO_OUTPUT_TOKENS,
            profile: ModelProfile::default(),
            settings: ModelSettings::default(),
        }
    }

    pub fn is_demo(&self) -> bool {
        self.name == DEMO
    }

    /// Whether a person connected it for themselves, and pays for it.
    pub const fn is_own(&self) -> bool {
        matches!(self.key, KeyRef::Own { .. })
    }
}

pub(crate) struct Row {
    name: String,
    base_url: String,
    model: String,
    key_ref: String,
    prompt_price: i64,
    completion_price: i64,
    max_output_tokens: u32,
    profile: String,
    settings: String,
}

from_row!(Row {
    name,
    base_url,
    model,
    key_ref,
    prompt_price,
    completion_price,
    max_output_tokens,
    profile,
    settings,
});

impl Row {
    pub(crate) fn into_model(self) -> Result<Model, StoreError> {
        Ok(Model {
            key: self.key_ref.parse().map_err(|e: ParseKeyRefError| corrupt("key reference", e))?,
            name: self.name,
            base_url: self.base_url,
            model: self.model,
            prompt_price: self.prompt_price,
            completion_price: self.completion_price,
            max_output_tokens: self.max_output_tokens,
            profile: read(&self.profile, "profile of a model")?,
            settings: read(&self.settings, "settings of a model")?,
        })
    }
}

table! {
    /// Models and the order in which they are asked.
    pub struct Models;
}

impl Models {
    /// Adds a model; its name must be free.
    pub async fn add_model(&self, actor: &Actor, model: &Model) -> Result<(), StoreError> {
        let mut tx = self.store.begin().await?;
        if model.is_demo() || exists(&mut tx, &model.name).await? {
            return Err(StoreError::Exists { what: "model", name: model.name.clone() });
        }
        write(&mut tx, actor, self.store.clock.now_ms(), model, "model.add").await?;
        tx.commit().await.tried("add a model")?;
        Ok(())
    }

    /// Puts a model in the place of the one of its name, or adds it where there is none.
    pub async fn replace_model(&self, actor: &Actor, model: &Model) -> Result<(), StoreError> {
        if model.is_demo() {
            return Err(StoreError::Exists { what: "model", name: model.name.clone() });
        }
        let mut tx = self.store.begin().await?;
        write(&mut tx, actor, self.store.clock.now_ms(), model, "model.replace").await?;
        tx.commit().await.tried("replace a model")?;
        Ok(())
    }

    /// Keeps what was found out about a model when it was tried again.
    pub async fn set_profile(
        &self,
        actor: &Actor,
        name: &str,
        profile: &ModelProfile,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.begin().await?;
        let changed = sqlx::query("UPDATE models SET profile = ? WHERE name = ?")
            .bind(written(profile)?)
            .bind(name)
            .execute(&mut *tx)
            .await
            .tried("keep the profile of a model")?;
        if changed.rows_affected() == 0 {
            return Err(not_found("model", name));
        }
        let entry = audit::Entry::new(actor, "model.profile", name);
        audit::record(&mut tx, self.store.clock.now_ms(), entry).await?;
        tx.commit().await.tried("keep the profile of a model")?;
        Ok(())
    }

    /// Removes a model, also from the chains it is in.
    pub async fn remove_model(&self, actor: &Actor, name: &str) -> Result<(), StoreError> {
        let mut tx = self.store.begin().await?;
        let removed = sqlx::query("DELETE FROM models WHERE name = ?")
            .bind(name)
            .execute(&mut *tx)
            .await
            .tried("remove a model")?;
        if removed.rows_affected() == 0 {
            return Err(not_found("model", name));
        }
        for query in [
            "DELETE FROM model_chains WHERE model = ?",
            "DELETE FROM kind_chains WHERE model = ?",
            "DELETE FROM offered_models WHERE model = ?",
            "DELETE FROM model_choices WHERE model = ?",
        ] {
            sqlx::query(query)
                .bind(name)
                .execute(&mut *tx)
                .await
                .tried("take a model out of its chains")?;
        }
        let entry = audit::Entry::new(actor, "model.remove", name);
        audit::record(&mut tx, self.store.clock.now_ms(), entry).await?;
        tx.commit().await.tried("remove a model")?;
        Ok(())
    }

    /// Every model, the built-in one last.
    pub async fn all(&self) -> Result<Vec<Model>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT name, base_url, model, key_ref, prompt_price, completion_price, \
             max_output_tokens, profile, settings FROM models ORDER BY name",
        )
        .fetch_all(self.store.reader())
        .await
        .tried("list models")?;
        let built_in = std::iter::once(Ok(Model::demo()));
        rows.into_iter().map(Row::into_model).chain(built_in).collect()
    }

    pub async fn model(&self, name: &str) -> Result<Model, StoreError> {
        if name == DEMO {
            return Ok(Model::demo());
        }
        let row: Option<Row> = sqlx::query_as(
            "SELECT name, base_url, model, key_ref, prompt_price, completion_price, \
             max_output_tokens, profile, settings FROM models WHERE name = ?",
        )
        .bind(name)
        .fetch_optional(self.store.reader())
        .await
        .tried("find a model")?;
        row.ok_or_else(|| not_found("model", name))?.into_model()
    }

    /// Sets which models serve a level, in the order in which they are tried. An empty chain is the
    /// default one.
    pub async fn set_chain(
        &self,
        actor: &Actor,
        level: Level,
        names: &[String],
    ) -> Result<(), StoreError> {
        let mut tx = self.store.begin().await?;
        sqlx::query("DELETE FROM model_chains WHERE level = ?")
            .bind(level.as_str())
            .execute(&mut *tx)
            .await
            .tried("clear the chain of a level")?;
        for (position, name) in names.iter().enumerate() {
            is_new_in(&mut tx, names, position, name).await?;
            sqlx::query("INSERT INTO model_chains (level, position, model) VALUES (?, ?, ?)")
                .bind(level.as_str())
                .bind(i64::try_from(position).unwrap_or(i64::MAX))
                .bind(name)
                .execute(&mut *tx)
                .await
                .tried("set the chain of a level")?;
        }
        let entry = audit::Entry::new(actor, "model.use", level).with(names.join(","));
        audit::record(&mut tx, self.store.clock.now_ms(), entry).await?;
        tx.commit().await.tried("set the chain of a level")?;
        Ok(())
    }

    /// The models that serve a level, in the order in which they are tried; never empty. Remembered
    /// until a model or a chain changes: every model call asks.
    pub async fn chain(&self, level: Level) -> Result<Vec<Model>, StoreError> {
        self.store.memory.chains.or_read(level, self.read_chain(level)).await
    }

    async fn read_chain(&self, level: Level) -> Result<Vec<Model>, StoreError> {
        let rows: Vec<ChainRow> = sqlx::query_as(
            "SELECT c.model AS used, m.name, m.base_url, m.model, m.key_ref, m.prompt_price, \
             m.completion_price, m.max_output_tokens, m.profile, m.settings \
             FROM model_chains c LEFT JOIN models m ON m.name = c.model \
             WHERE c.level = ? ORDER BY c.position",
        )
        .bind(level.as_str())
        .fetch_all(self.store.reader())
        .await
        .tried("read the chain of a level")?;
        if rows.is_empty() {
            return Ok(vec![Model::demo()]);
        }
        rows.into_iter().map(ChainRow::into_model).collect()
    }
}

/// A place in a chain, with the model's row unless it is the built-in one.
pub(crate) struct ChainRow {
    used: String,
    name: Option<String>,
    base_url: Option<String>,
    model: Option<String>,
    key_ref: Option<String>,
    prompt_price: Option<i64>,
    completion_price: Option<i64>,
    max_output_tokens: Option<u32>,
    profile: Option<String>,
    settings: Option<String>,
}

from_row!(ChainRow {
    used,
    name,
    base_url,
    model,
    key_ref,
    prompt_price,
    completion_price,
    max_output_tokens,
    profile,
    settings,
});

impl ChainRow {
    pub(crate) fn into_model(self) -> Result<Model, StoreError> {
        if self.used == DEMO {
            return Ok(Model::demo());
        }
        let row = (|| {
            Some(Row {
                name: self.name?,
                base_url: self.base_url?,
                model: self.model?,
                key_ref: self.key_ref?,
                prompt_price: self.prompt_price?,
                completion_price: self.completion_price?,
                max_output_tokens: self.max_output_tokens?,
                profile: self.profile?,
                settings: self.settings?,
            })
        })();
        row.ok_or_else(|| not_found("model", self.used))?.into_model()
    }
}

pub(crate) fn read<T: serde::de::DeserializeOwned>(
    json: &str,
    what: &'static str,
) -> Result<T, StoreError> {
    serde_json::from_str(json).map_err(|error| corrupt(what, error))
}

pub(crate) fn written(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| corrupt("what is known of a model", error))
}

pub(crate) async fn exists(tx: &mut Tx, name: &str) -> Result<bool, StoreError> {
    let found: Option<i64> = sqlx::query_scalar("SELECT 1 FROM models WHERE name = ?")
        .bind(name)
        .fetch_optional(&mut *tx)
        .await
        .tried("find a model")?;
    Ok(found.is_some())
}

async fn write(
    tx: &mut Tx,
    actor: &Actor,
    now: i64,
    model: &Model,
    action: &'static str,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO models (name, base_url, model, key_ref, prompt_price, completion_price, \
         max_output_tokens, profile, settings, created_at) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
         ON CONFLICT (name) DO UPDATE SET base_url = excluded.base_url, model = excluded.model, \
         key_ref = excluded.key_ref, prompt_price = excluded.prompt_price, \
         completion_price = excluded.completion_price, \
         max_output_tokens = excluded.max_output_tokens, profile = excluded.profile, \
         settings = excluded.settings",
    )
    .bind(&model.name)
    .bind(&model.base_url)
    .bind(&model.model)
    .bind(model.key.to_string())
    .bind(model.prompt_price)
    .bind(model.completion_price)
    .bind(model.max_output_tokens)
    .bind(written(&model.profile)?)
    .bind(written(&model.settings)?)
    .bind(now)
    .execute(&mut *tx)
    .await
    .tried("write a model")?;
    let entry = audit::Entry::new(actor, action, &model.name)
        .with(format!("{} at {}", model.model, model.base_url));
    audit::record(tx, now, entry).await
}

#[cfg(test)]
#[path = "models_tests.rs"]
mod tests;
