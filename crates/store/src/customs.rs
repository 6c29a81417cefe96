//! What connectors said is different on their surfaces: kept, so that it holds while they are away.

use cloister_protocol::surface::Customs;
use sqlx::SqliteExecutor;

use crate::conversations::Conversations;
use crate::error::{StoreError, Tried, corrupt};

impl Conversations {
    /// What is different on a surface; nothing, where its connector has never said so.
    pub async fn customs(&self, surface: &str) -> Result<Customs, StoreError> {
        of(self.store.reader(), surface).await
    }

    /// Keeps what is different on a surface from now on.
    pub async fn set_customs(&self, surface: &str, customs: Customs) -> Result<(), StoreError> {
        if self.customs(surface).await? == customs {
            return Ok(());
        }
        let json = serde_json::to_string(&customs).map_err(|error| corrupt("customs", error))?;
        let mut tx = self.store.begin_one().await?;
        sqlx::query(
            "INSERT INTO surfaces (name, customs) VALUES (?, ?) \
             ON CONFLICT (name) DO UPDATE SET customs = excluded.customs",
        )
        .bind(surface)
        .bind(json)
        .execute(&mut *tx)
        .await
        .tried("keep what is different on a surface")?;
        tx.commit().await.tried("keep what is different on a surface")
    }
}

/// The same, as part of something greater.
pub(crate) async fn of(
    database: impl SqliteExecutor<'_>,
    surface: &str,
) -> Result<Customs, StoreError> {
    let json: Option<String> = sqlx::query_scalar("SELECT customs FROM surfaces WHERE name = ?")
        .bind(surface)
        .fetch_optional(database)
        .await
        .tried("read what is different on a surface")?;
    json.map_or_else(
        || Ok(Customs::USUAL),
        |json| serde_json::from_str(&json).map_err(|error| corrupt("customs", error)),
    )
}

#[cfg(test)]
#[path = "customs_tests.rs"]
mod tests;
