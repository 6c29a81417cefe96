//! Headers that end at the broker, headers that give a secret away, and the checks that a request means one host only.

use std::sync::Arc;

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use bytes::Bytes;
use cloister_policy::egress::{
    Authority, AuthorityError, Destination, HostError, Scheme, one_path,
};
use cloister_vault::SecretName;

use super::stopped::Denied;
use crate::secrets::{Mask, Masker};

/// The longest address of a request.
pub(super) const MAX_URL_BYTES: usize = 8 << 10;

/// Meant for the next machine only, which is us.
const HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Takes out what is not for the other end.
pub(super) fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        // The length frames the body; whoever lists it here wants it to be read in two ways.
        .filter(|name| *name != header::CONTENT_LENGTH && *name != header::HOST)
        .collect();
    for name in HOP_BY_HOP.iter().chain(&named) {
        headers.remove(name);
    }
    let ours: Vec<HeaderName> = headers
        .keys()
        .filter(|name| {
            name.as_str().starts_with("proxy-") || name.as_str().starts_with("x-cloister-")
        })
        .cloned()
        .collect();
    for name in ours {
        headers.remove(name);
    }
}

/// Whether a body is written in a way that nothing can be found in.
pub(super) fn is_encoded(headers: &HeaderMap) -> bool {
    let encodings = headers.get_all(header::CONTENT_ENCODING).iter();
    encodings.into_iter().any(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// Masks the values of headers; returns the secrets that were in them.
pub(super) fn mask(headers: &mut HeaderMap, mask: &Arc<Mask>) -> Vec<SecretName> {
    let mut hits = Vec::new();
    for (_, value) in headers.iter_mut() {
        let mut masker = Masker::new(Arc::clone(mask));
        let begin = masker.push(Bytes::copy_from_slice(value.as_bytes()));
        let shown = [begin, masker.finish()].concat();
        let found = masker.new_hits();
        if !found.is_empty() {
            *value = HeaderValue::from_bytes(&shown)
                .unwrap_or_else(|_invalid| HeaderValue::from_static("[secret]"));
            hits.extend(found);
        }
    }
    hits
}

pub(super) fn bad_authority(text: &str, error: &AuthorityError) -> Denied {
    let kind = match error {
        AuthorityError::Host(HostError::AddressLiteral) => "address_literal",
        AuthorityError::Host(_) | AuthorityError::Port | AuthorityError::UserInfo => "bad_host",
    };
    let denied = Denied::new(kind, text, error.to_string());
    match error {
        AuthorityError::Host(HostError::AddressLiteral) => {
            denied.fix("Use the name of the host; the owner can allow that.")
        }
        AuthorityError::Host(_) | AuthorityError::Port | AuthorityError::UserInfo => denied,
    }
}

/// Where a request of the form `GET http://host/path` goes.
pub(super) fn destination_of(uri: &Uri) -> Result<Destination, Denied> {
    let text = uri.authority().map_or("", |authority| authority.as_str());
    let scheme = match uri.scheme_str() {
        Some("http") => Scheme::Http,
        Some("https") => Scheme::Https,
        Some(other) => {
            let reason = format!("{other} is not served, only http and https");
            return Err(Denied::new("bad_scheme", text, reason));
        }
        None => return Err(Denied::new("bad_host", text, "the request names no scheme")),
    };
    let Authority { host, port } = text.parse().map_err(|error| bad_authority(text, &error))?;
    let port = port.unwrap_or(scheme.default_port());
    Ok(Destination { scheme, host, port, path: one_path(uri.path()) })
}

/// Refuses a request that one server would read as for this host and another as for that one.
pub(super) fn check_host_header(parts: &Parts, to: &Destination) -> Result<(), Denied> {
    let denied = |reason: String| Denied::new("host_mismatch", &to.authority(), reason);
    let mut given = parts.headers.get_all(header::HOST).iter();
    let Some(value) = given.next() else {
        // Programs of HTTP/1.0 don't say it.
        let may_miss = parts.version == axum::http::Version::HTTP_10;
        return if may_miss { Ok(()) } else { Err(denied("there is no Host header".to_owned())) };
    };
    if given.next().is_some() {
        return Err(denied("there are several Host headers".to_owned()));
    }
    let text = value.to_str().unwrap_or("?");
    let authority: Authority = text.parse().map_err(|error| bad_authority(text, &error))?;
    let port = authority.port.unwrap_or(to.scheme.default_port());
    if authority.host != to.host || port != to.port {
        return Err(denied(format!("the Host header says {}", super::stopped::shown(text))));
    }
    Ok(())
}

pub(super) fn check_form(parts: &Parts, to: &Destination) -> Result<(), Denied> {
    let length = parts.uri.path_and_query().map_or(0, |path| path.as_str().len());
    if length + to.host.as_str().len() > MAX_URL_BYTES {
        let reason = format!("an address has at most {MAX_URL_BYTES} bytes");
        return Err(Denied::new("too_long", &to.authority(), reason)
            .status(axum::http::StatusCode::URI_TOO_LONG));
    }
    if parts.headers.contains_key(header::UPGRADE) {
        let reason = "WebSockets and other upgrades are not let out";
        return Err(Denied::new("upgrade", &to.authority(), reason));
    }
    Ok(())
}

#[cfg(test)]
#[path = "headers_tests.rs"]
mod tests;
