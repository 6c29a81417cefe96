//! The HTTP proxy that ordinary programs in the sandbox use.

use std::sync::Arc;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{Method, Request};
use axum::response::Response;
use cloister_policy::egress::{Authority, Destination, Scheme, one_path};
use cloister_protocol::with_causes;
use hyper::body::Incoming;

use super::headers;
use super::outlet::Outlet;
use super::stopped::{Denied, Failure, Stopped};
use super::tunnel;

/// Whether a request is for the proxy, and not for the door itself.
pub(crate) fn is_for_proxy<B>(request: &Request<B>) -> bool {
    request.method() == Method::CONNECT || request.uri().authority().is_some()
}

pub(crate) async fn serve(outlet: Arc<Outlet>, request: Request<Incoming>) -> Response {
    // A program can do nothing with "too fast", so it waits; also for its refusals.
    outlet.pace.wait().await;
    let served = if request.method() == Method::CONNECT {
        open_tunnel(&outlet, request).await
    } else {
        pass(&outlet, request).await
    };
    match served {
        Ok(response) => response,
        Err(stopped) => outlet.record(stopped).await.to_proxy_client(),
    }
}

/// `GET http://host/path`.
async fn pass(outlet: &Arc<Outlet>, request: Request<Incoming>) -> Result<Response, Stopped> {
    let (parts, body) = request.into_parts();
    let to = headers::destination_of(&parts.uri)?;
    headers::check_host_header(&parts, &to)?;
    headers::check_form(&parts, &to)?;
    outlet.forward(&to, parts, Body::new(body)).await
}

/// `CONNECT host:443`. What is inside is TLS, which ends at the broker.
async fn open_tunnel(
    outlet: &Arc<Outlet>,
    mut request: Request<Incoming>,
) -> Result<Response, Stopped> {
    let to = tunnel_destination(&request)?;
    outlet.gate().decide_origin(&to).await?;
    let permit = Arc::clone(&outlet.tunnels).try_acquire_owned().map_err(|full| {
        tracing::debug!(%full, "a tunnel was not opened");
        Failure::busy("too many tunnels of this sandbox are open")
    })?;
    let upgrade = hyper::upgrade::on(&mut request);
    let inside = Arc::clone(outlet);
    outlet.spawn(async move {
        match upgrade.await {
            Ok(upgraded) => tunnel::run(inside, upgraded, to).await,
            Err(error) => tracing::debug!(
                error = with_causes(&error),
                "a tunnel was given up before it was open"
            ),
        }
        drop(permit);
    });
    Ok(Response::new(Body::empty()))
}

fn tunnel_destination(request: &Request<Incoming>) -> Result<Destination, Denied> {
    let text = request.uri().authority().map_or("", |authority| authority.as_str());
    let Authority { host, port } =
        text.parse().map_err(|error| headers::bad_authority(text, &error))?;
    let port = port.ok_or_else(|| Denied::new("bad_host", text, "a tunnel names its port"))?;
    Ok(Destination { scheme: Scheme::Https, host, port, path: String::new() })
}

/// A request inside of a tunnel: for the tunnel's host, and for no other.
pub(super) async fn pass_in_tunnel(
    outlet: &Arc<Outlet>,
    tunnel: &Destination,
    parts: Parts,
    body: Body,
) -> Result<Response, Stopped> {
    let denied = |reason: &str| Denied::new("host_mismatch", &tunnel.authority(), reason);
    if parts.method == Method::CONNECT {
        return Err(denied("there are no tunnels in tunnels").into());
    }
    let to = Destination { path: one_path(parts.uri.path()), ..tunnel.clone() };
    if parts.uri.authority().is_some() {
        let named = headers::destination_of(&parts.uri)?;
        if named != to {
            return Err(denied("the request names another host than its tunnel").into());
        }
    }
    headers::check_host_header(&parts, &to)?;
    headers::check_form(&parts, &to)?;
    outlet.forward(&to, parts, body).await
}
