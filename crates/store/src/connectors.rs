//! Connectors: bot accounts of ours on surfaces, and how far each has read.

pub use cloister_protocol::surface::{Connector, ConnectorId};

use crate::actor::Actor;
use crate::audit;
use crate::conversations::Conversations;
use crate::error::{StoreError, Tried, corrupt, not_found};

/// A connector to be added.
#[derive(Clone, Debug)]
pub struct NewConnector {
    pub surface: String,
    pub account: String,
    pub address: String,
    pub settings: serde_json::Value,
}

/// What a connector has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectorLoad {
    pub connector: ConnectorId,
    pub surface: String,
    pub account: String,
    /// Rooms, channels and direct conversations that show a chat.
    pub conversations: i64,
    /// What is to be told there and was not yet, and since when the oldest of it waits.
    pub waiting: i64,
    pub oldest_waiting_at: Option<i64>,
}

const LOADS: &str = "\
    SELECT k.id, k.surface, k.account, \
      (SELECT count(*) FROM conversations c WHERE c.connector_id = k.id AND c.external_id IS NOT NULL), \
      (SELECT count(*) FROM outbox o JOIN conversations c ON c.id = o.conversation \
       WHERE c.connector_id = k.id AND c.broken IS NULL AND o.delivered_at IS NULL), \
      (SELECT min(o.created_at) FROM outbox o JOIN conversations c ON c.id = o.conversation \
       WHERE c.connector_id = k.id AND c.broken IS NULL AND o.delivered_at IS NULL) \
    FROM connectors k ORDER BY k.id";

struct Row {
    id: i64,
    surface: String,
    account: String,
    address: String,
    settings: String,
    position: Option<String>,
    added_by: String,
    created_at: i64,
}

from_row!(Row { id, surface, account, address, settings, position, added_by, created_at });

impl Row {
    fn into_connector(self) -> Result<Connector, StoreError> {
        Ok(Connector {
            id: ConnectorId::from_number(self.id),
            surface: self.surface,
            account: self.account,
            address: self.address,
            settings: serde_json::from_str(&self.settings)
                .map_err(|e| corrupt("settings of a connector", e))?,
            position: self.position,
            added_by: self.added_by,
            created_at: self.created_at,
        })
    }
}

const SELECT: &str = "SELECT id, surface, account, address, settings, position, added_by, created_at FROM connectors";

