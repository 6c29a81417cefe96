//! The admin API for other machines: a TLS listener of its own, the clients that may use it, and the
//! authority that vouches for them.
//!
//! Promises: a connection reaches the API only with a certificate of an enrolled client that is not
//! revoked; it ends when the client is revoked, its certificate expires or its root is given up, within a
//! second; a connection without a certificate reaches enrolment and nothing else.

mod enrol;
mod listener;
mod options;
mod roster;
mod stream;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use cloister_control::rows::{Client, Issue, User, token_hash};
use cloister_control::{Actor, Clients as ClientStore};
use cloister_pki::{Authority, Invitation, Moment, PkiError, ServerIdentity, SigningRequest};
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::Key;
use cloister_protocol::admin::clients::{
    CaPhase, CaView, ClientCertificate, ClientInvitation, ClientView, RootView,
};
use cloister_protocol::{ClientId, with_causes};
use rustls::ServerConfig;

use crate::auth::random_token;
use crate::logins::LoginThrottle;
use crate::reply::Failure;
use roster::Clients;

pub use options::RemoteOptions;

/// The client that a request came from; put on it by the listener.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FromClient(pub(crate) ClientId);

/// On requests of a client whose certificate another root issued than the one that issues now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Behind;

/// The handle of the admin listener and its authority; cheap to clone.
#[derive(Clone)]
pub struct Remote {
    inner: Arc<Inner>,
}

struct Inner {
    store: ClientStore,
    options: RemoteOptions,
    authority: Mutex<Authority>,
    clients: Arc<Clients>,
    /// Held while the clients are read: what was read earlier never replaces what was read later.
    reading: tokio::sync::Mutex<()>,
    handshakes: Mutex<Option<Handshakes>>,
    /// Where the listener is, once it runs.
    address: OnceLock<String>,
    /// Slows down whoever guesses secrets.
    throttle: LoginThrottle,
}

/// What the listener shows, made anew when the authority changes or the certificate grows old.
struct Handshakes {
    with_certificate: Arc<ServerConfig>,
    without: Arc<ServerConfig>,
    renew_at: Moment,
}

impl Remote {
    /// Opens the authority, and makes one if there is none.
    pub fn open(dir: &Path, store: ClientStore, options: RemoteOptions) -> Result<Self, PkiError> {
        let now = Moment::from_ms(store.clock().now_ms());
        let authority = Authority::open(dir, now)?;
        // Names that can't stand in a certificate are found at start, not at the first connection.
        authority.issue_server(&options.names, now)?;
        Ok(Self {
            inner: Arc::new(Inner {
                store,
                options,
                authority: Mutex::new(authority),
                clients: Arc::default(),
                reading: tokio::sync::Mutex::default(),
                handshakes: Mutex::default(),
                address: OnceLock::new(),
                throttle: LoginThrottle::default(),
            }),
        })
    }

    fn authority(&self) -> MutexGuard<'_, Authority> {
        self.inner.authority.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Moment {
        Moment::from_ms(self.inner.store.clock().now_ms())
    }

    fn handshakes(&self) -> MutexGuard<'_, Option<Handshakes>> {
        self.inner.handshakes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The two ways to shake hands now: with a certificate, and without one, to get one.
    fn configs(&self) -> Result<(Arc<ServerConfig>, Arc<ServerConfig>), PkiError> {
        let now = self.now();
        // Whoever changes the authority forgets these while holding it: they are never older than it.
        let authority = self.authority();
        let mut kept = self.handshakes();
        let handshakes = match kept.take().filter(|made| now < made.renew_at) {
            Some(made) => made,
            None => {
                let identity = authority.issue_server(&self.inner.options.names, now)?;
                self.make_handshakes(&authority, &identity)?
            }
        };
        let handshakes = kept.insert(handshakes);
        Ok((Arc::clone(&handshakes.with_certificate), Arc::clone(&handshakes.without)))
    }

