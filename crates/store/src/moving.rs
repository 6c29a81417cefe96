//! Conversations that get another id on their surface: a group that its platform turned into another kind.

use crate::actor::Actor;
use crate::audit;
use crate::connectors::Connector;
use crate::conversations::ConversationId;
use crate::conversations::Conversations;
use crate::db::Tx;
use crate::error::{StoreError, Tried};

impl Conversations {
    /// A conversation has another id from now on: the context that it is, what is known of it and of its
    /// threads, and what waits in them, follow. Says whether anything known did; the same again changes nothing.
    /// What is another context already stays that: then only what waits follows, and is heard there.
    pub async fn conversation_moved(
        &self,
        actor: &Actor,
        connector: &Connector,
        from: &str,
        to: &str,
    ) -> Result<bool, StoreError> {
        let mut tx = self.store.begin().await?;
        let contexts: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM contexts WHERE surface = ? AND conversation IN (?, ?)",
        )
        .bind(&connector.surface)
        .bind(from)
        .bind(to)
        .fetch_one(&mut *tx)
        .await
        .tried("look for contexts")?;
        let mut moved = 0;
        if contexts < 2 {
            moved += move_context(&mut tx, connector, from, to).await?;
            moved += move_known(&mut tx, connector, from, to).await?;
        }
        move_waiting(&mut tx, connector, from, to).await?;
        let moved = moved > 0;
        if moved {
            let subject = format!("{} {from}", connector.surface);
            let entry = audit::Entry::new(actor, "conversation.moved", subject).with(to);
            audit::record(&mut tx, self.store.clock.now_ms(), entry).await?;
        }
        tx.commit().await.tried("move a conversation")?;
        Ok(moved)
    }
}

async fn move_context(
    tx: &mut Tx,
    connector: &Connector,
    from: &str,
    to: &str,
) -> Result<u64, StoreError> {
    let moved = sqlx::query(
        "UPDATE OR IGNORE contexts SET conversation = ?3 WHERE surface = ?1 AND conversation = ?2",
    )
    .bind(&connector.surface)
    .bind(from)
    .bind(to)
    .execute(tx)
    .await
    .tried("move a context")?;
    Ok(moved.rows_affected())
}

async fn move_known(
    tx: &mut Tx,
    connector: &Connector,
    from: &str,
    to: &str,
) -> Result<u64, StoreError> {
    let moved = sqlx::query(
        "UPDATE OR IGNORE conversations SET external_id = ?3 || substr(external_id, length(?2) + 1), \
            broken = NULL \
         WHERE connector_id = ?1 AND (external_id = ?2 OR substr(external_id, 1, length(?2) + 1) = ?2 || '/')",
    )
    .bind(connector.id.number())
    .bind(from)
    .bind(to)
    .execute(tx)
    .await
    .tried("move a conversation")?;
    Ok(moved.rows_affected())
}

/// What waits is in the order in which it came, before what comes under the new id.
async fn move_waiting(
    tx: &mut Tx,
    connector: &Connector,
    from: &str,
    to: &str,
) -> Result<(), StoreError> {
    let moved = sqlx::query(
        "UPDATE OR IGNORE waiting_events SET place = ?3 || substr(place, length(?2) + 1) \
         WHERE connector_id = ?1 AND (place = ?2 OR substr(place, 1, length(?2) + 1) = ?2 || '/')",
    )
    .bind(connector.id.number())
    .bind(from)
    .bind(to)
    .execute(tx)
    .await;
    moved.tried("move what waits in a conversation").map(drop)
}

impl Conversations {
    /// A room that was made for its chat is no more: another one is to be made. What is still to be told waits
    /// for it; what was posted is gone.
    pub async fn make_anew(&self, id: ConversationId) -> Result<(), StoreError> {
        let mut tx = self.store.begin().await?;
        for anew in [
            "DELETE FROM posts WHERE conversation = ?",
            "UPDATE conversations SET external_id = NULL, broken = NULL, shown_title = NULL, \
             shown_archived = 0, shown_at = NULL WHERE id = ? AND kind = 'room'",
        ] {
            let done = sqlx::query(anew).bind(id.number()).execute(&mut *tx).await;
            done.tried("have a conversation made anew")?;
        }
        tx.commit().await.tried("have a conversation made anew")
    }
}

#[cfg(test)]
#[path = "moving_tests.rs"]
mod tests;
