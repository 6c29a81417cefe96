//! `/fetch`: one page for the agent, with redirects followed here, each decided like a request.

use std::collections::HashSet;
use std::sync::Arc;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use cloister_policy::egress::{Authority, Destination, Scheme, one_path};
use cloister_protocol::with_causes;
use http_body_util::BodyExt;
use serde::Deserialize;
use tokio::time::timeout;
use url::Url;

use super::forward::{Manner, own_get};
use super::headers::{self, MAX_URL_BYTES};
use super::outlet::Outlet;
use super::stopped::{Denied, Failure, Stopped, shown};

const MAX_REDIRECTS: usize = 5;
/// A page is shown as text, so that links may be far into it.
const KNOWN_TEXT: usize = 2 << 20;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FetchRequest {
    url: String,
    max_bytes: Option<u64>,
    /// The name of a secret to put on the request.
    secret: Option<String>,
}

/// An address that means one thing only.
#[derive(Clone, Debug)]
struct Address {
    url: Url,
    to: Destination,
}

impl Outlet {
    pub(super) async fn fetch(self: &Arc<Self>, asked: FetchRequest) -> Result<Response, Stopped> {
        let _permit = Arc::clone(&self.fetches).try_acquire_owned().map_err(|full| {
            tracing::debug!(%full, "a page was not fetched");
            Failure::busy("too many pages are being fetched")
        })?;
        let limit = self.options().fetch_bytes;
        let limit = asked.max_bytes.unwrap_or(limit).min(limit);
        let (address, answer) = self.follow(&asked).await?;
        let (parts, body) = answer.into_parts();
        let within = self.options().fetch();
        let reading = timeout(within, read(body, limit, address.to.host.as_str()));
        let (body, truncated) = reading.await.map_err(|_elapsed| {
            Failure::timeout(format!("the page did not come within {within:?}"))
        })??;
        Ok(page(&address, parts.status, &parts.headers, body, truncated))
    }

    /// Asks for the page, and for what it redirects to. A secret goes no further than to the host that
    /// it was meant for.
    async fn follow(
        self: &Arc<Self>,
        asked: &FetchRequest,
    ) -> Result<(Address, Response), Stopped> {
        let mut address = Address::parse(&asked.url)?;
        let first_byte = self.options().first_byte().min(self.options().fetch());
        let manner = Manner { first_byte, known_text: KNOWN_TEXT };
        let mut bearer = asked.secret.as_deref();
        let mut seen = HashSet::new();
        loop {
            self.pace.wait().await;
            seen.insert(address.url.to_string());
            let mut head = own_get(address.path_and_query(), own_headers())?;
            if let Some(name) = bearer {
                self.put_handle(name, &address, &mut head).await?;
            }
            let answer = self.forward_in(manner, &address.to, head, Body::empty()).await?;
            let Some(next) = redirect(&address, &answer)? else { return Ok((address, answer)) };
            if address.to.scheme == Scheme::Https && next.to.scheme == Scheme::Http {
                let reason = "it redirects to an address without encryption";
                return Err(Denied::new("downgrade", &address.to.authority(), reason).into());
            }
            if seen.len() > MAX_REDIRECTS || seen.contains(next.url.as_str()) {
                let reason = format!("it redirects in a loop, or more than {MAX_REDIRECTS} times");
                return Err(Denied::new("redirects", &address.to.authority(), reason).into());
            }
            if next.to.host != address.to.host || next.to.port != address.to.port {
                bearer = None;
            }
            address = next;
        }
    }

    /// Puts the handle of a secret on a request, as a program would: what follows judges both alike.
    async fn put_handle(
        &self,
        name: &str,
        address: &Address,
        head: &mut Parts,
    ) -> Result<(), Denied> {
        let host = address.to.authority();
        let now = self.secrets(&host).await?;
        let secret = now.named(name).ok_or_else(|| {
            let reason = format!("there is no secret {} for this task", shown(name));
            Denied::new("no_secret", &host, reason).fix("GET /secrets lists those there are.")
        })?;
        secret.put_handle(head);
        Ok(())
    }
}

/// What it is asked with says how it is wanted, and nothing else.
fn own_headers() -> HeaderMap {
    HeaderMap::from_iter([(
        header::ACCEPT,
        HeaderValue::from_static("text/html, text/*;q=0.9, */*;q=0.5"),
    )])
}

