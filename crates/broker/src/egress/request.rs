//! A request of a sandbox, whole: what is decided on is what is sent.

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use bytes::{Bytes, BytesMut};
use cloister_control::ports::Outward;
use cloister_policy::egress::{Destination, Scheme};
use http_body_util::BodyExt;
use hyper::body::Body as HttpBody;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout, timeout_at};

use super::forward::TURN;
use super::headers;
use super::options::BODY_UNIT;
use super::outlet::Outlet;
use super::stopped::{Denied, Failure, Stopped};
use crate::secrets::{self, Going, Misplaced, Now};

/// A request that is all here.
pub(super) struct Whole {
    pub(super) to: Destination,
    pub(super) parts: Parts,
    pub(super) body: Bytes,
    /// The room that its body takes.
    _room: Option<OwnedSemaphorePermit>,
}

impl Outlet {
    /// Reads all of a request, within bounds, and makes its head ready for the other end.
    pub(super) async fn take_whole(
        &self,
        to: &Destination,
        mut parts: Parts,
        body: Body,
    ) -> Result<Whole, Stopped> {
        headers::strip(&mut parts.headers);
        parts.headers.remove(header::EXPECT);
        headers::shorten_agent(&mut parts.headers);
        let authority = HeaderValue::from_str(&to.authority()).map_err(|error| {
            Failure::bad_gateway(format!("{} can't be asked for: {error}", to.host))
        })?;
        parts.headers.insert(header::HOST, authority);
        let to = to.clone();
        if body.is_end_stream() {
            return Ok(Whole { to, parts, body: Bytes::new(), _room: None });
        }
        let length = body.size_hint().exact();
        let room = self.room_for(length, &to).await?;
        let until = Instant::now() + self.options().total();
        let body = timeout_at(until, self.read(body, &to)).await.map_err(|_elapsed| {
            Failure::timeout(format!("the request to {} did not come whole in time", to.host))
        })??;
        let reads = parts.method == Method::GET || parts.method == Method::HEAD;
        if reads && !body.is_empty() {
            let reason = format!("a {} has no body; what is sent goes with a POST", parts.method);
            return Err(Denied::new("body_in_read", &to.authority(), reason).into());
        }
        Ok(Whole { to, parts, body, _room: Some(room) })
    }

    /// Waits until this door may hold one more body.
    async fn room_for(
        &self,
        length: Option<u64>,
        to: &Destination,
    ) -> Result<OwnedSemaphorePermit, Stopped> {
        let limit = self.options().request_bytes;
        let length = length.unwrap_or(limit);
        if length > limit {
            return Err(too_large(&to.authority(), limit).into());
        }
        let units = u32::try_from(length.div_ceil(BODY_UNIT)).unwrap_or(u32::MAX);
        let waiting = std::sync::Arc::clone(&self.bodies).acquire_many_owned(units);
        match timeout(TURN, waiting).await {
            Ok(Ok(room)) => Ok(room),
            Ok(Err(_)) | Err(_) => {
                Err(Failure::busy("too much is being sent by this sandbox at once").into())
            }
        }
    }

