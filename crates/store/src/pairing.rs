//! Pairing codes: short, single use, soon expired, kept as hashes.
//!
//! A code is found by its hash, so how long a look-up takes says nothing about any code.

use cloister_protocol::UserId;
use sha2::{Digest, Sha256};

use crate::actor::Actor;
use crate::audit;
use crate::error::{StoreError, Tried};
use crate::identities::{self, Account};
use crate::outbox::OutboxItem;
use crate::roles::Concerned;
use crate::users::Users;
use crate::{persons, roles};

/// Codes of one account that are good at the same time; the oldest gives way.
const MOST_LIVE: i64 = 3;

/// The hash under which a code is kept.
pub fn code_hash(code: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(b"cloister pairing\0");
    hash.update(code.as_bytes());
    hex::encode(hash.finalize())
}

/// Who asked to be paired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairing {
    pub account: Account,
    pub expires_at: i64,
}

/// A role that goes with an account, and whom it concerns.
#[derive(Clone, Copy, Debug)]
pub struct WithRole<'a> {
    pub role: &'a str,
    pub scope: &'a str,
    pub concerned: &'a [Concerned],
}

/// What became of a code.
#[derive(Clone, Debug)]
pub enum Redeemed {
    /// It is wrong, used or expired.
    Wrong,
    Linked {
        pairing: Pairing,
        /// The person was never here before.
        newcomer: bool,
        /// What is told of a role that was given with it.
        told: Vec<OutboxItem>,
    },
    /// Nothing was done: the person must say yes first.
    MustAsk(Pairing),
}

struct Row {
    surface: String,
    external_id: String,
    display_name: String,
    expires_at: i64,
}

from_row!(Row { surface, external_id, display_name, expires_at });

impl From<Row> for Pairing {
    fn from(row: Row) -> Self {
        let Row { surface, external_id, display_name, expires_at } = row;
        Self { account: Account { surface, external_id, display_name }, expires_at }
    }
}

impl Users {
    pub async fn add_pairing(
        &self,
        hash: &str,
        account: &Account,
        expires_at: i64,
    ) -> Result<(), StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        sqlx::query(
            "DELETE FROM pairing_codes WHERE expires_at <= ?1 OR hash IN (SELECT hash FROM pairing_codes \
             WHERE surface = ?2 AND external_id = ?3 ORDER BY created_at DESC LIMIT -1 OFFSET ?4)",
        )
        .bind(now)
        .bind(&account.surface)
        .bind(&account.external_id)
        .bind(MOST_LIVE - 1)
        .execute(&mut *tx)
        .await
        .tried("drop old pairing codes")?;
        sqlx::query(
            "INSERT INTO pairing_codes (hash, surface, external_id, display_name, created_at, expires_at) \
             VALUES (?, ?, ?, ?, ?, ?)",
        )
        .bind(hash)
        .bind(&account.surface)
        .bind(&account.external_id)
        .bind(&account.display_name)
        .bind(now)
        .bind(expires_at)
        .execute(&mut *tx)
        .await
        .tried("keep a pairing code")?;
        tx.commit().await.tried("keep a pairing code")
    }

    /// Whose code this is; it stays good.
    pub async fn pairing(&self, hash: &str) -> Result<Option<Pairing>, StoreError> {
        let row: Option<Row> = sqlx::query_as(
            "SELECT surface, external_id, display_name, expires_at FROM pairing_codes \
             WHERE hash = ? AND expires_at > ?",
        )
        .bind(hash)
        .bind(self.store.clock.now_ms())
        .fetch_optional(self.store.reader())
        .await
        .tried("look up a pairing code")?;
        Ok(row.map(Pairing::from))
    }

    /// Uses the code up: links its account to the user and gives them the role, all at once. Unless who does it
    /// is `sure`, only an account of somebody who was never here is linked so; for anybody else the code stays
    /// good, and they are to be asked.
    pub async fn redeem_pairing(
        &self,
        actor: &Actor,
        hash: &str,
        user: UserId,
        role: Option<WithRole<'_>>,
        sure: bool,
    ) -> Result<Redeemed, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let newcomer = persons::is_newcomer(&mut tx, user).await?;
        let row: Option<Row> = sqlx::query_as(
            "DELETE FROM pairing_codes WHERE hash = ? AND expires_at > ? \
             RETURNING surface, external_id, display_name, expires_at",
        )
        .bind(hash)
        .bind(now)
        .fetch_optional(&mut *tx)
        .await
        .tried("use up a pairing code")?;
        let Some(pairing) = row.map(Pairing::from) else { return Ok(Redeemed::Wrong) };
        if !sure && !newcomer {
            return Ok(Redeemed::MustAsk(pairing));
        }
        identities::link(&mut tx, &pairing.account, user, (actor, now)).await?;
        if !sure {
            // Whoever made a link for somebody who was not here yet can't come in by it once they are.
            sqlx::query("DELETE FROM tokens WHERE user_id = ? AND kind = 'login'")
                .bind(user.number())
                .execute(&mut *tx)
                .await
                .tried("void login links")?;
        }
        let mut told = Vec::new();
        if let Some(WithRole { role, scope, concerned }) = role
            && roles::insert(&mut tx, user, (role, scope), (actor, now)).await?
        {
            let entry = audit::Entry::new(actor, "role.give", format!("{role}@{scope}"));
            told = roles::changed(&mut tx, entry, user, (concerned, now)).await?;
        }
        tx.commit().await.tried("use up a pairing code")?;
        Ok(Redeemed::Linked { pairing, newcomer, told })
    }

    /// Uses a code up without linking anything.
    pub async fn drop_pairing(&self, hash: &str) -> Result<(), StoreError> {
        let mut tx = self.store.begin_one().await?;
        sqlx::query("DELETE FROM pairing_codes WHERE hash = ?")
            .bind(hash)
            .execute(&mut *tx)
            .await
            .tried("use up a pairing code")?;
        tx.commit().await.tried("use up a pairing code")
    }
}

#[cfg(test)]
#[path = "pairing_tests.rs"]
mod tests;
