//! What models showed of themselves at work: how slow they were to begin, and how much they can read.

use cloister_protocol::ModelProfile;

use crate::error::{StoreError, Tried};
use crate::models::{KeyRef, Model, Models, read, written};

/// What was seen; the rest stays as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelSeen {
    pub slowest_ms: Option<u32>,
    pub window_tokens: Option<u32>,
}

impl Models {
    /// Keeps what was seen of a model, in its profile. Nobody has said it, and nothing is decided by it; a model that was
    /// changed meanwhile keeps what is there.
    pub async fn note_seen(&self, model: &Model, seen: ModelSeen) -> Result<(), StoreError> {
        let mut tx = self.store.begin().await?;
        let own = match &model.key {
            KeyRef::Own { user, .. } => Some(user.number()),
            KeyRef::None | KeyRef::Env(_) | KeyRef::Sealed(_) => None,
        };
        let (find, keep) = match own {
            None => (
                "SELECT profile FROM models WHERE name = ? AND base_url = ? AND model = ?",
                "UPDATE models SET profile = ? WHERE name = ?",
            ),
            Some(_) => (
                "SELECT profile FROM own_models WHERE name = ? AND base_url = ? AND model = ? AND user_id = ?",
                "UPDATE own_models SET profile = ? WHERE name = ? AND user_id = ?",
            ),
        };
        let mut query = sqlx::query_scalar::<_, String>(find)
            .bind(&model.name)
            .bind(&model.base_url)
            .bind(&model.model);
        if let Some(user) = own {
            query = query.bind(user);
        }
        let found = query.fetch_optional(&mut *tx).await.tried("read what is known of a model")?;
        let Some(found) = found else { return Ok(()) };
        let profile: ModelProfile = read(&found, "profile of a model")?;
        let profile = ModelProfile {
            slowest_ms: seen.slowest_ms.or(profile.slowest_ms),
            window_tokens: seen.window_tokens.or(profile.window_tokens),
            ..profile
        };
        let mut update = sqlx::query(keep).bind(written(&profile)?).bind(&model.name);
        if let Some(user) = own {
            update = update.bind(user);
        }
        update.execute(&mut *tx).await.tried("keep what was seen of a model")?;
        tx.commit().await.tried("keep what was seen of a model")?;
        Ok(())
    }
}
