//! Models that people connect for themselves, with keys of their own.
//!
//! Promises: a key is sealed under its owner's data key and opened for nobody else; what is one person's serves their own
//! private workspace alone; all of it goes when they do.

use cloister_protocol::{UserId, WorkspaceId};
use cloister_vault::{Binding, Keyring, Owner, SecretContext, SecretName, SecretValue};

use crate::actor::Actor;
use crate::audit;
use crate::error::{StoreError, Tried, corrupt, not_found};
use crate::models::{KeyRef, Model, Models, Row, key_secret, written};
use crate::secrets::{SecretError, ensure_data_key};
use crate::users::AccountKind;

/// No secret that a person sets has this version.
const VERSION: u64 = 0;

/// What a key is bound to: its owner, the name of the model, and the server it is for.
#[derive(Clone, Debug)]
pub struct KeyBinding {
    user: UserId,
    model: String,
    name: SecretName,
    binding: Binding,
}

impl KeyBinding {
    pub fn new(user: UserId, model: &str, binding: Binding) -> Result<Self, StoreError> {
        let name = key_secret(model).map_err(|error| corrupt("name of a key", error))?;
        Ok(Self { user, model: model.to_owned(), name, binding })
    }

    const fn owner(&self) -> Owner {
        Owner::User(self.user)
    }

    fn context(&self) -> SecretContext<'_> {
        let (name, binding) = (&self.name, &self.binding);
        SecretContext { owner: self.owner(), name, version: VERSION, binding }
    }
}

impl Models {
    /// The models that a person connected for themselves. Remembered as chains are.
    pub async fn own(&self, user: UserId) -> Result<Vec<Model>, StoreError> {
        self.store.memory.own_models.or_read(user, self.read_own(user)).await
    }

    async fn read_own(&self, user: UserId) -> Result<Vec<Model>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT name, base_url, model, '' AS key_ref, prompt_price, completion_price, \
             max_output_tokens, profile, settings FROM own_models WHERE user_id = ? ORDER BY name",
        )
        .bind(user.number())
        .fetch_all(self.store.reader())
        .await
        .tried("read someone's own models")?;
        let own = |row: Row| {
            let model = row.into_model()?;
            Ok(Model { key: KeyRef::Own { user, name: model.name.clone() }, ..model })
        };
        rows.into_iter().map(own).collect()
    }

    /// The models of whose private workspace this is; nobody's own serve a community.
    pub async fn own_in(&self, workspace: WorkspaceId) -> Result<Vec<Model>, StoreError> {
        let user = self.store.users().user_of(workspace).await?;
        match user.kind {
            AccountKind::Person => self.own(user.id).await,
            AccountKind::Community => Ok(Vec::new()),
        }
    }

    /// Keeps a model of a person's own in the place of the one of its name; without a key, the one that is there goes.
    pub async fn put_own(
        &self,
        actor: &Actor,
        keys: &Keyring,
        of: &KeyBinding,
        (model, key): (&Model, Option<SecretValue>),
    ) -> Result<(), SecretError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let sealed = match key {
            Some(value) => {
                let data_key = ensure_data_key(&mut tx, keys, of.owner(), now).await?;
                Some(data_key.seal(&of.context(), &value)?)
            }
            None => None,
        };
        sqlx::query(
            "INSERT INTO own_models (user_id, name, base_url, model, prompt_price, completion_price, \
             max_output_tokens, profile, settings, sealed, created_at) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
             ON CONFLICT (user_id, name) DO UPDATE SET base_url = excluded.base_url, \
             model = excluded.model, prompt_price = excluded.prompt_price, \
             completion_price = excluded.completion_price, \
             max_output_tokens = excluded.max_output_tokens, profile = excluded.profile, \
             settings = excluded.settings, sealed = excluded.sealed",
        )
        .bind(of.user.number())
        .bind(&of.model)
        .bind(&model.base_url)
        .bind(&model.model)
        .bind(model.prompt_price)
        .bind(model.completion_price)
        .bind(model.max_output_tokens)
        .bind(written(&model.profile)?)
        .bind(written(&model.settings)?)
        .bind(sealed)
        .bind(now)
        .execute(&mut *tx)
        .await
        .tried("keep someone's own model")?;
        let entry = audit::Entry::new(actor, "model.add_own", &of.model)
            .with(format!("{} at {}", model.model, model.base_url))
            .in_chain(of.owner());
        audit::record(&mut tx, now, entry).await?;
        tx.commit().await.tried("keep someone's own model")?;
        Ok(())
    }

    /// The key of a model of a person's own; none where it goes without.
    pub async fn open_own_key(
        &self,
        keys: &Keyring,
        of: &KeyBinding,
    ) -> Result<Option<SecretValue>, SecretError> {
        let sealed: Option<Option<Vec<u8>>> =
            sqlx::query_scalar("SELECT sealed FROM own_models WHERE user_id = ? AND name = ?")
                .bind(of.user.number())
                .bind(&of.model)
                .fetch_optional(self.store.reader())
                .await
                .tried("find the key of someone's own model")?;
        let Some(Some(sealed)) = sealed else { return Ok(None) };
        let owner = of.owner();
        let data_key = self.store.secrets().data_key(keys, owner).await?;
        let none = || SecretError::NoSecret { owner, name: of.name.clone() };
        Ok(Some(data_key.ok_or_else(none)?.open(&of.context(), &sealed)?))
    }

    /// Forgets a model of a person's own, its key and where it was chosen.
    pub async fn remove_own(
        &self,
        actor: &Actor,
        (user, workspace): (UserId, WorkspaceId),
        name: &str,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.begin().await?;
        let removed = sqlx::query("DELETE FROM own_models WHERE user_id = ? AND name = ?")
            .bind(user.number())
            .bind(name)
            .execute(&mut *tx)
            .await
            .tried("remove someone's own model")?;
        if removed.rows_affected() == 0 {
            return Err(not_found("model", name));
        }
        sqlx::query("DELETE FROM model_choices WHERE workspace_id = ? AND model = ?")
            .bind(workspace.number())
            .bind(name)
            .execute(&mut *tx)
            .await
            .tried("take back the choices of a model")?;
        let entry = audit::Entry::new(actor, "model.remove_own", name).in_chain(Owner::User(user));
        audit::record(&mut tx, self.store.clock.now_ms(), entry).await?;
        tx.commit().await.tried("remove someone's own model")
    }
}

#[cfg(test)]
#[path = "own_models_tests.rs"]
mod tests;
