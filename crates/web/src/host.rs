//! Whether a request is meant for us: a name that somebody made to point here is not ours.

use std::net::IpAddr;

use axum::extract::{Request, State as Extract};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use cloister_protocol::ErrorCode;

use crate::reply::Failure;
use crate::server::State;

/// What a monitor may ask under any name: it says nothing of anybody.
const FOR_MONITORS: [&str; 2] = ["/healthz", "/readyz"];

/// Refuses what a browser sends under a name that is not ours. A program that sends its token itself
/// knows where it sends it.
pub(crate) async fn ours_only(
    Extract(state): Extract<State>,
    request: Request,
    next: Next,
) -> Response {
    let by_token = request.headers().contains_key(header::AUTHORIZATION);
    let open = by_token || FOR_MONITORS.contains(&request.uri().path());
    if !open && !is_ours(request.headers(), &state.url) {
        return Failure::new(ErrorCode::Forbidden, "this is not the name of this server")
            .fix("open it by its own address; `url` in cloister.toml says which one that is")
            .into_response();
    }
    next.run(request).await
}

/// Whether the request names us as we are called: by an address, by a name that nobody outside can give
/// out, or by the name in our own URL.
fn is_ours(headers: &HeaderMap, url: &str) -> bool {
    let mut named = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (named.next(), named.next()) else { return false };
    let Some(host) = host.to_str().ok().and_then(host_of) else { return false };
    let own = url.split_once("://").and_then(|(_, authority)| host_of(authority));
    host.parse::<IpAddr>().is_ok()
        || own.is_some_and(|own| own.eq_ignore_ascii_case(&host))
        || is_of_this_network(&host)
}

/// `localhost`, and names without a dot, which no name server of the internet answers.
fn is_of_this_network(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    !host.contains('.') || host.ends_with(".localhost")
}

fn host_of(authority: &str) -> Option<String> {
    let parsed: Authority = authority.parse().ok()?;
    let host = parsed.host().trim_start_matches('[').trim_end_matches(']');
    (!host.is_empty() && !authority.contains('@')).then(|| host.to_owned())
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
