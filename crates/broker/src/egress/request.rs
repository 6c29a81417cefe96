//! A request of a sandbox: read whole, decided on, and built anew. Nothing of the program's own bytes
//! goes on.

use std::io::Read;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use bytes::{Bytes, BytesMut};
use cloister_control::ports::Outward;
use cloister_policy::egress::{Destination, Scheme, one_query};
use cloister_policy::outgoing::Outgoing;
use cloister_protocol::with_causes;
use flate2::read::MultiGzDecoder;
use http_body_util::BodyExt;
use hyper::body::Body as HttpBody;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout, timeout_at};

use super::forward::TURN;
use super::headers;
use super::known::Answered;
use super::options::BODY_UNIT;
use super::outlet::Outlet;
use super::ready::Ready;
use super::stopped::{Denied, Failure, Stopped};
use crate::secrets::{self, Fields, Going, Misplaced, Now};

/// A request that is all here, as the program asked for it.
pub(super) struct Whole {
    pub(super) to: Destination,
    parts: Parts,
    body: Bytes,
    /// The room that its body takes.
    room: Option<OwnedSemaphorePermit>,
}

impl Outlet {
    /// Reads all of a request, within bounds.
    pub(super) async fn take_whole(
        &self,
        to: &Destination,
        mut parts: Parts,
        body: Body,
    ) -> Result<Whole, Stopped> {
        headers::strip(&mut parts.headers);
        for name in [header::EXPECT, header::HOST, header::CONTENT_LENGTH] {
            parts.headers.remove(name);
        }
        let to = to.clone();
        parts.uri = spelled(&to, parts.uri.query().and_then(one_query).as_deref())?;
        if body.is_end_stream() {
            return Ok(Whole { to, parts, body: Bytes::new(), room: None });
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
        let body = self.unpacked(&mut parts.headers, body);
        Ok(Whole { to, parts, body, room: Some(room) })
    }

    /// What a compressed body says: that is what is judged, shown and sent. One that can't be unpacked
    /// within bounds stays as it is, and its header says so.
    fn unpacked(&self, headers: &mut HeaderMap, body: Bytes) -> Bytes {
        let zipped = headers.get(header::CONTENT_ENCODING).is_some_and(|value| {
            [&b"gzip"[..], b"x-gzip"].iter().any(|name| value.as_bytes().eq_ignore_ascii_case(name))
        });
        let limit = self.options().request_bytes;
        let mut plain = Vec::new();
        let mut reading = MultiGzDecoder::new(&body[..]).take(limit.saturating_add(1));
        if !zipped || reading.read_to_end(&mut plain).is_err() {
            return body;
        }
        if u64::try_from(plain.len()).is_ok_and(|length| length > limit) {
            return body;
        }
        headers.remove(header::CONTENT_ENCODING);
        plain.into()
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
                    tracing::debug!(error = with_causes(&error), "a request broke off");
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

    /// Finds the secrets that a request asks for, lets the gate decide on all of it, and makes what may
    /// be sent, with the values of the secrets on it.
    pub(super) async fn pass_gate(
        &self,
        whole: Whole,
        now: &Now,
    ) -> Result<(Ready, Answered), Stopped> {
        let Whole { to, parts, body, room } = whole;
        let host = to.authority();
        let secure = self.is_secure(&to);
        let going = Going { to: &to, secure, parts: &parts, body: &body };
        let borne = secrets::find(&now.usable, &going).map_err(|wrong| denied(&host, &wrong))?;
        let outward = Outward {
            method: parts.method.to_string(),
            to: to.clone(),
            query: secrets::shown_query(parts.uri.query(), &borne),
            headers: secrets::shown_headers(&parts, &borne),
            search: None,
            body,
            secrets: borne.iter().map(|borne| borne.secret.name.to_string()).collect(),
            addresses: None,
        };
        let clearance = self.gate().ask(outward, &self.outside.dialer).await?;
        let request = clearance.request();
        let mut fields = fields_of(request)?;
        for borne in &borne {
            self.put_secret(&mut fields, borne, &host).await?;
        }
        let git = request.git().filter(|read| read.lists);
        let repository = git.map(|read| read.place(request.to()));
        let answered = Answered { url: request.url(), repository };
        let ready = Ready::of(clearance, fields, !borne.is_empty(), room)?;
        Ok((ready, answered))
    }

    async fn put_secret(
        &self,
        fields: &mut Fields,
        borne: &secrets::Borne<'_>,
        host: &str,
    ) -> Result<(), Denied> {
        let name = &borne.secret.name;
        self.gate().intend(name, host).await?;
        let failed = |error: &dyn std::error::Error| {
            tracing::error!(error = with_causes(&error), secret = %name, "a secret could not be used");
            Denied::new("internal", host, format!("the secret {name} could not be opened"))
        };
        let opened = self.shelf.open(name).await.map_err(|error| failed(&error))?;
        // It may have been bound elsewhere since it was looked at.
        if opened.info.binding != borne.secret.binding {
            return Err(Denied::secret_misused(host, name, "its binding has just changed"));
        }
        let placed = opened.info.binding.place(&opened.value).map_err(|error| failed(&error))?;
        secrets::put(fields, borne.secret, &placed).map_err(|error| failed(&error))
    }

    /// Refuses a text that bears a handle: no secret goes that way.
    pub(super) fn refuse_handles(&self, now: &Now, host: &str, text: &str) -> Result<(), Denied> {
        secrets::nowhere(&now.usable, text.as_bytes()).map_err(|wrong| denied(host, &wrong))
    }
}

/// The head of what is sent, in its one order: the host, then the rest by name.
fn fields_of(request: &Outgoing) -> Result<Fields, Failure> {
    let host = request.to().authority();
    let bad = |error: &dyn std::error::Error| {
        Failure::bad_gateway(format!(
            "{host} can't be asked like this: {error}",
            error = with_causes(&error)
        ))
    };
    let mut headers = HeaderMap::new();
    headers.insert(header::HOST, HeaderValue::from_str(&host).map_err(|error| bad(&error))?);
    for (name, value) in request.headers() {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| bad(&error))?;
        let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|error| bad(&error))?;
        headers.insert(name, value);
    }
    Ok(Fields { query: request.query().map(str::to_owned), headers })
}

/// The path and the query alone, as a server wants them.
pub(super) fn spelled(to: &Destination, query: Option<&str>) -> Result<Uri, Failure> {
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    format!("{}{query}", to.path).parse().map_err(|error| {
        let (authority, why) = (to.authority(), with_causes(&error));
        Failure::bad_gateway(format!("{authority} can't be asked for this: {why}"))
    })
}

fn denied(host: &str, wrong: &Misplaced) -> Denied {
    match wrong {
        Misplaced::Unknown => Denied::secret_unknown(host),
        Misplaced::Misused { name, why } => Denied::secret_misused(host, name, why),
    }
}

fn too_large(host: &str, limit: u64) -> Denied {
    let reason = format!(
        "a request has at most {limit} bytes, as all of it is looked at before anything is sent"
    );
    Denied::new("too_large", host, reason)
        .status(StatusCode::PAYLOAD_TOO_LARGE)
        .fix("Send it in smaller parts; the operator can raise request_bytes in [egress] of cloister.toml.")
}