    async fn read(&self, mut body: Body, to: &Destination) -> Result<Bytes, Stopped> {
        let limit = self.options().request_bytes;
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut read = BytesMut::new();
        loop {
            let frame = match timeout(self.options().idle(), body.frame()).await {
                Ok(None) => return Ok(read.freeze()),
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(error))) => {
                    tracing::debug!(%error, "a request broke off");
                    return Err(Failure::bad_gateway("the request broke off").into());
                }
                Err(_elapsed) => {
                    let message = format!("the request to {} did not come in time", to.host);
                    return Err(Failure::timeout(message).into());
                }
            };
            // Trailers end here, like all that is between us and the client.
            let Ok(data) = frame.into_data() else { continue };
            if read.len() + data.len() > most {
                return Err(too_large(&to.authority(), limit).into());
            }
            read.extend_from_slice(&data);
        }
    }

    /// Whether nobody on the way could read a secret, or the operator answers for the way.
    fn is_secure(&self, to: &Destination) -> bool {
        to.scheme == Scheme::Https || self.outside.dialer.is_pinned(to, self.workspace())
    }

    /// Finds the secrets that a request asks for, lets the gate decide on all of it, and puts their
    /// values on it.
    pub(super) async fn pass_gate(&self, whole: &mut Whole, now: &Now) -> Result<Cleared, Stopped> {
        let host = whole.to.authority();
        let going = Going {
            to: &whole.to,
            secure: self.is_secure(&whole.to),
            parts: &whole.parts,
            body: &whole.body,
        };
        let borne = secrets::find(&now.usable, &going).map_err(|wrong| denied(&host, &wrong))?;
        let query = secrets::shown_query(whole.parts.uri.query(), &borne);
        let outward = Outward {
            method: whole.parts.method.to_string(),
            to: whole.to.clone(),
            query: query.clone(),
            headers: secrets::shown_headers(&whole.parts, &borne),
            search: None,
            body: whole.body.clone(),
            secrets: borne.iter().map(|borne| borne.secret.name.to_string()).collect(),
        };
        let url = shown_url(&whole.to, query.as_deref());
        self.gate().ask(outward).await?;
        if !now.mask.is_empty() {
            secrets::ask_readably(&mut whole.parts);
        }
        for borne in &borne {
            secrets::ask_plainly(&mut whole.parts);
            self.put_secret(&mut whole.parts, borne, &host).await?;
        }
        Ok(Cleared { url, bears_secret: !borne.is_empty() })
    }

    async fn put_secret(
        &self,
        parts: &mut Parts,
        borne: &secrets::Borne<'_>,
        host: &str,
    ) -> Result<(), Denied> {
        let name = &borne.secret.name;
        self.gate().intend(name, host).await?;
        let failed = |error: &dyn std::error::Error| {
            tracing::error!(%error, secret = %name, "a secret could not be used");
            Denied::new("internal", host, format!("the secret {name} could not be opened"))
        };
        let opened = self.shelf.open(name).await.map_err(|error| failed(&error))?;
        // It may have been bound elsewhere since it was looked at.
        if opened.info.binding != borne.secret.binding {
            return Err(Denied::secret_misused(host, name, "its binding has just changed"));
        }
        let placed = opened.info.binding.place(&opened.value).map_err(|error| failed(&error))?;
        secrets::put(parts, borne.secret, &placed).map_err(|error| failed(&error))
    }

    /// Refuses a text that bears a handle: no secret goes that way.
    pub(super) fn refuse_handles(&self, now: &Now, host: &str, text: &str) -> Result<(), Denied> {
        secrets::nowhere(&now.usable, text.as_bytes()).map_err(|wrong| denied(host, &wrong))
    }
}

/// A request that may be sent.
pub(super) struct Cleared {
    /// Its address, with names in place of secrets.
    pub(super) url: String,
    pub(super) bears_secret: bool,
}

fn denied(host: &str, wrong: &Misplaced) -> Denied {
    match wrong {
        Misplaced::Unknown => Denied::secret_unknown(host),
        Misplaced::Misused { name, why } => Denied::secret_misused(host, name, why),
    }
}

fn shown_url(to: &Destination, query: Option<&str>) -> String {
    let Destination { scheme, path, .. } = to;
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    format!("{}://{}{path}{query}", scheme.as_str(), to.authority())
}

fn too_large(host: &str, limit: u64) -> Denied {
    let reason = format!(
        "a request has at most {limit} bytes, as all of it is looked at before anything is sent"
    );
    Denied::new("too_large", host, reason)
        .status(StatusCode::PAYLOAD_TOO_LARGE)
        .fix("Send it in smaller parts; the operator can raise request_bytes in [egress] of cloister.toml.")
}
