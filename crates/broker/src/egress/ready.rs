//! What may be sent, as it is sent: there is none without a clearance, and each is sent from one.

use cloister_protocol::with_causes;
use std::net::IpAddr;

use axum::body::Body;
use axum::http::{HeaderMap, Method, Uri};
use bytes::Bytes;
use cloister_control::ports::Clearance;
use cloister_policy::egress::Destination;
use tokio::sync::OwnedSemaphorePermit;

use super::request::spelled;
use super::stopped::Failure;
use crate::secrets::Fields;

/// A request that may be sent, as it is sent.
pub(super) struct Ready {
    pub(super) to: Destination,
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// The only addresses that it may go to, where a person has decided on them.
    pub(super) addresses: Option<Vec<IpAddr>>,
    pub(super) bears_secret: bool,
    // Private, so that nobody else makes one.
    _room: Option<OwnedSemaphorePermit>,
}

impl Ready {
    /// What was cleared, with the secrets on it.
    pub(super) fn of(
        clearance: Clearance,
        fields: Fields,
        bears_secret: bool,
        room: Option<OwnedSemaphorePermit>,
    ) -> Result<Self, Failure> {
        let (request, addresses) = clearance.into_parts();
        let host = request.to().authority();
        let method = Method::from_bytes(request.method().as_str().as_bytes()).map_err(|error| {
            Failure::bad_gateway(format!(
                "{host} can't be asked: {error}",
                error = with_causes(&error)
            ))
        })?;
        Ok(Self {
            uri: spelled(request.to(), fields.query.as_deref())?,
            to: request.to().clone(),
            method,
            headers: fields.headers,
            body: request.body().clone(),
            addresses,
            bears_secret,
            _room: room,
        })
    }

    pub(super) fn request(&self) -> hyper::Request<Body> {
        let mut request = hyper::Request::new(Body::from(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }

    /// How many bytes it is on the wire, nearly.
    pub(super) fn bytes(&self) -> u64 {
        let line =
            self.method.as_str().len() + self.uri.path_and_query().map_or(1, |p| p.as_str().len());
        let fields = self.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
        let all = line + 14 + fields.sum::<usize>() + self.body.len();
        u64::try_from(all).unwrap_or(u64::MAX)
    }
}
