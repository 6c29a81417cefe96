//! `/metrics`: for the operator's own machine and for whoever has the operator token.

use std::net::IpAddr;

use axum::extract::{ConnectInfo, State as Extract};
use axum::http::uri::Authority;
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
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], state.control.status().metrics_text().await))
}

/// Whether a request comes from this machine itself, and neither through a proxy on it nor from a page
/// whose name was made to point here.
fn is_local(peer: Peer, headers: &HeaderMap) -> bool {
    let forwarded = FORWARDED.iter().any(|name| headers.contains_key(*name));
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    !forwarded
        && peer.0.is_none_or(|address| address.is_loopback() && host.is_some_and(names_loopback))
}

fn names_loopback(host: &str) -> bool {
    let uri: Option<Authority> = host.parse().ok();
    uri.is_some_and(|uri| {
        let name = uri.host().trim_start_matches('[').trim_end_matches(']');
        name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    })
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
