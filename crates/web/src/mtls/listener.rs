//! The TLS listener: handshakes with a deadline, two kinds of them, and what each leads to.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use cloister_pki::{ENROL_PROTOCOL, Presented};
use cloister_protocol::with_causes;
use rustls::server::Acceptor;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, timeout};
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

use super::stream::Revocable;
use super::{Behind, FromClient, Remote, enrol};
use crate::caller::Caller;
use crate::connections::{ConnectionOptions, ConnectionPlace, Serving, Shares, accept};
use crate::peer::Peer;
use crate::server::{State, remote_router};

/// How long a handshake may take.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// How long a connection without a certificate may last.
const ENROL_TIME: Duration = Duration::from_secs(30);
/// How often those who are connected are compared with those who may be.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// Handshakes under way, for each place that enrolled clients have; and at least so many.
const STRANGERS_PART: usize = 4;
const LEAST_STRANGERS: usize = 16;
/// Handshakes of one address under way.
const PER_ADDRESS: usize = 32;

/// How a connection came in.
enum Arrival {
    Client(TlsStream<TcpStream>),
    Stranger(TlsStream<TcpStream>),
}

/// A connection, and what it is served with.
struct Met<IO> {
    stream: IO,
    peer: SocketAddr,
    place: ConnectionPlace,
    serving: Serving,
}

impl Remote {
    /// Takes note of where other machines reach the listener.
    pub fn is_at(&self, listener: &TcpListener) -> io::Result<()> {
        let address = match &self.inner.options.address {
            Some(said) => said.clone(),
            None => reachable(listener.local_addr()?).to_string(),
        };
        // It is said once, before anything is served.
        self.inner.address.set(address).ok();
        Ok(())
    }

    /// Serves the admin API to enrolled clients, and enrolment to others, until `stop`.
    pub async fn serve(
        self,
        mut listener: TcpListener,
        state: State,
        stop: CancellationToken,
    ) -> io::Result<()> {
        let router = remote_router(state);
        let serving = self.serving();
        let mut connections = JoinSet::new();
        let mut look = tokio::time::interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                (stream, peer) = accept(&mut listener) => {
                    let place = serving.places().enter(Some(peer.ip()));
                    let leave = place.seat().leave().clone();
                    let met = Met { stream, peer, place, serving: serving.clone() };
                    let met = self.clone().meet(met, router.clone(), stop.clone());
                    connections.spawn(async move {
                        tokio::select! {
                            () = met => {}
                            () = leave.cancelled() => tracing::debug!(%peer, "a handshake made room"),
                        }
                    });
                }
                _ = look.tick() => self.look_again().await,
                () = stop.cancelled() => break,
            }
            while connections.try_join_next().is_some() {}
        }
        while connections.join_next().await.is_some() {}
        Ok(())
    }

    /// Strangers have places of their own, so that nobody who has no certificate keeps out who has one.
    fn serving(&self) -> Serving {
        let known = self.inner.options.connections.max(1);
        let strangers = (known / STRANGERS_PART).max(LEAST_STRANGERS);
        let shares = Shares { strangers, known, per_address: PER_ADDRESS, per_person: known };
        let options =
            ConnectionOptions { trusted_proxies: Vec::new(), ..ConnectionOptions::default() };
        Serving::with(&options, shares)
    }

    async fn look_again(&self) {
        if !self.inner.clients.is_empty() && self.refresh().await.is_err() {
            tracing::error!("who may be connected could not be looked up");
        }
    }

    async fn meet(self, met: Met<TcpStream>, router: Router, stop: CancellationToken) {
        let Met { stream, peer, place, serving } = met;
        match timeout(HANDSHAKE_TIME, self.handshake(stream)).await {
            Ok(Ok(Arrival::Client(stream))) => {
                let met = Met { stream, peer, place, serving };
                self.serve_client(met, router, stop).await;
            }
            Ok(Ok(Arrival::Stranger(stream))) => {
                let (own, peer) = (serving.clone(), Peer::from(peer));
                let said = move |request: &mut Request<Body>| own.introduce(request, peer);
                let router = enrol::router(self);
                let served = serving.serve_one(stream, Some(place), router, stop, said);
                if timeout(ENROL_TIME, served).await.is_err() {
                    tracing::debug!("an enrolment took too long");
                }
            }
            Ok(Err(error)) => {
                tracing::info!(%peer, error = with_causes(&error), "a handshake was refused")
            }
            Err(_late) => tracing::debug!(%peer, "a handshake took too long"),
        }
    }

    async fn handshake(&self, stream: TcpStream) -> io::Result<Arrival> {
        let start = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
        let hello = start.client_hello();
        let mut protocols = hello.alpn().into_iter().flatten();
        let (first, second) = (protocols.next(), protocols.next());
        let enrols = first == Some(ENROL_PROTOCOL) && second.is_none();
        drop(protocols);
        if !enrols {
            // The handshake itself asks nobody: it needs the newest word.
            self.refresh().await.map_err(|_told| io::Error::other("the clients are not known"))?;
        }
        let (with_certificate, without) = self.configs().map_err(io::Error::other)?;
        if enrols {
            return Ok(Arrival::Stranger(start.into_stream(without).await?));
        }
        Ok(Arrival::Client(start.into_stream(with_certificate).await?))
    }

    async fn serve_client(
        &self,
        met: Met<TlsStream<TcpStream>>,
        router: Router,
        stop: CancellationToken,
    ) {
        let Met { stream, peer, place, serving } = met;
        let (_, session) = stream.get_ref();
        let shown = session.peer_certificates().and_then(<[_]>::first).map(Presented::read);
        let Some(Ok(shown)) = shown else { return };
        let (root, issuing) = {
            let authority = self.authority();
            (authority.root_of(&shown), authority.issuing())
        };
        let Some(root) = root else { return };
        let Some(entered) = self.inner.clients.enter(&shown, root) else { return };
        if !place.seat().is_of(shown.name.user) {
            return tracing::warn!(user = %shown.name.user, "[admin] connections are all in use");
        }
        tracing::debug!(client = %shown.name.client, user = %shown.name.user, "a client connected");
        let close = entered.close().clone();
        let stream = Revocable::new(stream, entered, place);
        let (peer, name) = (Peer::from(peer), shown.name);
        let own = serving.clone();
        let said = move |request: &mut Request<Body>| {
            own.introduce(request, peer);
            let extensions = request.extensions_mut();
            extensions.insert(Caller::User(name.user));
            extensions.insert(FromClient(name.client));
            if root != issuing {
                extensions.insert(Behind);
            }
        };
        tokio::select! {
            () = serving.serve_one(stream, None, router, stop, said) => {}
            () = close.cancelled() => tracing::info!(client = %name.client, "a client's connection was closed"),
        }
    }
}

/// An address that can be dialled: one of this machine when it listens on all.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    address
}
