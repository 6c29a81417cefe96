//! Identities: which account on a surface is which person's. The pair (surface, id) is unique.

use cloister_protocol::UserId;

use crate::actor::Actor;
use crate::db::Tx;
use crate::error::{StoreError, Tried, not_found};
use crate::users::Users;
use crate::{audit, forgetting};

/// An account on a surface. The display name is what someone calls themselves there, and says nothing
/// about who they are.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Account {
    pub surface: String,
    pub external_id: String,
    pub display_name: String,
}

/// An account that is known to be a person's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub account: Account,
    pub user: UserId,
    pub linked_by: String,
    pub linked_at: i64,
}

struct Row {
    surface: String,
    external_id: String,
    user_id: u32,
    display_name: String,
    linked_by: String,
    linked_at: i64,
}

from_row!(Row { surface, external_id, user_id, display_name, linked_by, linked_at });

impl From<Row> for Identity {
    fn from(row: Row) -> Self {
        Self {
            account: Account {
                surface: row.surface,
                external_id: row.external_id,
                display_name: row.display_name,
            },
            user: UserId::from_number(row.user_id),
            linked_by: row.linked_by,
            linked_at: row.linked_at,
        }
    }
}

const SELECT: &str =
    "SELECT surface, external_id, user_id, display_name, linked_by, linked_at FROM identities";

/// Links an account as part of something greater. One that is another person's stays theirs.
pub(crate) async fn link(
    tx: &mut Tx,
    account: &Account,
    user: UserId,
    (actor, now): (&Actor, i64),
) -> Result<(), StoreError> {
    let Account { surface, external_id, display_name } = account;
    let linked = sqlx::query(
        "INSERT INTO identities (surface, external_id, user_id, display_name, linked_by, linked_at) \
         SELECT ?1, ?2, id, ?4, ?5, ?6 FROM users WHERE id = ?3 AND kind = 'person' \
         ON CONFLICT (surface, external_id) DO UPDATE \
         SET display_name = excluded.display_name, linked_by = excluded.linked_by, \
             linked_at = excluded.linked_at WHERE user_id = excluded.user_id",
    )
    .bind(surface)
    .bind(external_id)
    .bind(user.number())
    .bind(display_name)
    .bind(actor.to_string())
    .bind(now)
    .execute(&mut *tx)
    .await
    .tried("link an identity")?;
    if linked.rows_affected() == 0 {
        let name = format!("{external_id} on {surface} that is linked to somebody else");
        return Err(StoreError::Exists { what: "identity", name });
    }
    let entry = audit::Entry::new(actor, "identity.link", format!("{surface} {external_id}"));
    audit::record(tx, now, entry.with(display_name).of(user)).await
}

impl Users {
    /// Whose account this is, if it is known.
    pub async fn identity(
        &self,
        surface: &str,
        external_id: &str,
    ) -> Result<Option<Identity>, StoreError> {
        let query = format!("{SELECT} WHERE surface = ? AND external_id = ?");
        let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(surface)
            .bind(external_id)
            .fetch_optional(self.store.reader())
            .await
            .tried("look up an identity")?;
        Ok(row.map(Identity::from))
    }

    pub async fn identities_of(&self, user: UserId) -> Result<Vec<Identity>, StoreError> {
        let query = format!("{SELECT} WHERE user_id = ? ORDER BY surface, external_id");
        let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(user.number())
            .fetch_all(self.store.reader())
            .await
            .tried("list identities")?;
        Ok(rows.into_iter().map(Identity::from).collect())
    }

    pub async fn link_identity(
        &self,
        actor: &Actor,
        account: &Account,
        user: UserId,
    ) -> Result<(), StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        link(&mut tx, account, user, (actor, now)).await?;
        tx.commit().await.tried("link an identity")
    }

    /// An account is nobody's from now on, and is told nothing more: what it shared with the agent is forgotten
    /// with it. The chats stay, and what was still to be told waits on the web.
    pub async fn unlink_identity(
        &self,
        actor: &Actor,
        user: UserId,
        surface: &str,
        external_id: &str,
    ) -> Result<(), StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let unlinked = sqlx::query(
            "DELETE FROM identities WHERE surface = ? AND external_id = ? AND user_id = ?",
        )
        .bind(surface)
        .bind(external_id)
        .bind(user.number())
        .execute(&mut *tx)
        .await
        .tried("unlink an identity")?;
        if unlinked.rows_affected() == 0 {
            return Err(not_found("identity", format!("{external_id} on {surface} of this user")));
        }
        forgetting::forget_account(&mut tx, user, (surface, external_id)).await?;
        let entry = audit::Entry::new(actor, "identity.unlink", format!("{surface} {external_id}"));
        audit::record(&mut tx, now, entry.of(user)).await?;
        tx.commit().await.tried("unlink an identity")
    }
}
