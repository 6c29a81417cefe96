//! Homes: what keeps the conversations of one person together on a surface, such as a Matrix Space.

use cloister_protocol::UserId;

use crate::connectors::ConnectorId;
use crate::db::Store;
use crate::error::{StoreError, Tried};

impl Store {
    /// What keeps a person's conversations together there.
    pub async fn home(
        &self,
        connector: ConnectorId,
        user: UserId,
    ) -> Result<Option<String>, StoreError> {
        sqlx::query_scalar("SELECT external_id FROM homes WHERE connector_id = ? AND user_id = ?")
            .bind(connector.number())
            .bind(user.number())
            .fetch_optional(self.reader())
            .await
            .tried("find a home")
    }

    pub async fn homes(&self, connector: ConnectorId) -> Result<Vec<(UserId, String)>, StoreError> {
        let rows: Vec<(u32, String)> = sqlx::query_as(
            "SELECT user_id, external_id FROM homes WHERE connector_id = ? ORDER BY user_id",
        )
        .bind(connector.number())
        .fetch_all(self.reader())
        .await
        .tried("list homes")?;
        Ok(rows.into_iter().map(|(user, id)| (UserId::from_number(user), id)).collect())
    }

    /// Keeps a home, in the place of the one that was known (none: it is forgotten).
    pub async fn set_home(
        &self,
        connector: ConnectorId,
        user: UserId,
        external_id: Option<&str>,
    ) -> Result<(), StoreError> {
        let now = self.clock.now_ms();
        let mut tx = self.begin_one().await?;
        let query = match external_id {
            Some(id) => sqlx::query(
                "INSERT INTO homes (connector_id, user_id, external_id, created_at) VALUES (?, ?, ?, ?) \
                 ON CONFLICT DO UPDATE SET external_id = excluded.external_id",
            )
            .bind(connector.number())
            .bind(user.number())
            .bind(id)
            .bind(now),
            None => sqlx::query("DELETE FROM homes WHERE connector_id = ? AND user_id = ?")
                .bind(connector.number())
                .bind(user.number()),
        };
        query.execute(&mut *tx).await.tried("keep a home")?;
        tx.commit().await.tried("keep a home")
    }
}
