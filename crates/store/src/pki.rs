//! Machines that people administer from: their invitations, certificates and revocation.

use cloister_protocol::{ClientId, UserId, UserName};
use subtle::ConstantTimeEq;

use crate::actor::Actor;
use crate::audit::{self, Entry};
use crate::error::{StoreError, Tried, corrupt, not_found};

/// Wrong secrets after which an invitation is worth nothing.
const MAX_WRONG: i64 = 5;

/// A machine that was enrolled.
#[derive(Clone, Debug)]
pub struct Client {
    pub id: ClientId,
    pub user: UserId,
    pub user_name: UserName,
    pub name: String,
    pub enrolled_at: i64,
    pub renewed_at: i64,
    pub expires_at: i64,
    pub root: u32,
    pub revoked_at: Option<i64>,
}

/// A client that may connect now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveClient {
    pub id: ClientId,
    pub user: UserId,
}

/// Which certificate a client was given.
#[derive(Clone, Copy, Debug)]
pub struct Issue {
    pub root: u32,
    pub issued_at: i64,
    pub expires_at: i64,
}

struct ClientRow {
    id: u32,
    user_id: u32,
    user_name: String,
    name: String,
    enrolled_at: i64,
    renewed_at: i64,
    expires_at: i64,
    root: u32,
    revoked_at: Option<i64>,
}

from_row!(ClientRow {
    id,
    user_id,
    user_name,
    name,
    enrolled_at,
    renewed_at,
    expires_at,
    root,
    revoked_at,
});

impl TryFrom<ClientRow> for Client {
    type Error = StoreError;

    fn try_from(row: ClientRow) -> Result<Self, StoreError> {
        let unreadable = |_bad| corrupt("user name", &row.user_name);
        Ok(Self {
            id: ClientId::from_number(row.id),
            user: UserId::from_number(row.user_id),
            user_name: row.user_name.parse().map_err(unreadable)?,
            name: row.name,
            enrolled_at: row.enrolled_at,
            renewed_at: row.renewed_at,
            expires_at: row.expires_at,
            root: row.root,
            revoked_at: row.revoked_at,
        })
    }
}

const CLIENTS: &str = "SELECT c.id, c.user_id, u.name AS user_name, c.name, c.enrolled_at, \
     c.renewed_at, c.expires_at, c.root, c.revoked_at FROM clients c JOIN users u ON u.id = c.user_id";

table! {
    /// Clients that hold a certificate of ours.
    pub struct Clients;
}

