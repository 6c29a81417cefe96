//! What must not be forgotten for words to stay between those they are for: which places are encrypted, and
//! which events were refused for who wrote them.

use crate::connectors::ConnectorId;
use crate::conversations::Conversations;
use crate::error::{StoreError, Tried};

/// How many refused events of a connector are remembered; a server does not tell older ones again.
const MOST_REFUSED: i64 = 10_000;

impl Conversations {
    /// From now on a place is encrypted, whatever its server says later.
    pub async fn set_encrypted(&self, surface: &str, place: &str) -> Result<(), StoreError> {
        let what = "remember that a place is encrypted";
        let mut tx = self.store.begin().await?;
        sqlx::query(
            "INSERT INTO encrypted_places (surface, place, since) VALUES (?, ?, ?) \
             ON CONFLICT DO NOTHING",
        )
        .bind(surface)
        .bind(place)
        .bind(self.store.clock.now_ms())
        .execute(&mut *tx)
        .await
        .tried(what)?;
        tx.commit().await.tried(what)
    }

    /// Whether a place was ever encrypted.
    pub async fn was_encrypted(&self, surface: &str, place: &str) -> Result<bool, StoreError> {
        sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM encrypted_places WHERE surface = ? AND place = ?)",
        )
        .bind(surface)
        .bind(place)
        .fetch_one(self.store.reader())
        .await
        .tried("see whether a place is encrypted")
    }

    /// An event is not taken, now or later.
    pub async fn refuse_event(
        &self,
        connector: ConnectorId,
        event: &str,
    ) -> Result<(), StoreError> {
        let what = "remember that an event was refused";
        let mut tx = self.store.begin().await?;
        sqlx::query(
            "INSERT INTO refused_events (connector_id, event) VALUES (?, ?) ON CONFLICT DO NOTHING",
        )
        .bind(connector.number())
        .bind(event)
        .execute(&mut *tx)
        .await
        .tried(what)?;
        sqlx::query(
            "DELETE FROM refused_events WHERE connector_id = ?1 AND id <= \
             (SELECT id FROM refused_events WHERE connector_id = ?1 ORDER BY id DESC \
              LIMIT 1 OFFSET ?2)",
        )
        .bind(connector.number())
        .bind(MOST_REFUSED)
        .execute(&mut *tx)
        .await
        .tried(what)?;
        tx.commit().await.tried(what)
    }

    pub async fn was_refused(
        &self,
        connector: ConnectorId,
        event: &str,
    ) -> Result<bool, StoreError> {
        sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM refused_events WHERE connector_id = ? AND event = ?)",
        )
        .bind(connector.number())
        .bind(event)
        .fetch_one(self.store.reader())
        .await
        .tried("see whether an event was refused")
    }
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
