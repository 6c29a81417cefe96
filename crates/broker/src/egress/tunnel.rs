//! Inside of a tunnel: TLS with a certificate of the door's own authority, then HTTP/1.1.
//!
//! That the broker reads the requests is what lets it decide by path and method, count them, and put
//! credentials on them that the sandbox never holds.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use cloister_policy::egress::Destination;
use cloister_protocol::with_causes;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::upgrade::Upgraded;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::server::Acceptor;
use tokio::time::timeout;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;

use super::outlet::Outlet;
use super::proxy;
use super::stopped::{Denied, shown};

const HANDSHAKE: Duration = Duration::from_secs(10);
const HEAD_BYTES: usize = 64 << 10;

/// Serves what comes through a tunnel until either side ends it.
pub(super) async fn run(outlet: Arc<Outlet>, upgraded: Upgraded, to: Destination) {
    let Some((stream, named)) = accept(&outlet, upgraded, &to).await else { return };
    // Refused by an answer, not by a broken handshake: a program prints the one and not the other.
    let mismatch = mismatch(&to, named.as_deref()).map(Arc::new);
    let header_read = outlet.header_read;
    let to = Arc::new(to);
    let service = service_fn(move |request: Request<Incoming>| {
        let (outlet, to, mismatch) = (Arc::clone(&outlet), Arc::clone(&to), mismatch.clone());
        async move { Ok::<_, Infallible>(answer(&outlet, &to, mismatch.as_deref(), request).await) }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(header_read)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = served.await {
        tracing::debug!(error = with_causes(&error), "a tunnel ended early");
    }
}

/// The handshake, and the name that the client asked for in it.
async fn accept(
    outlet: &Outlet,
    upgraded: Upgraded,
    to: &Destination,
) -> Option<(TlsStream<TokioIo<Upgraded>>, Option<String>)> {
    let config = match outlet.authority().map(|authority| authority.server_for(&to.host)) {
        Ok(Ok(config)) => config,
        Ok(Err(error)) => {
            tracing::error!(error = with_causes(&error), host = %to.host, "a certificate for a tunnel could not be made");
            return None;
        }
        Err(refusal) => {
            tracing::debug!(error = refusal.error.message, "a tunnel was not served");
            return None;
        }
    };
    let shaking = async {
        let hello = LazyConfigAcceptor::new(Acceptor::default(), TokioIo::new(upgraded)).await?;
        let named = hello.client_hello().server_name().map(str::to_owned);
        Ok::<_, std::io::Error>((hello.into_stream(config).await?, named))
    };
    match timeout(HANDSHAKE, shaking).await {
        Ok(Ok(accepted)) => Some(accepted),
        Ok(Err(error)) => {
            tracing::debug!(error = with_causes(&error), host = %to.host, "what came through a tunnel was not TLS");
            None
        }
        Err(_elapsed) => None,
    }
}

fn mismatch(to: &Destination, named: Option<&str>) -> Option<Denied> {
    let reason = match named {
        Some(name) if name.eq_ignore_ascii_case(to.host.as_str()) => return None,
        Some(name) => format!("the TLS handshake asks for {}", shown(name)),
        None => "the TLS handshake does not name the host".to_owned(),
    };
    Some(Denied::new("host_mismatch", &to.authority(), reason))
}

async fn answer(
    outlet: &Arc<Outlet>,
    to: &Destination,
    mismatch: Option<&Denied>,
    request: Request<Incoming>,
) -> Response {
    outlet.pace.wait().await;
    let passed = match mismatch {
        Some(denied) => Err(denied.clone().into()),
        None => {
            let (parts, body) = request.into_parts();
            proxy::pass_in_tunnel(outlet, to, parts, Body::new(body)).await
        }
    };
    match passed {
        Ok(response) => response,
        Err(stopped) => outlet.record(stopped).await.to_proxy_client(),
    }
}
