//! The machines that hold a certificate of ours, for the listener that they come to. It is there before control is,
//! and answers those that enrol also while control is not.

use cloister_protocol::{ClientId, UserId};
use cloister_store::audit::Entry;
use cloister_store::pki::{Client, Issue, LiveClient};
use cloister_store::{Actor, Clock, Store};

use crate::error::Fault;

/// The machines that hold a certificate, and what is done to the authority that gives them out.
#[derive(Clone, Debug)]
pub struct Clients {
    store: Store,
}

impl Clients {
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    pub fn clock(&self) -> &Clock {
        &self.store.clock
    }

    /// Keeps an invitation for one machine of a user; its number.
    pub async fn invite(
        &self,
        actor: &Actor,
        user: UserId,
        secret_hash: &str,
        expires_at: i64,
    ) -> Result<u32, Fault> {
        Ok(self.store.clients().invite_client(actor, user, secret_hash, expires_at).await?)
    }

    /// Uses an invitation up; none: it is no good. It is whom the invitation is for who acts.
    pub async fn enrol(
        &self,
        invitation: u32,
        secret_hash: &str,
        name: &str,
        issue: Issue,
    ) -> Result<Option<Client>, Fault> {
        Ok(self.store.clients().enrol_client(invitation, secret_hash, name, issue).await?)
    }

    /// Notes that a machine, which is who acts, gets its next certificate.
    pub async fn renew(&self, client: ClientId, issue: Issue) -> Result<Client, Fault> {
        Ok(self.store.clients().renew_client(client, issue).await?)
    }

    /// Ends a machine and every session it opened.
    pub async fn revoke(&self, actor: &Actor, client: ClientId) -> Result<Client, Fault> {
        Ok(self.store.clients().revoke_client(actor, client).await?)
    }

    pub async fn all(&self) -> Result<Vec<Client>, Fault> {
        Ok(self.store.clients().all().await?)
    }

    /// Those whose certificate is good.
    pub async fn live(&self) -> Result<Vec<LiveClient>, Fault> {
        Ok(self.store.clients().live_clients().await?)
    }

    /// Notes which machine opened a session, so that it ends with the machine.
    pub async fn bind_session(&self, hash: &str, client: ClientId) -> Result<(), Fault> {
        Ok(self.store.clients().bind_session(hash, client).await?)
    }

    /// Records what is done to the authority.
    pub async fn record(
        &self,
        actor: &Actor,
        action: &'static str,
        detail: &str,
    ) -> Result<(), Fault> {
        let entry = Entry::new(actor, action, "ca").with(detail);
        Ok(self.store.audit().record(entry).await?)
    }
}
