//! Serves HTTP/1.1 on connections: as many as are allowed, none that is slow to say what it wants.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::Extensions;
use axum::serve::Listener;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::peer::Peer;

/// How long the head of a request may take, and how long a connection may be silent between two.
const HEAD_TIME: Duration = Duration::from_secs(30);

/// Serves until `stop`; open requests then have a moment to end. Beyond `most` connections, further
/// ones wait for their turn.
pub async fn serve<L>(
    mut listener: L,
    router: Router,
    stop: CancellationToken,
    most: usize,
) -> io::Result<()>
where
    L: Listener,
    L::Addr: Into<Peer>,
{
    let places = Arc::new(Semaphore::new(most));
    let mut connections = JoinSet::new();
    loop {
        let accepted = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, (io, address)) = tokio::select! {
            accepted = accepted => accepted,
            () = stop.cancelled() => break,
        };
        let peer: Peer = address.into();
        let (router, stop) = (router.clone(), stop.clone());
        connections.spawn(async move {
            let said = move |extensions: &mut Extensions| introduce(extensions, peer);
            serve_one(io, router, stop, said).await;
            drop(place);
        });
        while connections.try_join_next().is_some() {}
    }
    while connections.join_next().await.is_some() {}
    Ok(())
}

/// Says on a request where it comes from.
pub(crate) fn introduce(extensions: &mut Extensions, peer: Peer) {
    extensions.insert(ConnectInfo(peer));
}

/// Serves one connection to its end. `said` puts on every request what the listener knows of it.
pub(crate) async fn serve_one<IO>(
    io: IO,
    router: Router,
    stop: CancellationToken,
    said: impl Fn(&mut Extensions) + Clone + Send + 'static,
) where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        said(request.extensions_mut());
        router.clone().oneshot(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(TokioIo::new(io), service)
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
        tracing::debug!(%error, "a connection ended early");
    }
}

#[cfg(test)]
#[path = "connections_tests.rs"]
mod tests;
