//! Buttons on messages of ours: kept as hashes of their tokens, bound to one conversation, used once.
//!
//! A button is found by the hash of its token, so how long a look-up takes says nothing about any token.

use cloister_protocol::UserId;
use sha2::{Digest, Sha256};

use crate::conversations::ConversationId;
use crate::error::{StoreError, Tried};
use crate::inbox::Inbox;

/// How long a button that expired is still known as such, in milliseconds.
const REMEMBERED_MS: i64 = 7 * 24 * 60 * 60 * 1000;
/// Buttons of one conversation that are kept; the oldest give way.
const MOST_KEPT: i64 = 2_000;

/// The hash under which a button is kept.
pub fn button_hash(token: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(b"cloister button\0");
    hash.update(token.as_bytes());
    hex::encode(hash.finalize())
}

/// A button, as it was handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptButton {
    pub conversation: ConversationId,
    /// Who alone may press it; none: whoever the policies let.
    pub user: Option<UserId>,
    /// What pressing it does, as it was handed in.
    pub press: String,
    pub expires_at: i64,
    pub used_at: Option<i64>,
}

/// What is handed out together.
#[derive(Clone, Debug)]
pub struct NewButtons<'a> {
    pub conversation: ConversationId,
    pub user: Option<UserId>,
    /// The hash of each token, what pressing it does, and until when (Unix milliseconds).
    pub buttons: &'a [(String, String, i64)],
}

struct Row {
    conversation: i64,
    user_id: Option<u32>,
    press: String,
    expires_at: i64,
    used_at: Option<i64>,
}

from_row!(Row { conversation, user_id, press, expires_at, used_at });

impl From<Row> for KeptButton {
    fn from(row: Row) -> Self {
        Self {
            conversation: ConversationId::from_number(row.conversation),
            user: row.user_id.map(UserId::from_number),
            press: row.press,
            expires_at: row.expires_at,
            used_at: row.used_at,
        }
    }
}

impl Inbox {
    /// Keeps buttons that are about to be shown; old ones give way.
    pub async fn keep_buttons(&self, new: &NewButtons<'_>) -> Result<(), StoreError> {
        let what = "keep buttons";
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        sqlx::query(
            "DELETE FROM buttons WHERE expires_at <= ?1 OR hash IN (SELECT hash FROM buttons \
             WHERE conversation = ?2 ORDER BY created_at DESC LIMIT -1 OFFSET ?3)",
        )
        .bind(now.saturating_sub(REMEMBERED_MS))
        .bind(new.conversation.number())
        .bind(MOST_KEPT)
        .execute(&mut *tx)
        .await
        .tried("drop old buttons")?;
        for (hash, press, expires_at) in new.buttons {
            sqlx::query(
                "INSERT INTO buttons (hash, conversation, user_id, press, created_at, expires_at) \
                 VALUES (?, ?, ?, ?, ?, ?)",
            )
            .bind(hash)
            .bind(new.conversation.number())
            .bind(new.user.map(UserId::number))
            .bind(press)
            .bind(now)
            .bind(expires_at)
            .execute(&mut *tx)
            .await
            .tried(what)?;
        }
        tx.commit().await.tried(what)
    }

    /// A button by the hash of its token, also if it was used or has expired.
    pub async fn button(&self, hash: &str) -> Result<Option<KeptButton>, StoreError> {
        let row: Option<Row> = sqlx::query_as(
            "SELECT conversation, user_id, press, expires_at, used_at FROM buttons WHERE hash = ?",
        )
        .bind(hash)
        .fetch_optional(self.store.reader())
        .await
        .tried("look up a button")?;
        Ok(row.map(KeptButton::from))
    }

    /// Uses a button up; false if it was used before or has expired.
    pub async fn use_button(&self, hash: &str) -> Result<bool, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin_one().await?;
        let used = sqlx::query(
            "UPDATE buttons SET used_at = ?1 WHERE hash = ?2 AND used_at IS NULL AND expires_at > ?1",
        )
        .bind(now)
        .bind(hash)
        .execute(&mut *tx)
        .await
        .tried("use up a button")?;
        tx.commit().await.tried("use up a button")?;
        Ok(used.rows_affected() == 1)
    }
}

#[cfg(test)]
#[path = "buttons_tests.rs"]
mod tests;
