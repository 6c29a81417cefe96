//! Events on a surface that could not be taken yet, in the order in which they came.
//!
//! A row is written before the position moves past its event, and removed after the event is stored as a
//! message or given up.

pub use cloister_protocol::surface::{WaitingEvent, WhyWaiting};

use crate::connectors::ConnectorId;
use crate::error::{StoreError, Tried, corrupt};
use crate::inbox::Inbox;

/// How many events that can be read may wait in one room, and how many that can't be.
pub const MOST_WAITING: i64 = 200;
/// How many rows are looked at in one go.
const MOST_LISTED: i64 = 2_000;

/// An event that is to wait.
#[derive(Clone, Copy, Debug)]
pub struct ToWait<'a> {
    pub connector: ConnectorId,
    pub place: &'a str,
    pub event: &'a str,
    pub why: WhyWaiting,
    pub sealed: Option<&'a str>,
}

struct Row {
    id: i64,
    place: String,
    event: String,
    why: String,
    sealed: Option<String>,
    since: i64,
    told: bool,
}

from_row!(Row { id, place, event, why, sealed, since, told });

impl Row {
    fn into_event(self) -> Result<WaitingEvent, StoreError> {
        let why = WhyWaiting::ALL.into_iter().find(|why| why.as_str() == self.why);
        Ok(WaitingEvent {
            id: self.id,
            place: self.place,
            event: self.event,
            why: why.ok_or_else(|| corrupt("reason to wait", &self.why))?,
            sealed: self.sealed,
            since: self.since,
            told: self.told,
        })
    }
}

impl Inbox {
    /// Keeps an event for later; false: too many wait there already. One that waits keeps its place.
    pub async fn let_wait(&self, event: ToWait<'_>) -> Result<bool, StoreError> {
        let mut tx = self.store.begin().await?;
        let kept = sqlx::query(
            "INSERT INTO waiting_events (connector_id, place, event, why, sealed, since) \
             SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE (SELECT count(*) FROM waiting_events \
               WHERE connector_id = ?1 AND place = ?2 AND event <> ?3 \
                 AND (why = 'key') = (?4 = 'key')) < ?7 \
             ON CONFLICT (connector_id, place, event) DO UPDATE SET why = excluded.why",
        )
        .bind(event.connector.number())
        .bind(event.place)
        .bind(event.event)
        .bind(event.why.as_str())
        .bind(event.sealed)
        .bind(self.store.clock.now_ms())
        .bind(MOST_WAITING)
        .execute(&mut *tx)
        .await
        .tried("keep an event for later")?;
        tx.commit().await.tried("keep an event for later")?;
        Ok(kept.rows_affected() == 1)
    }

    /// What waits, oldest first.
    pub async fn waiting_events(
        &self,
        connector: ConnectorId,
        place: &str,
    ) -> Result<Vec<WaitingEvent>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT id, place, event, why, sealed, since, told FROM waiting_events \
             WHERE connector_id = ? AND place = ? ORDER BY why = 'key', id LIMIT ?",
        )
        .bind(connector.number())
        .bind(place)
        .bind(MOST_LISTED)
        .fetch_all(self.store.reader())
        .await
        .tried("list events that wait")?;
        rows.into_iter().map(Row::into_event).collect()
    }

    /// Where something waits that can be read; `unreadable`: or that can't yet, after those.
    pub async fn waiting_places(
        &self,
        connector: ConnectorId,
        unreadable: bool,
    ) -> Result<Vec<String>, StoreError> {
        sqlx::query_scalar(
            "SELECT place FROM waiting_events WHERE connector_id = ? AND (? OR why <> 'key') \
             GROUP BY place ORDER BY min(CASE WHEN why = 'key' THEN 1 ELSE 0 END), min(id) LIMIT ?",
        )
        .bind(connector.number())
        .bind(unreadable)
        .bind(MOST_LISTED)
        .fetch_all(self.store.reader())
        .await
        .tried("list where events wait")
    }

    /// The first of what waits in one place and can be read, oldest first.
    pub async fn first_waiting(
        &self,
        connector: ConnectorId,
        place: &str,
        most: u32,
    ) -> Result<Vec<WaitingEvent>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT id, place, event, why, sealed, since, told FROM waiting_events \
             WHERE connector_id = ? AND place = ? AND why <> 'key' ORDER BY id LIMIT ?",
        )
        .bind(connector.number())
        .bind(place)
        .bind(most)
        .fetch_all(self.store.reader())
        .await
        .tried("list events that wait")?;
        rows.into_iter().map(Row::into_event).collect()
    }

    /// Whether something waits there that can be read: what comes after it must wait as well.
    pub async fn waits_in(&self, connector: ConnectorId, place: &str) -> Result<bool, StoreError> {
        sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM waiting_events \
             WHERE connector_id = ? AND place = ? AND why <> 'key')",
        )
        .bind(connector.number())
        .bind(place)
        .fetch_one(self.store.reader())
        .await
        .tried("look for events that wait")
    }

    /// An event that waits, as it came; none: it waits no more, or was not encrypted.
    pub async fn sealed_event(
        &self,
        connector: ConnectorId,
        id: i64,
    ) -> Result<Option<String>, StoreError> {
        let sealed: Option<Option<String>> = sqlx::query_scalar(
            "SELECT sealed FROM waiting_events WHERE id = ? AND connector_id = ?",
        )
        .bind(id)
        .bind(connector.number())
        .fetch_optional(self.store.reader())
        .await
        .tried("read an event that waits")?;
        Ok(sealed.flatten())
    }

    /// The person knows that this one waits.
    pub async fn told_that_it_waits(
        &self,
        connector: ConnectorId,
        id: i64,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.begin_one().await?;
        sqlx::query("UPDATE waiting_events SET told = 1 WHERE id = ? AND connector_id = ?")
            .bind(id)
            .bind(connector.number())
            .execute(&mut *tx)
            .await
            .tried("mark an event that waits")?;
        tx.commit().await.tried("mark an event that waits")
    }

    /// It waits no longer: it is stored, or given up.
    pub async fn stop_waiting(
        &self,
        connector: ConnectorId,
        place: &str,
        event: &str,
    ) -> Result<bool, StoreError> {
        let mut tx = self.store.begin_one().await?;
        let gone = sqlx::query(
            "DELETE FROM waiting_events WHERE connector_id = ? AND place = ? AND event = ?",
        )
        .bind(connector.number())
        .bind(place)
        .bind(event)
        .execute(&mut *tx)
        .await
        .tried("forget an event that waited")?;
        tx.commit().await.tried("forget an event that waited")?;
        Ok(gone.rows_affected() == 1)
    }
}

#[cfg(test)]
#[path = "waiting_tests.rs"]
mod tests;
