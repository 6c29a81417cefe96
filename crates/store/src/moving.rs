//! Conversations that get another id on their surface: a group that its platform turned into another kind.

use crate::audit;
use crate::connectors::Connector;
use crate::conversations::ConversationId;
use crate::db::Store;
use crate::error::{StoreError, Tried};

impl Store {
    /// A conversation has another id from now on: the context that it is, and what is known of it and of its
    /// threads, follow. Says whether anything did; the same again changes nothing.
    pub async fn conversation_moved(
        &self,
        connector: &Connector,
        from: &str,
        to: &str,
    ) -> Result<bool, StoreError> {
        let mut tx = self.begin().await?;
        let context = sqlx::query(
            "UPDATE OR IGNORE contexts SET conversation = ?3 WHERE surface = ?1 AND conversation = ?2",
        )
        .bind(&connector.surface)
        .bind(from)
        .bind(to)
        .execute(&mut *tx)
        .await
        .tried("move a context")?;
        let known = sqlx::query(
            "UPDATE OR IGNORE conversations SET external_id = ?3 || substr(external_id, length(?2) + 1), \
                broken = NULL \
             WHERE connector_id = ?1 AND (external_id = ?2 OR substr(external_id, 1, length(?2) + 1) = ?2 || '/')",
        )
        .bind(connector.id.number())
        .bind(from)
        .bind(to)
        .execute(&mut *tx)
        .await
        .tried("move a conversation")?;
        let moved = context.rows_affected() + known.rows_affected() > 0;
        if moved {
            let subject = format!("{} {from}", connector.surface);
            let entry = audit::Entry::new("control", "conversation.moved", subject).with(to);
            audit::record(&mut tx, self.clock.now_ms(), entry).await?;
        }
        tx.commit().await.tried("move a conversation")?;
        Ok(moved)
    }
}

impl Store {
    /// A room that was made for its chat is no more: another one is to be made. What is still to be told waits
    /// for it; what was posted is gone.
    pub async fn make_anew(&self, id: ConversationId) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        for anew in [
            "DELETE FROM posts WHERE conversation = ?",
            "UPDATE conversations SET external_id = NULL, broken = NULL, shown_title = NULL, \
             shown_archived = 0 WHERE id = ? AND kind = 'room'",
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
