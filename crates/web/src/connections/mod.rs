//! Serves HTTP/1.1 on connections. Promises: there are never more than the shares allow, and who is logged in has a
//! share that nobody else can take; none is kept for who is slow to say what they want, to send it, or to read the
//! answer; and what is written on one leaves at once.

mod accept;
mod options;
mod pace;
mod places;
mod proxies;

use std::io;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use axum::serve::Listener;
use cloister_protocol::with_causes;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::peer::Peer;
use pace::{Held, Paced};

pub use accept::Prompt;
pub(crate) use accept::accept;
pub use options::ConnectionOptions;
pub(crate) use options::Shares;
pub(crate) use places::{ConnectionPlace, Places, Seat};
pub use proxies::Network;

/// How a listener serves its connections.
#[derive(Clone)]
pub struct Serving {
    options: Arc<ConnectionOptions>,
    places: Places,
}

impl Serving {
    /// `wanted`: connections if the machine has room; `open_files`: what this account may open in all.
    pub fn new(options: &ConnectionOptions, wanted: usize, open_files: usize) -> Self {
        let shares = options.shares(wanted, open_files);
        tracing::debug!(?shares, "the connections that are kept");
        Self::with(options, shares)
    }

    pub(crate) fn with(options: &ConnectionOptions, shares: Shares) -> Self {
        Self { options: Arc::new(options.clone()), places: Places::new(shares) }
    }

    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    /// Says on a request where it comes from.
    pub(crate) fn introduce(&self, request: &mut Request<Body>, peer: Peer) {
        let trusted = &self.options.trusted_proxies;
        let from = proxies::comes_from(peer.0, request.headers(), trusted);
        request.extensions_mut().insert(ConnectInfo(Peer(from)));
    }
}

/// Serves until `stop`; open requests then have a moment to end.
pub async fn serve<L>(
    mut listener: L,
    router: Router,
    stop: CancellationToken,
    serving: Serving,
) -> io::Result<()>
where
    L: Listener,
    L::Io: Prompt,
    L::Addr: Into<Peer>,
{
    let mut connections = JoinSet::new();
    loop {
        let (io, address) = tokio::select! {
            accepted = accept(&mut listener) => accepted,
            () = stop.cancelled() => break,
        };
        let peer: Peer = address.into();
        let place = serving.places.enter(peer.0);
        let (router, stop, serving) = (router.clone(), stop.clone(), serving.clone());
        connections.spawn(async move {
            let (seat, own) = (place.seat().clone(), serving.clone());
            let leave = seat.leave().clone();
            let said = move |request: &mut Request<Body>| {
                own.introduce(request, peer);
                request.extensions_mut().insert(seat.clone());
            };
            tokio::select! {
                () = serving.serve_one(io, Some(place), router, stop, said) => {}
                () = leave.cancelled() => tracing::debug!(?peer, "a stranger's connection made room"),
            }
        });
        while connections.try_join_next().is_some() {}
    }
    while connections.join_next().await.is_some() {}
    Ok(())
}

impl Serving {
    /// Serves one connection to its end. `said` puts on every request what the listener knows of it.
    pub(crate) async fn serve_one<IO>(
        &self,
        io: IO,
        place: Option<ConnectionPlace>,
        router: Router,
        stop: CancellationToken,
        said: impl Fn(&mut Request<Body>) + Clone + Send + 'static,
    ) where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let pace = self.options.pace();
        let service = service_fn(move |request: Request<Incoming>| {
            let mut request = request.map(|body| Body::new(Paced::new(body, pace)));
            said(&mut request);
            router.clone().oneshot(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.options.head())
            .serve_connection(TokioIo::new(Held::new(io, pace, place)), service)
            .with_upgrades();
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(error = with_causes(&error), "a connection ended early");
        }
    }
}

#[cfg(test)]
#[path = "connections_tests.rs"]
mod tests;
