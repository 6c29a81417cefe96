//! The sessions of browsers and terminals, and the links that open them. Tokens are known by their hash alone.

use cloister_protocol::UserId;
use cloister_store::Actor;
use cloister_store::tokens::{TokenKind, TokenOwner};

use crate::control::part;
use crate::error::Fault;

part! {
    /// Sessions and login links.
    pub struct Sessions;
}

impl Sessions {
    /// Keeps a token of a session or of a login link.
    pub async fn begin(
        &self,
        actor: &Actor,
        (kind, hash): (TokenKind, &str),
        user: UserId,
        expires_at: i64,
    ) -> Result<(), Fault> {
        Ok(self.control.store().users().add_token(actor, kind, hash, user, expires_at).await?)
    }

    /// Whose session it is, if it goes on.
    pub async fn owner(&self, hash: &str) -> Result<Option<TokenOwner>, Fault> {
        Ok(self.control.store().users().session_owner(hash).await?)
    }

    /// Whom a login link that can still be used is for; it stays usable.
    pub async fn login_owner(&self, hash: &str) -> Result<Option<TokenOwner>, Fault> {
        Ok(self.control.store().users().login_owner(hash).await?)
    }

    /// Uses a login link up. It is whom the link is for who acts.
    pub async fn redeem_login(&self, hash: &str) -> Result<Option<TokenOwner>, Fault> {
        Ok(self.control.store().users().redeem_login(hash).await?)
    }

    /// Ends a session, and the sockets it holds open.
    pub async fn end(&self, actor: &Actor, hash: &str) -> Result<(), Fault> {
        self.control.store().users().end_session(actor, hash).await?;
        self.control.people().access().changed();
        Ok(())
    }

    /// Ends every session of a user, and voids their login links.
    pub async fn end_all(&self, actor: &Actor, user: UserId) -> Result<u64, Fault> {
        let ended = self.control.store().users().end_sessions(actor, user).await?;
        self.control.people().access().changed();
        Ok(ended)
    }
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;
