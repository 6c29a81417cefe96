//! `/metrics`: for the operator's own machine and for whoever has the operator token.

use axum::extract::{ConnectInfo, State as Extract};
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;
use cloister_control::CONTENT_TYPE;
use cloister_protocol::ErrorCode;

use crate::auth::require_operator;
use crate::peer::Peer;
use crate::reply::Failure;
use crate::server::State;

/// What a proxy adds: a request with one of these may come from anywhere.
const FORWARDED: [&str; 4] = ["forwarded", "via", "x-forwarded-for", "x-real-ip"];

/// The numbers, as Prometheus reads them. Whoever may not see them learns not even that they exist.
pub(crate) async fn show(
    Extract(state): Extract<State>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, Failure> {
    if !is_local(peer, &headers) && require_operator(&state.operator, &headers).is_err() {
        return Err(Failure::new(ErrorCode::NotFound, "there is nothing at this address"));
    }
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], state.control.metrics_text().await))
}

/// Whether a request comes from this machine itself and not through a proxy on it.
fn is_local(peer: Peer, headers: &HeaderMap) -> bool {
    let forwarded = FORWARDED.iter().any(|name| headers.contains_key(*name));
    !forwarded && peer.0.is_none_or(|address| address.is_loopback())
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
