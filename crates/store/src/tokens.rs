//! Session and login tokens, kept as hashes.

use cloister_protocol::{UserId, WorkspaceId};
use sha2::{Digest, Sha256};

use crate::actor::Actor;
use crate::audit;
use crate::error::{StoreError, Tried, not_found};
use crate::users::Users;

/// The hash under which a token is kept.
pub fn token_hash(token: &str) -> String {
    Sha256::digest(token.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// Opens the agent socket of one workspace, until it expires.
    Session,
    /// Exchanged once for a session.
    Login,
}

impl TokenKind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Login => "login",
        }
    }
}

/// Whom a token stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenOwner {
    pub user: UserId,
    pub workspace: WorkspaceId,
    pub expires_at: i64,
}

impl Users {
    pub async fn add_token(
        &self,
        actor: &Actor,
        kind: TokenKind,
        hash: &str,
        user: UserId,
        expires_at: i64,
    ) -> Result<(), StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        sqlx::query("DELETE FROM tokens WHERE expires_at < ?")
            .bind(now)
            .execute(&mut *tx)
            .await
            .tried("drop expired tokens")?;
        // Nobody logs in as a community.
        let kept = sqlx::query(
            "INSERT INTO tokens (hash, kind, user_id, expires_at, created_at) \
             SELECT ?, ?, id, ?, ? FROM users WHERE id = ? AND kind = 'person'",
        )
        .bind(hash)
        .bind(kind.as_str())
        .bind(expires_at)
        .bind(now)
        .bind(user.number())
        .execute(&mut *tx)
        .await
        .tried("keep a token")?;
        if kept.rows_affected() == 0 {
            return Err(not_found("person", user));
        }
        let action = match kind {
            TokenKind::Session => "session.new",
            TokenKind::Login => "login.new",
        };
        let entry = audit::Entry::new(actor, action, user).of(user);
        audit::record(&mut tx, now, entry).await?;
        tx.commit().await.tried("keep a token")
    }

    /// The owner of a live session token.
    pub async fn session_owner(&self, hash: &str) -> Result<Option<TokenOwner>, StoreError> {
        let read = async {
            let row: Option<(u32, u32, i64)> = sqlx::query_as(
                "SELECT t.user_id, w.id, t.expires_at FROM tokens t JOIN workspaces w ON w.user_id = t.user_id \
                 WHERE t.hash = ? AND t.kind = 'session'",
            )
            .bind(hash)
            .fetch_optional(self.store.reader())
            .await
            .tried("look up a token")?;
            Ok(row.map(owner))
        };
        let owner = self.store.memory.sessions.or_read(hash.to_owned(), read).await?;
        // Nothing is written when one expires.
        Ok(owner.filter(|owner| owner.expires_at > self.store.clock.now_ms()))
    }

    /// Whom a login token that can still be used is for; it stays usable.
    pub async fn login_owner(&self, hash: &str) -> Result<Option<TokenOwner>, StoreError> {
        let row: Option<(u32, u32, i64)> = sqlx::query_as(
            "SELECT t.user_id, w.id, t.expires_at FROM tokens t JOIN workspaces w ON w.user_id = t.user_id \
             WHERE t.hash = ? AND t.kind = 'login' AND t.expires_at > ? AND t.used_at IS NULL",
        )
        .bind(hash)
        .bind(self.store.clock.now_ms())
        .fetch_optional(self.store.reader())
        .await
        .tried("look at a login token")?;
        Ok(row.map(owner))
    }

    /// Ends every session of a user and voids their login links; says how many.
    pub async fn end_sessions(&self, actor: &Actor, user: UserId) -> Result<u64, StoreError> {
        let mut tx = self.store.begin().await?;
        let ended = sqlx::query("DELETE FROM tokens WHERE user_id = ?")
            .bind(user.number())
            .execute(&mut *tx)
            .await
            .tried("end a user's sessions")?;
        let entry = audit::Entry::new(actor, "session.end_all", user).of(user);
        audit::record(&mut tx, self.store.clock.now_ms(), entry).await?;
        tx.commit().await.tried("end a user's sessions")?;
        Ok(ended.rows_affected())
    }

    /// Ends a session now.
    pub async fn end_session(&self, actor: &Actor, hash: &str) -> Result<(), StoreError> {
        let mut tx = self.store.begin().await?;
        let whose: Option<u32> = sqlx::query_scalar(
            "DELETE FROM tokens WHERE hash = ? AND kind = 'session' RETURNING user_id",
        )
        .bind(hash)
        .fetch_optional(&mut *tx)
        .await
        .tried("end a session")?;
        if let Some(user) = whose.map(UserId::from_number) {
            let entry = audit::Entry::new(actor, "session.end", user).of(user);
            audit::record(&mut tx, self.store.clock.now_ms(), entry).await?;
        }
        tx.commit().await.tried("end a session")
    }

    /// Uses up a login token.
    pub async fn redeem_login(&self, hash: &str) -> Result<Option<TokenOwner>, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let row: Option<(u32, u32, i64)> = sqlx::query_as(
            "SELECT t.user_id, w.id, t.expires_at FROM tokens t JOIN workspaces w ON w.user_id = t.user_id \
             WHERE t.hash = ? AND t.kind = 'login' AND t.expires_at > ? AND t.used_at IS NULL",
        )
        .bind(hash)
        .bind(now)
        .fetch_optional(&mut *tx)
        .await
        .tried("look up a login token")?;
        if row.is_some() {
            sqlx::query("UPDATE tokens SET used_at = ? WHERE hash = ?")
                .bind(now)
                .bind(hash)
                .execute(&mut *tx)
                .await
                .tried("use up a login token")?;
        }
        if let Some(user) = row.map(|(user, ..)| UserId::from_number(user)) {
            let entry = audit::Entry::new(&Actor::person(user), "login.use", user).of(user);
            audit::record(&mut tx, now, entry).await?;
        }
        tx.commit().await.tried("use up a login token")?;
        Ok(row.map(owner))
    }
}

fn owner((user, workspace, expires_at): (u32, u32, i64)) -> TokenOwner {
    TokenOwner {
        user: UserId::from_number(user),
        workspace: WorkspaceId::from_number(workspace),
        expires_at,
    }
}