impl Conversations {
    /// Adds a connector; one that is there already gets the new address and settings.
    pub async fn put_connector(
        &self,
        actor: &Actor,
        new: &NewConnector,
    ) -> Result<Connector, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        sqlx::query(
            "INSERT INTO connectors (surface, account, address, settings, added_by, created_at) \
             VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (surface, account) DO UPDATE \
             SET address = excluded.address, settings = excluded.settings",
        )
        .bind(&new.surface)
        .bind(&new.account)
        .bind(&new.address)
        .bind(new.settings.to_string())
        .bind(actor.to_string())
        .bind(now)
        .execute(&mut *tx)
        .await
        .tried("add a connector")?;
        let name = format!("{} {}", new.surface, new.account);
        let entry = audit::Entry::new(actor, "connector.add", name).with(&new.address);
        audit::record(&mut tx, now, entry).await?;
        tx.commit().await.tried("add a connector")?;
        self.connector(&new.surface, &new.account).await
    }

    /// Whether a connector is one of a surface's.
    pub async fn is_of_surface(&self, id: ConnectorId, surface: &str) -> Result<bool, StoreError> {
        sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM connectors WHERE id = ? AND surface = ?)")
            .bind(id.number())
            .bind(surface)
            .fetch_one(self.store.reader())
            .await
            .tried("look whose connector it is")
    }

    pub async fn connectors(&self, surface: &str) -> Result<Vec<Connector>, StoreError> {
        let query = format!("{SELECT} WHERE surface = ? ORDER BY id");
        let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(surface)
            .fetch_all(self.store.reader())
            .await
            .tried("list connectors")?;
        rows.into_iter().map(Row::into_connector).collect()
    }

    pub async fn connector(&self, surface: &str, account: &str) -> Result<Connector, StoreError> {
        let query = format!("{SELECT} WHERE surface = ? AND account = ?");
        let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(surface)
            .bind(account)
            .fetch_optional(self.store.reader())
            .await
            .tried("find a connector")?;
        row.ok_or_else(|| not_found("connector", account))?.into_connector()
    }

    /// What every connector has to do.
    pub async fn connector_loads(&self) -> Result<Vec<ConnectorLoad>, StoreError> {
        let rows: Vec<(i64, String, String, i64, i64, Option<i64>)> = sqlx::query_as(LOADS)
            .fetch_all(self.store.reader())
            .await
            .tried("read what connectors have to do")?;
        let load = |(id, surface, account, conversations, waiting, oldest_waiting_at)| {
            let connector = ConnectorId::from_number(id);
            ConnectorLoad { connector, surface, account, conversations, waiting, oldest_waiting_at }
        };
        Ok(rows.into_iter().map(load).collect())
    }

    /// Removes a connector and what is known of its conversations. The chats stay.
    pub async fn remove_connector(&self, actor: &Actor, id: ConnectorId) -> Result<(), StoreError> {
        let mut tx = self.store.begin().await?;
        for forget in [
            "UPDATE chats SET last_conversation = NULL WHERE last_conversation IN \
             (SELECT id FROM conversations WHERE connector_id = ?)",
            "DELETE FROM outbox WHERE delivered_at IS NULL AND turn LIKE 'hub-%' AND conversation IN \
             (SELECT id FROM conversations WHERE connector_id = ?)",
            "UPDATE outbox SET conversation = NULL WHERE delivered_at IS NULL AND conversation IN \
             (SELECT id FROM conversations WHERE connector_id = ?)",
            "UPDATE inbox SET conversation = NULL, origin = NULL WHERE conversation IN \
             (SELECT id FROM conversations WHERE connector_id = ?)",
            "DELETE FROM posts WHERE conversation IN \
             (SELECT id FROM conversations WHERE connector_id = ?)",
            "DELETE FROM conversations WHERE connector_id = ?",
            "DELETE FROM homes WHERE connector_id = ?",
        ] {
            let done = sqlx::query(forget).bind(id.number()).execute(&mut *tx).await;
            done.tried("forget the conversations of a connector")?;
        }
        let gone: Option<(String, String)> =
            sqlx::query_as("DELETE FROM connectors WHERE id = ? RETURNING surface, account")
                .bind(id.number())
                .fetch_optional(&mut *tx)
                .await
                .tried("remove a connector")?;
        let (surface, account) = gone.ok_or_else(|| not_found("connector", id))?;
        let entry = audit::Entry::new(actor, "connector.rm", format!("{surface} {account}"));
        audit::record(&mut tx, self.store.clock.now_ms(), entry).await?;
        tx.commit().await.tried("remove a connector")
    }

    /// Moves a connector's position; everything before it must be stored by now.
    pub async fn set_position(&self, id: ConnectorId, position: &str) -> Result<(), StoreError> {
        let mut tx = self.store.begin_one().await?;
        sqlx::query("UPDATE connectors SET position = ? WHERE id = ?")
            .bind(position)
            .bind(id.number())
            .execute(&mut *tx)
            .await
            .tried("keep how far a connector has read")?;
        tx.commit().await.tried("keep how far a connector has read")
    }

    /// A stranger was not told after all.
    pub async fn forget_stranger(
        &self,
        surface: &str,
        external_id: &str,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.begin_one().await?;
        sqlx::query("DELETE FROM strangers WHERE surface = ? AND external_id = ?")
            .bind(surface)
            .bind(external_id)
            .execute(&mut *tx)
            .await
            .tried("forget a stranger")?;
        tx.commit().await.tried("forget a stranger")
    }

    /// Whether a stranger is to be told that they are not known: they were not, for this long.
    pub async fn tell_stranger(
        &self,
        (surface, external_id): (&str, &str),
        every_ms: i64,
    ) -> Result<bool, StoreError> {
        let now = self.store.clock.now_ms();
        // Most of what a stranger writes finds that they were told: that costs no write.
        let told_at: Option<i64> = sqlx::query_scalar(
            "SELECT told_at FROM strangers WHERE surface = ? AND external_id = ?",
        )
        .bind(surface)
        .bind(external_id)
        .fetch_optional(self.store.reader())
        .await
        .tried("look for a stranger")?;
        // A time that is still to come was told by a clock that went back since.
        if told_at.is_some_and(|at| at > now.saturating_sub(every_ms) && at <= now) {
            return Ok(false);
        }
        let mut tx = self.store.begin().await?;
        // One after the other from here on: what another has just told is not told in a time to come.
        let now = self.store.clock.now_ms();
        // Who was told longer ago would be told again: nothing is lost with them.
        sqlx::query("DELETE FROM strangers WHERE told_at < ?1 - ?2")
            .bind(now)
            .bind(every_ms)
            .execute(&mut *tx)
            .await
            .tried("forget strangers")?;
        let told = sqlx::query(
            "INSERT INTO strangers (surface, external_id, told_at) VALUES (?1, ?2, ?3) \
             ON CONFLICT DO UPDATE SET told_at = ?3 WHERE told_at <= ?3 - ?4 OR told_at > ?3",
        )
        .bind(surface)
        .bind(external_id)
        .bind(now)
        .bind(every_ms)
        .execute(&mut *tx)
        .await
        .tried("remember a stranger")?;
        tx.commit().await.tried("remember a stranger")?;
        Ok(told.rows_affected() == 1)
    }
}

#[cfg(test)]
#[path = "connectors_tests.rs"]
mod tests;