fn redirect(from: &Address, answer: &Response) -> Result<Option<Address>, Stopped> {
    let redirects = matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(location) = answer.headers().get(header::LOCATION).filter(|_| redirects) else {
        return Ok(None);
    };
    let next = location.to_str().ok().and_then(|text| {
        let joined = Address::join(from, text);
        joined.inspect_err(|denied| tracing::debug!(why = denied.message(), "a redirect")).ok()
    });
    // Not in the words of who redirects.
    let reason = "it redirects to what is no address that is served";
    next.map(Some).ok_or_else(|| Denied::new("bad_host", &from.to.authority(), reason).into())
}

async fn read(mut body: Body, limit: u64, host: &str) -> Result<(Bytes, bool), Stopped> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut read = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            tracing::debug!(error = with_causes(&error), "a page broke off");
            Failure::bad_gateway(format!("the page of {host} broke off"))
        })?;
        let Ok(data) = frame.into_data() else { continue };
        read.extend_from_slice(&data);
        if read.len() > limit {
            read.truncate(limit);
            return Ok((read.freeze(), true));
        }
    }
    Ok((read.freeze(), false))
}

fn page(
    address: &Address,
    status: StatusCode,
    origin: &HeaderMap,
    body: Bytes,
    truncated: bool,
) -> Response {
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    for name in [header::CONTENT_TYPE, header::CONTENT_ENCODING] {
        if let Some(value) = origin.get(&name) {
            headers.insert(name, value.clone());
        }
    }
    if let Ok(url) = HeaderValue::from_str(address.url.as_str()) {
        headers.insert(HeaderName::from_static("x-cloister-url"), url);
    }
    headers
        .insert(HeaderName::from_static("x-cloister-status"), HeaderValue::from(status.as_u16()));
    let truncated = HeaderValue::from_static(if truncated { "true" } else { "false" });
    headers.insert(HeaderName::from_static("x-cloister-truncated"), truncated);
    response
}

impl Address {
    /// Reads an address strictly. The parser of browsers is more forgiving than anyone can follow, so
    /// that what it makes of the text must be what the text says.
    fn parse(text: &str) -> Result<Self, Denied> {
        let denied = |kind, reason: &str| Denied::new(kind, text, reason);
        check_text(text)?;
        let (scheme, rest) = text.split_once("://").ok_or_else(|| {
            denied("bad_host", "it is not an address such as https://example.com/")
        })?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(denied("bad_scheme", "only http and https are served")),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let authority = rest.get(..end).unwrap_or_default();
        let said: Authority =
            authority.parse().map_err(|error| headers::bad_authority(authority, &error))?;
        let url = Url::parse(text).map_err(|error| {
            Denied::new(
                "bad_host",
                authority,
                format!("the address can't be read: {error}", error = with_causes(&error)),
            )
        })?;
        let port = said.port.unwrap_or(scheme.default_port());
        let same = url.host_str() == Some(said.host.as_str())
            && url.port_or_known_default() == Some(port)
            && url.scheme() == scheme.as_str();
        if !same {
            return Err(denied("bad_host", "the address can be read in more than one way"));
        }
        Ok(Self::of(url, scheme, said, port))
    }

    /// Where a redirect leads.
    fn join(&self, location: &str) -> Result<Self, Denied> {
        check_text(location)?;
        if location.contains("://") && !location.starts_with(['/', '?', '#']) {
            return Self::parse(location);
        }
        let url = self.url.join(location).map_err(|error| {
            let reason =
                format!("it redirects to what is no address: {error}", error = with_causes(&error));
            Denied::new("bad_host", &self.to.authority(), reason)
        })?;
        // Also `//other.example/path` is read strictly, now that it is whole.
        Self::parse(url.as_str())
    }

    fn of(mut url: Url, scheme: Scheme, authority: Authority, port: u16) -> Self {
        url.set_fragment(None);
        let path = one_path(url.path());
        Self { url, to: Destination { scheme, host: authority.host, port, path } }
    }

    fn path_and_query(&self) -> &str {
        self.url.as_str().get(self.path_start()..).unwrap_or("/")
    }

    /// Behind the authority, which has no slash.
    fn path_start(&self) -> usize {
        let url = self.url.as_str();
        let authority = url.find("://").map_or(0, |at| at + 3);
        url.get(authority..).and_then(|rest| rest.find('/')).map_or(url.len(), |at| authority + at)
    }
}

fn check_text(text: &str) -> Result<(), Denied> {
    if text.len() > MAX_URL_BYTES {
        let reason = format!("an address has at most {MAX_URL_BYTES} bytes");
        return Err(Denied::new("too_long", text, reason).status(StatusCode::URI_TOO_LONG));
    }
    match text.chars().find(|c| c.is_control() || c.is_whitespace() || *c == '\\') {
        Some(bad) => Err(Denied::new("bad_host", text, format!("an address has no {bad:?}"))),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "fetch_tests.rs"]
mod tests;