    fn make_handshakes(
        &self,
        authority: &Authority,
        identity: &ServerIdentity,
    ) -> Result<Handshakes, PkiError> {
        let now = self.now();
        let left = identity.expires.ms().saturating_sub(now.ms());
        let with = cloister_pki::admin_server(authority, identity, self.inner.clients.clone())?;
        Ok(Handshakes {
            with_certificate: Arc::new(with),
            without: Arc::new(cloister_pki::enrolment_server(identity)?),
            renew_at: Moment::from_ms(now.ms().saturating_add(left / 2)),
        })
    }

    /// An invitation for one machine of a user.
    pub(crate) async fn invite(
        &self,
        actor: &Actor,
        user: &User,
    ) -> Result<ClientInvitation, Failure> {
        let Some(address) = self.inner.address.get() else {
            return Err(Failure::new(ErrorCode::Refused, "the admin listener does not run").fix(
                "start it with `cloister up`; `[admin] enabled = true` in cloister.toml if it was turned off",
            ));
        };
        let secret =
            random_token().map_err(cloister_control::Fault::io("no secret could be made"))?;
        let expires = self.now().after(self.inner.options.invitation_life());
        let store = &self.inner.store;
        let hash = token_hash(&secret);
        let number = store.invite(actor, user.id, &hash, expires.ms()).await?;
        let fingerprint = self.authority().fingerprint();
        let invitation =
            Invitation { address: address.clone(), fingerprint, number, secret: Key::new(secret) };
        Ok(ClientInvitation {
            user: user.name.clone(),
            invitation: Key::new(invitation.to_string()),
            fingerprint: fingerprint.to_string(),
            address: address.clone(),
            expires_at: crate::admin::time(expires.ms()),
        })
    }

    /// What a machine opened from elsewhere ends when that machine is revoked.
    pub(crate) async fn bind_session(&self, hash: &str, client: ClientId) -> Result<(), Failure> {
        Ok(self.inner.store.bind_session(hash, client).await?)
    }

    /// The next certificate of a client that showed a good one.
    pub(crate) async fn renew(
        &self,
        client: ClientId,
        request: &str,
    ) -> Result<ClientCertificate, Failure> {
        let request = SigningRequest::parse(request).map_err(failure)?;
        let known = self.inner.store.renew(client, self.next_issue()).await?;
        self.issue(&known, &request)
    }

    /// Which certificate would be issued now.
    fn next_issue(&self) -> Issue {
        let authority = self.authority();
        let now = self.now();
        let expires = authority.client_expiry(now, self.inner.options.certificate_life());
        Issue { root: authority.issuing(), issued_at: now.ms(), expires_at: expires.ms() }
    }

    fn issue(
        &self,
        client: &Client,
        request: &SigningRequest,
    ) -> Result<ClientCertificate, Failure> {
        let name = cloister_pki::ClientName { user: client.user, client: client.id };
        let expires = Moment::from_ms(client.expires_at);
        let authority = self.authority();
        let certificate =
            authority.issue_client(request, name, self.now(), expires).map_err(failure)?;
        Ok(ClientCertificate {
            user: client.user_name.clone(),
            client: client.id,
            certificate,
            roots: authority.roots_pem(),
            issued_at: client.renewed_at,
            expires_at: client.expires_at,
        })
    }

    pub(crate) async fn clients(&self) -> Result<Vec<ClientView>, Failure> {
        let clients = self.inner.store.all().await?;
        Ok(clients.iter().map(|client| self.view(client)).collect())
    }

    /// Ends a client: its connections close now, and it gets in no more.
    pub(crate) async fn revoke(
        &self,
        actor: &Actor,
        client: ClientId,
    ) -> Result<ClientView, Failure> {
        let revoked = self.inner.store.revoke(actor, client).await?;
        self.refresh().await?;
        Ok(self.view(&revoked))
    }

    fn view(&self, client: &Client) -> ClientView {
        use crate::admin::time;
        ClientView {
            id: client.id,
            user: client.user_name.clone(),
            user_id: client.user,
            name: client.name.clone(),
            enrolled_at: time(client.enrolled_at),
            renewed_at: time(client.renewed_at),
            expires_at: time(client.expires_at),
            root: client.root,
            revoked_at: client.revoked_at.map(time),
            connections: self.inner.clients.connections_of(client.id),
        }
    }

