//! Posts: what was sent to a surface, or is about to be, one row per message there.
//!
//! A post is written down before it is sent. After a kill it is known that something may have got there, and
//! the surface decides by its key whether it did.

use cloister_protocol::ApprovalId;

use crate::connectors::ConnectorId;
use crate::conversations::ConversationId;
use crate::error::{StoreError, Tried};
use crate::outbox::Outbox;
use crate::outbox::{self, OutboxItem};

/// A message on a surface, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    pub key: String,
    /// The row it tells, if it is one.
    pub outbox_id: Option<i64>,
    /// None: it is not known whether it got there.
    pub external_id: Option<String>,
}

from_row!(Post { key, outbox_id, external_id });

/// The key of the message that asks the question of an outbox row.
pub fn question_key(outbox_id: i64) -> String {
    format!("o{outbox_id}/q")
}

/// The key of the edit that shows how a question was settled.
pub fn settled_key(question_key: &str) -> String {
    format!("{question_key}/settled")
}

/// The newest questions that are looked at for one whose message does not say yet how it was settled.
const QUESTIONS_LOOKED_AT: i64 = 500;

/// The keys are those of `question_key` and `settled_key`.
const TO_SETTLE: &str = "\
    SELECT o.conversation, a.id \
    FROM (SELECT id, workspace_id FROM approvals WHERE state <> 'pending' ORDER BY id DESC LIMIT ?2) a \
    JOIN outbox o ON o.workspace_id = a.workspace_id AND o.turn = 'ask-A' || a.id \
    JOIN conversations c ON c.id = o.conversation AND c.connector_id = ?1 AND c.broken IS NULL \
    JOIN posts p ON p.conversation = c.id AND p.key = 'o' || o.id || '/q' AND p.external_id IS NOT NULL \
    WHERE NOT EXISTS (SELECT 1 FROM posts s WHERE s.conversation = c.id \
                      AND s.key = 'o' || o.id || '/q/settled' AND s.external_id IS NOT NULL) \
    ORDER BY a.id";

impl Outbox {
    /// Conversations of a connector that something is to be told in, who waits longest first.
    pub async fn conversations_to_tell(
        &self,
        connector: ConnectorId,
    ) -> Result<Vec<ConversationId>, StoreError> {
        let ids: Vec<i64> = sqlx::query_scalar(
            "SELECT o.conversation FROM outbox o JOIN conversations c ON c.id = o.conversation \
             WHERE c.connector_id = ? AND c.broken IS NULL AND c.external_id IS NOT NULL \
               AND o.delivered_at IS NULL AND o.conversation IS NOT NULL \
             GROUP BY o.conversation ORDER BY min(o.id)",
        )
        .bind(connector.number())
        .fetch_all(self.store.reader())
        .await
        .tried("list conversations with something to tell")?;
        Ok(ids.into_iter().map(ConversationId::from_number).collect())
    }