impl Clients {
    /// Keeps an invitation for one machine of a user; its number.
    pub async fn invite_client(
        &self,
        actor: &Actor,
        user: UserId,
        secret_hash: &str,
        expires_at: i64,
    ) -> Result<u32, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        sqlx::query("DELETE FROM client_invitations WHERE expires_at < ?")
            .bind(now)
            .execute(&mut *tx)
            .await
            .tried("drop expired invitations")?;
        let number: u32 = sqlx::query_scalar(
            "INSERT INTO client_invitations (user_id, secret_hash, created_at, expires_at) \
             VALUES (?, ?, ?, ?) RETURNING id",
        )
        .bind(user.number())
        .bind(secret_hash)
        .bind(now)
        .bind(expires_at)
        .fetch_one(&mut *tx)
        .await
        .tried("keep an invitation")?;
        audit::record(&mut tx, now, Entry::new(actor, "client.invite", user).of(user)).await?;
        tx.commit().await.tried("keep an invitation")?;
        Ok(number)
    }

    /// Uses an invitation up and notes the client that came with it. None, and an audit entry, if the
    /// secret is wrong or the invitation is not there, used or expired.
    pub async fn enrol_client(
        &self,
        invitation: u32,
        secret_hash: &str,
        name: &str,
        issue: Issue,
    ) -> Result<Option<Client>, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let kept: Option<(u32, String)> = sqlx::query_as(
            "SELECT user_id, secret_hash FROM client_invitations \
             WHERE id = ? AND used_at IS NULL AND expires_at > ? AND wrong_tries < ?",
        )
        .bind(invitation)
        .bind(now)
        .bind(MAX_WRONG)
        .fetch_optional(&mut *tx)
        .await
        .tried("look up an invitation")?;
        let right = kept.filter(|(_, kept)| same(kept, secret_hash)).map(|(user, _)| user);
        let Some(user) = right else {
            sqlx::query("UPDATE client_invitations SET wrong_tries = wrong_tries + 1 WHERE id = ?")
                .bind(invitation)
                .execute(&mut *tx)
                .await
                .tried("count a wrong secret")?;
            let entry = Entry::new(&Actor::person("someone"), "client.enroll_refused", invitation)
                .with(name);
            audit::record(&mut tx, now, entry).await?;
            tx.commit().await.tried("count a wrong secret")?;
            return Ok(None);
        };
        sqlx::query("UPDATE client_invitations SET used_at = ? WHERE id = ?")
            .bind(now)
            .bind(invitation)
            .execute(&mut *tx)
            .await
            .tried("use up an invitation")?;
        let id: u32 = sqlx::query_scalar(
            "INSERT INTO clients (user_id, name, enrolled_at, renewed_at, expires_at, root) \
             VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
        )
        .bind(user)
        .bind(name)
        .bind(now)
        .bind(issue.issued_at)
        .bind(issue.expires_at)
        .bind(issue.root)
        .fetch_one(&mut *tx)
        .await
        .tried("keep a client")?;
        let (id, user) = (ClientId::from_number(id), UserId::from_number(user));
        audit::record(
            &mut tx,
            now,
            Entry::new(&Actor::person(user), "client.enroll", id).with(name),
        )
        .await?;
        tx.commit().await.tried("keep a client")?;
        self.client(id).await.map(Some)
    }

    /// Notes that a client gets its next certificate; refused when it is revoked.
    pub async fn renew_client(&self, id: ClientId, issue: Issue) -> Result<Client, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let renewed = sqlx::query(
            "UPDATE clients SET renewed_at = ?, expires_at = ?, root = ? \
             WHERE id = ? AND revoked_at IS NULL",
        )
        .bind(issue.issued_at)
        .bind(issue.expires_at)
        .bind(issue.root)
        .bind(id.number())
        .execute(&mut *tx)
        .await
        .tried("renew a client")?;
        if renewed.rows_affected() == 0 {
            return Err(not_found("client", id));
        }
        audit::record(&mut tx, now, Entry::new(&Actor::person(id), "client.renew", id)).await?;
        tx.commit().await.tried("renew a client")?;
        self.client(id).await
    }

    /// Ends a client and every session it opened.
    pub async fn revoke_client(&self, actor: &Actor, id: ClientId) -> Result<Client, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let revoked =
            sqlx::query("UPDATE clients SET revoked_at = COALESCE(revoked_at, ?) WHERE id = ?")
                .bind(now)
                .bind(id.number())
                .execute(&mut *tx)
                .await
                .tried("revoke a client")?;
        if revoked.rows_affected() == 0 {
            return Err(not_found("client", id));
        }
        sqlx::query("DELETE FROM tokens WHERE client_id = ?")
            .bind(id.number())
            .execute(&mut *tx)
            .await
            .tried("end a client's sessions")?;
        audit::record(&mut tx, now, Entry::new(actor, "client.revoke", id)).await?;
        tx.commit().await.tried("revoke a client")?;
        self.client(id).await
    }

    /// Notes which client opened a session, so that it ends with the client.
    pub async fn bind_session(&self, hash: &str, client: ClientId) -> Result<(), StoreError> {
        let mut tx = self.store.begin_one().await?;
        sqlx::query("UPDATE tokens SET client_id = ? WHERE hash = ?")
            .bind(client.number())
            .bind(hash)
            .execute(&mut *tx)
            .await
            .tried("bind a session to a client")?;
        tx.commit().await.tried("bind a session to a client")
    }

    pub async fn client(&self, id: ClientId) -> Result<Client, StoreError> {
        let query = format!("{CLIENTS} WHERE c.id = ?");
        let row: Option<ClientRow> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(id.number())
            .fetch_optional(self.store.reader())
            .await
            .tried("look up a client")?;
        row.ok_or_else(|| not_found("client", id))?.try_into()
    }

    /// Every client there ever was, oldest first.
    pub async fn all(&self) -> Result<Vec<Client>, StoreError> {
        let query = format!("{CLIENTS} ORDER BY c.id");
        let rows: Vec<ClientRow> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .fetch_all(self.store.reader())
            .await
            .tried("list clients")?;
        rows.into_iter().map(Client::try_from).collect()
    }

    /// The clients that may connect now.
    pub async fn live_clients(&self) -> Result<Vec<LiveClient>, StoreError> {
        let rows: Vec<(u32, u32)> = sqlx::query_as(
            "SELECT id, user_id FROM clients WHERE revoked_at IS NULL AND expires_at > ?",
        )
        .bind(self.store.clock.now_ms())
        .fetch_all(self.store.reader())
        .await
        .tried("list the clients that may connect")?;
        let live = |(id, user)| LiveClient {
            id: ClientId::from_number(id),
            user: UserId::from_number(user),
        };
        Ok(rows.into_iter().map(live).collect())
    }
}

/// How long it takes says nothing about where they differ.
fn same(kept: &str, given: &str) -> bool {
    kept.as_bytes().ct_eq(given.as_bytes()).into()
}

#[cfg(test)]
#[path = "pki_tests.rs"]
mod tests;
