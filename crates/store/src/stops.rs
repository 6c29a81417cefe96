//! Emergency stops: who stopped everything, since when, and who let it go on.

use crate::actor::Actor;
use crate::audit;
use crate::db::Tx;
use crate::error::{StoreError, Tried};
use crate::pulse::Platform;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    pub id: i64,
    pub stopped_by: String,
    pub reason: String,
    pub stopped_at: i64,
}

from_row!(Stop { id, stopped_by, reason, stopped_at });

/// What became of a stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    Now(Stop),
    /// It was in force already; that one stays as it is.
    Before(Stop),
}

const OPEN: &str = "SELECT id, stopped_by, reason, stopped_at FROM stops WHERE released_at IS NULL";

async fn open(tx: &mut Tx) -> Result<Option<Stop>, StoreError> {
    sqlx::query_as(OPEN).fetch_optional(tx).await.tried("look whether all is stopped")
}

impl Platform {
    /// The stop that is in force.
    pub async fn open_stop(&self) -> Result<Option<Stop>, StoreError> {
        let open = sqlx::query_as(OPEN).fetch_optional(self.store.reader()).await;
        open.tried("look whether all is stopped")
    }

    /// Records that everything is stopped.
    pub async fn stop_all(&self, actor: &Actor, reason: &str) -> Result<Stopped, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        if let Some(before) = open(&mut tx).await? {
            return Ok(Stopped::Before(before));
        }
        let stop: Stop = sqlx::query_as(
            "INSERT INTO stops (stopped_by, reason, stopped_at) VALUES (?, ?, ?) \
             RETURNING id, stopped_by, reason, stopped_at",
        )
        .bind(actor.to_string())
        .bind(reason)
        .bind(now)
        .fetch_one(&mut *tx)
        .await
        .tried("stop everything")?;
        let entry = audit::Entry::new(actor, "platform.stop", format!("stop {}", stop.id));
        audit::record(&mut tx, now, entry.with(reason)).await?;
        tx.commit().await.tried("stop everything")?;
        Ok(Stopped::Now(stop))
    }

    /// Records that everything may go on; none if nothing was stopped.
    pub async fn release_all(&self, actor: &Actor) -> Result<Option<Stop>, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let Some(stop) = open(&mut tx).await? else { return Ok(None) };
        sqlx::query("UPDATE stops SET released_by = ?, released_at = ? WHERE id = ?")
            .bind(actor.to_string())
            .bind(now)
            .bind(stop.id)
            .execute(&mut *tx)
            .await
            .tried("release everything")?;
        let entry = audit::Entry::new(actor, "platform.release", format!("stop {}", stop.id));
        audit::record(&mut tx, now, entry).await?;
        tx.commit().await.tried("release everything")?;
        Ok(Some(stop))
    }
}

#[cfg(test)]
#[path = "stops_tests.rs"]
mod tests;