    /// Takes over from the database who may connect, and closes the connections of who may not.
    async fn refresh(&self) -> Result<(), Failure> {
        let _reading = self.inner.reading.lock().await;
        let live = self.inner.store.live().await?;
        self.inner.clients.replace(&live, self.now());
        Ok(())
    }

    pub(crate) async fn ca(&self) -> Result<CaView, Failure> {
        let clients = self.inner.store.all().await?;
        let now = self.now().ms();
        let authority = self.authority();
        let issuing = authority.issuing();
        let behind = |client: &&Client| {
            client.revoked_at.is_none() && client.expires_at > now && client.root != issuing
        };
        let root =
            |(number, fingerprint, expires): (u32, cloister_pki::Fingerprint, Moment)| RootView {
                number,
                fingerprint: fingerprint.to_string(),
                issues: number == issuing,
                expires_at: crate::admin::time(expires.ms()),
            };
        Ok(CaView {
            phase: phase(authority.phase()),
            roots: authority.trusted().into_iter().map(root).collect(),
            behind: clients.iter().filter(behind).map(|client| client.id).collect(),
            address: self.inner.address.get().cloned(),
        })
    }

    pub(crate) async fn rotate(&self, actor: &Actor) -> Result<CaView, Failure> {
        let now = self.now();
        self.change(actor, "ca.rotate", |authority| authority.rotate(now)).await
    }

    pub(crate) async fn rollback(&self, actor: &Actor) -> Result<CaView, Failure> {
        self.change(actor, "ca.rollback", Authority::rollback).await
    }

    pub(crate) async fn finish(&self, actor: &Actor, force: bool) -> Result<CaView, Failure> {
        let behind = self.ca().await?.behind;
        if !behind.is_empty() && !force {
            let names: Vec<String> = behind.iter().map(ToString::to_string).collect();
            return Err(Failure::new(
                ErrorCode::Conflict,
                format!(
                    "these clients have no certificate of the root that stays: {}",
                    names.join(", ")
                ),
            )
            .fix("any command they run renews theirs; --force locks them out"));
        }
        let after = self.change(actor, "ca.finish", Authority::finish).await?;
        let trusted: Vec<u32> = after.roots.iter().map(|root| root.number).collect();
        self.inner.clients.keep_roots(&trusted);
        Ok(after)
    }

    /// Changes the authority: what is about to happen is in the audit trail before, how it went after.
    async fn change(
        &self,
        actor: &Actor,
        action: &'static str,
        change: impl FnOnce(&mut Authority) -> Result<(), PkiError>,
    ) -> Result<CaView, Failure> {
        let store = &self.inner.store;
        store.record(actor, action, "begins").await?;
        let changed = {
            let mut authority = self.authority();
            let changed = change(&mut authority);
            *self.handshakes() = None;
            changed
        };
        let outcome = changed.as_ref().map_or_else(ToString::to_string, |()| "done".to_owned());
        store.record(actor, action, &outcome).await?;
        changed.map_err(failure)?;
        self.ca().await
    }
}

const fn phase(phase: cloister_pki::Phase) -> CaPhase {
    match phase {
        cloister_pki::Phase::Settled => CaPhase::Settled,
        cloister_pki::Phase::Rotating => CaPhase::Rotating,
        cloister_pki::Phase::RolledBack => CaPhase::RolledBack,
    }
}

fn failure(error: PkiError) -> Failure {
    match &error {
        PkiError::Phase { why, fix } => Failure::new(ErrorCode::Conflict, *why).fix(*fix),
        PkiError::BadRequest { .. } => Failure::new(ErrorCode::BadRequest, error.to_string()),
        PkiError::File { .. }
        | PkiError::Corrupt { .. }
        | PkiError::Make { .. }
        | PkiError::BadCertificate { .. }
        | PkiError::Tls(_)
        | PkiError::Random(_) => {
            tracing::error!(error = with_causes(&error), "the certificate authority failed");
            Failure::new(ErrorCode::Internal, "the certificate authority failed")
                .fix("see the log of the control plane")
        }
    }
}

#[cfg(test)]
#[path = "mtls_tests.rs"]
mod tests;
