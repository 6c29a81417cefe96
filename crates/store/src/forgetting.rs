//! Forgetting conversations: what is known of them goes, and what was still to be told is told elsewhere. The chats
//! stay.

use cloister_protocol::UserId;

use crate::actor::Actor;
use crate::audit;
use crate::connectors::ConnectorId;
use crate::conversations::ConversationId;
use crate::conversations::Conversations;
use crate::customs;
use crate::db::Tx;
use crate::error::{StoreError, Tried};

/// The conversations that a person and the agent share over an account (?3 on ?2 of the user ?1) that is theirs no
/// more. Where ids of conversations begin with the account, those of their other accounts there stay; elsewhere
/// nobody knows which account a conversation is with. What is not made yet goes with the home it was to be in.
const OF_ACCOUNT: &str = "\
    SELECT c.id FROM conversations c JOIN connectors ON connectors.id = c.connector_id \
    WHERE connectors.surface = ?2 AND c.user_id = ?1 AND c.kind IN ('room', 'lobby') \
      AND NOT EXISTS (SELECT 1 FROM identities i \
        WHERE i.user_id = ?1 AND i.surface = ?2 AND i.external_id <> ?3 \
          AND (c.external_id = i.external_id \
            OR substr(c.external_id, 1, length(i.external_id) + 1) = i.external_id || '/' \
            OR c.external_id IS NULL AND EXISTS (SELECT 1 FROM homes h \
               WHERE h.connector_id = c.connector_id AND h.user_id = ?1 AND h.external_id = i.external_id)))";

const HOMES_OF_ACCOUNT: &str = "\
    DELETE FROM homes WHERE user_id = ?1 \
      AND connector_id IN (SELECT id FROM connectors WHERE surface = ?2) \
      AND external_id NOT IN (SELECT external_id FROM identities \
                              WHERE user_id = ?1 AND surface = ?2 AND external_id <> ?3)";

impl Conversations {
    /// Forgets a conversation. The chat stays.
    pub async fn forget_conversation(&self, id: ConversationId) -> Result<(), StoreError> {
        let mut tx = self.store.begin().await?;
        forget(&mut tx, id.number()).await?;
        tx.commit().await.tried("forget a conversation")
    }

    /// Forgets everything that is known of a connector's conversations and homes. The chats stay.
    pub async fn forget_conversations(
        &self,
        actor: &Actor,
        connector: ConnectorId,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.begin().await?;
        for forget in [
            "UPDATE chats SET last_conversation = NULL WHERE last_conversation IN \
             (SELECT id FROM conversations WHERE connector_id = ?)",
            "DELETE FROM outbox WHERE delivered_at IS NULL AND turn LIKE 'hub-%' AND conversation IN \
             (SELECT id FROM conversations WHERE connector_id = ?)",
            "UPDATE outbox SET conversation = NULL WHERE delivered_at IS NULL AND conversation IN \
             (SELECT id FROM conversations WHERE connector_id = ?)",
            "DELETE FROM posts WHERE conversation IN \
             (SELECT id FROM conversations WHERE connector_id = ?)",
            "DELETE FROM conversations WHERE connector_id = ?",
            "DELETE FROM homes WHERE connector_id = ?",
        ] {
            let done = sqlx::query(forget).bind(connector.number()).execute(&mut *tx).await;
            done.tried("forget the conversations of a connector")?;
        }
        let entry = audit::Entry::new(actor, "connector.reset", connector);
        audit::record(&mut tx, self.store.clock.now_ms(), entry).await?;
        tx.commit().await.tried("forget the conversations of a connector")
    }
}

/// Forgets one conversation, as part of something greater.
async fn forget(tx: &mut Tx, id: i64) -> Result<(), StoreError> {
    unsay(tx, id).await?;
    for forget in [
        "UPDATE chats SET last_conversation = NULL WHERE last_conversation = ?",
        "UPDATE outbox SET conversation = NULL WHERE delivered_at IS NULL AND conversation = ?",
        "UPDATE inbox SET conversation = NULL, origin = NULL WHERE conversation = ?",
        "DELETE FROM posts WHERE conversation = ?",
        "DELETE FROM conversations WHERE id = ?",
    ] {
        let done = sqlx::query(forget).bind(id).execute(&mut *tx).await;
        done.tried("forget a conversation")?;
    }
    Ok(())
}

/// What was to be told in a conversation as an admin hub is told nowhere: it was for who runs things, and is
/// nobody else's.
pub(crate) async fn unsay(tx: &mut Tx, hub: i64) -> Result<(), StoreError> {
    sqlx::query(
        "DELETE FROM outbox WHERE conversation = ? AND delivered_at IS NULL AND turn LIKE 'hub-%'",
    )
    .bind(hub)
    .execute(&mut *tx)
    .await
    .tried("take back what an admin hub was to be told")?;
    Ok(())
}

/// Forgets what a person and the agent share over an account that is theirs no more.
pub(crate) async fn forget_account(
    tx: &mut Tx,
    user: UserId,
    (surface, external_id): (&str, &str),
) -> Result<(), StoreError> {
    // There the connector itself tells nothing while somebody reads whom it is not for.
    if customs::of(&mut *tx, surface).await?.sees_readers {
        return Ok(());
    }
    let shared: Vec<i64> = sqlx::query_scalar(OF_ACCOUNT)
        .bind(user.number())
        .bind(surface)
        .bind(external_id)
        .fetch_all(&mut *tx)
        .await
        .tried("find the conversations of an account")?;
    for id in shared {
        forget(tx, id).await?;
    }
    sqlx::query(HOMES_OF_ACCOUNT)
        .bind(user.number())
        .bind(surface)
        .bind(external_id)
        .execute(&mut *tx)
        .await
        .tried("forget the homes of an account")?;
    Ok(())
}

#[cfg(test)]
#[path = "forgetting_tests.rs"]
mod tests;