    /// How many rows wait to be told in conversations of a connector.
    pub async fn waiting_to_be_told(&self, connector: ConnectorId) -> Result<u64, StoreError> {
        let waiting: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM outbox o JOIN conversations c ON c.id = o.conversation \
             WHERE c.connector_id = ? AND o.delivered_at IS NULL AND o.conversation IS NOT NULL",
        )
        .bind(connector.number())
        .fetch_one(self.store.reader())
        .await
        .tried("count what is to be told")?;
        Ok(waiting.unsigned_abs())
    }

    /// What is to be told in a conversation, in order.
    pub async fn to_tell(
        &self,
        conversation: ConversationId,
    ) -> Result<Vec<OutboxItem>, StoreError> {
        let rows: Vec<outbox::Row> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "{} WHERE conversation = ? AND delivered_at IS NULL ORDER BY id LIMIT 100",
            outbox::SELECT
        )))
        .bind(conversation.number())
        .fetch_all(self.store.reader())
        .await
        .tried("list what is to be told")?;
        rows.into_iter().map(outbox::Row::into_item).collect()
    }

    /// Whether a row is still to be told in a conversation: it was not taken back, nor is it told elsewhere.
    pub async fn is_to_tell(
        &self,
        conversation: ConversationId,
        row: i64,
    ) -> Result<bool, StoreError> {
        sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM outbox \
             WHERE id = ? AND conversation = ? AND delivered_at IS NULL)",
        )
        .bind(row)
        .bind(conversation.number())
        .fetch_one(self.store.reader())
        .await
        .tried("find whether a row is to be told")
    }

    /// What the surface wanted to know again when the message behind a turn is answered, and where it was
    /// written.
    pub async fn origin_of_turn(
        &self,
        inbox_id: i64,
    ) -> Result<Option<(Option<ConversationId>, Option<String>)>, StoreError> {
        let found: Option<(Option<i64>, Option<String>)> =
            sqlx::query_as("SELECT conversation, origin FROM inbox WHERE id = ?")
                .bind(inbox_id)
                .fetch_optional(self.store.reader())
                .await
                .tried("find where a message was written")?;
        Ok(found.map(|(id, origin)| (id.map(ConversationId::from_number), origin)))
    }

    /// Writes down that something is about to be posted; answers with what is known of it from before.
    pub async fn begin_post(
        &self,
        conversation: ConversationId,
        key: &str,
        outbox_id: Option<i64>,
    ) -> Result<Option<Post>, StoreError> {
        let mut tx = self.store.begin().await?;
        let before: Option<Post> = sqlx::query_as(
            "SELECT key, outbox_id, external_id FROM posts WHERE conversation = ? AND key = ?",
        )
        .bind(conversation.number())
        .bind(key)
        .fetch_optional(&mut *tx)
        .await
        .tried("look for a post")?;
        sqlx::query(
            "INSERT INTO posts (conversation, key, outbox_id, created_at) VALUES (?, ?, ?, ?) \
             ON CONFLICT DO UPDATE SET outbox_id = coalesce(outbox_id, excluded.outbox_id)",
        )
        .bind(conversation.number())
        .bind(key)
        .bind(outbox_id)
        .bind(self.store.clock.now_ms())
        .execute(&mut *tx)
        .await
        .tried("write a post down")?;
        tx.commit().await.tried("write a post down")?;
        Ok(before)
    }

    /// It got there.
    pub async fn finish_post(
        &self,
        conversation: ConversationId,
        key: &str,
        external_id: &str,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.begin_one().await?;
        sqlx::query("UPDATE posts SET external_id = ? WHERE conversation = ? AND key = ?")
            .bind(external_id)
            .bind(conversation.number())
            .bind(key)
            .execute(&mut *tx)
            .await
            .tried("keep where a post is")?;
        tx.commit().await.tried("keep where a post is")
    }

    pub async fn post(
        &self,
        conversation: ConversationId,
        key: &str,
    ) -> Result<Option<Post>, StoreError> {
        sqlx::query_as(
            "SELECT key, outbox_id, external_id FROM posts WHERE conversation = ? AND key = ?",
        )
        .bind(conversation.number())
        .bind(key)
        .fetch_optional(self.store.reader())
        .await
        .tried("find a post")
    }

    /// Since when, in Unix milliseconds, it is not known whether a post got there; none: it is known, or nothing
    /// was tried.
    pub async fn in_doubt_since(
        &self,
        conversation: ConversationId,
        key: &str,
    ) -> Result<Option<i64>, StoreError> {
        sqlx::query_scalar(
            "SELECT created_at FROM posts WHERE conversation = ? AND key = ? AND external_id IS NULL",
        )
        .bind(conversation.number())
        .bind(key)
        .fetch_optional(self.store.reader())
        .await
        .tried("find since when a post is in doubt")
    }

    /// Whether a message on a surface is known as one of ours.
    pub async fn is_posted(
        &self,
        conversation: ConversationId,
        external_id: &str,
    ) -> Result<bool, StoreError> {
        sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM posts WHERE conversation = ? AND external_id = ?)",
        )
        .bind(conversation.number())
        .bind(external_id)
        .fetch_one(self.store.reader())
        .await
        .tried("find a post")
    }

    /// Takes back what `begin_post` wrote down: it is known that nothing got there.
    pub async fn forget_post(
        &self,
        conversation: ConversationId,
        key: &str,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.begin_one().await?;
        sqlx::query("DELETE FROM posts WHERE conversation = ? AND key = ? AND external_id IS NULL")
            .bind(conversation.number())
            .bind(key)
            .execute(&mut *tx)
            .await
            .tried("forget a post")?;
        tx.commit().await.tried("forget a post")
    }

    /// Questions that are settled, in conversations of a connector whose message does not say so yet.
    pub async fn questions_to_settle(
        &self,
        connector: ConnectorId,
    ) -> Result<Vec<(ConversationId, ApprovalId)>, StoreError> {
        let rows: Vec<(i64, u32)> = sqlx::query_as(TO_SETTLE)
            .bind(connector.number())
            .bind(QUESTIONS_LOOKED_AT)
            .fetch_all(self.store.reader())
            .await
            .tried("list questions that were settled")?;
        let ids = |(conversation, approval)| {
            (ConversationId::from_number(conversation), ApprovalId::from_number(approval))
        };
        Ok(rows.into_iter().map(ids).collect())
    }

    /// Messages that were written in conversations of a connector and have no answer yet: where, and their
    /// inbox rows.
    pub async fn awaited_answers(
        &self,
        connector: ConnectorId,
    ) -> Result<Vec<(ConversationId, i64)>, StoreError> {
        let rows: Vec<(i64, i64)> = sqlx::query_as(
            "SELECT c.id, i.id FROM inbox i JOIN conversations c ON c.id = i.conversation \
             WHERE i.state <> 'answered' AND c.connector_id = ? AND c.broken IS NULL ORDER BY i.id",
        )
        .bind(connector.number())
        .fetch_all(self.store.reader())
        .await
        .tried("list messages without an answer")?;
        Ok(rows.into_iter().map(|(id, row)| (ConversationId::from_number(id), row)).collect())
    }

    /// The outbox row that a message on a surface tells, if it is one of ours.
    pub async fn told_by(
        &self,
        conversation: ConversationId,
        external_id: &str,
    ) -> Result<Option<OutboxItem>, StoreError> {
        let row: Option<outbox::Row> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "{} WHERE id = (SELECT outbox_id FROM posts WHERE conversation = ? AND external_id = ? \
             AND outbox_id IS NOT NULL LIMIT 1)",
            outbox::SELECT
        )))
        .bind(conversation.number())
        .bind(external_id)
        .fetch_optional(self.store.reader())
        .await
        .tried("find what a message tells")?;
        row.map(outbox::Row::into_item).transpose()
    }
}

#[cfg(test)]
#[path = "posts_tests.rs"]
mod tests;
