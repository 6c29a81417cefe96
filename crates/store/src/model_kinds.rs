//! Which models serve a kind of work that is no level's own, and which are offered to be chosen.
//!
//! Promises: nobody is asked whom the operator did not put into a chain or on offer.

use cloister_protocol::{Level, WorkKind};

use crate::actor::Actor;
use crate::audit;
use crate::db::Tx;
use crate::error::{StoreError, Tried, not_found};
use crate::models::{ChainRow, DEMO, Model, Models, exists};

impl Models {
    /// Sets which models serve a kind of work, in the order in which they are tried. Without any, the level's own
    /// chain serves it.
    pub async fn set_kind_chain(
        &self,
        actor: &Actor,
        kind: WorkKind,
        names: &[String],
    ) -> Result<(), StoreError> {
        if let Some(level) = kind.level() {
            return self.set_chain(actor, level, names).await;
        }
        let mut tx = self.store.begin().await?;
        sqlx::query("DELETE FROM kind_chains WHERE kind = ?")
            .bind(kind.as_str())
            .execute(&mut *tx)
            .await
            .tried("clear the chain of a kind of work")?;
        for (position, name) in names.iter().enumerate() {
            is_new_in(&mut tx, names, position, name).await?;
            sqlx::query("INSERT INTO kind_chains (kind, position, model) VALUES (?, ?, ?)")
                .bind(kind.as_str())
                .bind(i64::try_from(position).unwrap_or(i64::MAX))
                .bind(name)
                .execute(&mut *tx)
                .await
                .tried("set the chain of a kind of work")?;
        }
        let entry = audit::Entry::new(actor, "model.use", kind).with(names.join(","));
        audit::record(&mut tx, self.store.clock.now_ms(), entry).await?;
        tx.commit().await.tried("set the chain of a kind of work")
    }

    /// The models that were set for a kind of work; none where its level's serve it. Remembered as chains are.
    pub async fn kind_chain(&self, kind: WorkKind) -> Result<Vec<Model>, StoreError> {
        match kind.level() {
            Some(level) => self.chain(level).await,
            None => self.store.memory.kind_chains.or_read(kind, self.read_kind(kind)).await,
        }
    }

    async fn read_kind(&self, kind: WorkKind) -> Result<Vec<Model>, StoreError> {
        let rows: Vec<ChainRow> = sqlx::query_as(
            "SELECT c.model AS used, m.name, m.base_url, m.model, m.key_ref, m.prompt_price, \
             m.completion_price, m.max_output_tokens, m.profile, m.settings \
             FROM kind_chains c LEFT JOIN models m ON m.name = c.model \
             WHERE c.kind = ? ORDER BY c.position",
        )
        .bind(kind.as_str())
        .fetch_all(self.store.reader())
        .await
        .tried("read the chain of a kind of work")?;
        rows.into_iter().map(ChainRow::into_model).collect()
    }

    /// Lets people choose a model that is in no chain, or no longer.
    pub async fn set_offered(
        &self,
        actor: &Actor,
        name: &str,
        offered: bool,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.begin().await?;
        if name != DEMO && !exists(&mut tx, name).await? {
            return Err(not_found("model", name));
        }
        let query = if offered {
            "INSERT INTO offered_models (model) VALUES (?) ON CONFLICT (model) DO NOTHING"
        } else {
            "DELETE FROM offered_models WHERE model = ?"
        };
        sqlx::query(query).bind(name).execute(&mut *tx).await.tried("offer a model")?;
        let action = if offered { "model.offer" } else { "model.withhold" };
        audit::record(&mut tx, self.store.clock.now_ms(), audit::Entry::new(actor, action, name))
            .await?;
        tx.commit().await.tried("offer a model")
    }

    /// The models that may be chosen though they are in no chain.
    pub async fn offered(&self) -> Result<Vec<Model>, StoreError> {
        self.store.memory.offered_models.or_read((), self.read_offered()).await
    }

    async fn read_offered(&self) -> Result<Vec<Model>, StoreError> {
        let rows: Vec<ChainRow> = sqlx::query_as(
            "SELECT o.model AS used, m.name, m.base_url, m.model, m.key_ref, m.prompt_price, \
             m.completion_price, m.max_output_tokens, m.profile, m.settings \
             FROM offered_models o LEFT JOIN models m ON m.name = o.model ORDER BY o.model",
        )
        .fetch_all(self.store.reader())
        .await
        .tried("read which models are offered")?;
        rows.into_iter().map(ChainRow::into_model).collect()
    }

    /// Every model that somebody may be answered by: those of all chains, then those on offer, each once.
    pub async fn in_use(&self) -> Result<Vec<Model>, StoreError> {
        let mut used: Vec<Model> = Vec::new();
        for level in Level::ALL {
            join(&mut used, self.chain(level).await?);
        }
        for kind in WorkKind::APART {
            join(&mut used, self.kind_chain(kind).await?);
        }
        join(&mut used, self.offered().await?);
        Ok(used)
    }
}

/// Adds what is not there yet.
pub(crate) fn join(order: &mut Vec<Model>, more: impl IntoIterator<Item = Model>) {
    for model in more {
        if order.iter().all(|there| there.name != model.name) {
            order.push(model);
        }
    }
}

/// A chain names models that there are, each once.
pub(crate) async fn is_new_in(
    tx: &mut Tx,
    names: &[String],
    position: usize,
    name: &str,
) -> Result<(), StoreError> {
    if name != DEMO && !exists(tx, name).await? {
        return Err(not_found("model", name));
    }
    if names.iter().take(position).any(|earlier| earlier == name) {
        return Err(StoreError::Exists { what: "model in this chain", name: name.to_owned() });
    }
    Ok(())
}

#[cfg(test)]
#[path = "model_kinds_tests.rs"]
mod tests;
