//! One request to one destination: decided, counted, sent, and its answer passed on.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, Uri, Version, header};
use axum::response::Response;
use cloister_policy::egress::Destination;
use cloister_protocol::with_causes;
use hyper::body::{Body as HttpBody, Incoming};
use hyper::client::conn::http1;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout, timeout_at};

use super::accounts::Tally;
use super::body::{Download, Lease, answer_too_large, over_budget};
use super::headers;
use super::known::{AnswerContent, Answered};
use super::outlet::Outlet;
use super::pool::{Origin, OriginConnection};
use super::ready::Ready;
use super::stopped::{Failure, Stopped};
use crate::secrets::{Mask, Masker};

/// How long a request waits for its turn when its door has many under way.
pub(super) const TURN: Duration = Duration::from_secs(30);
const HEAD_BYTES: usize = 64 << 10;
/// How much of an answer's text is looked through for links.
const KNOWN_TEXT: usize = 256 << 10;

/// How an answer is waited for.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    /// From the request to the head of its answer.
    pub(super) first_byte: Duration,
    /// How much of its text is looked through for links.
    pub(super) known_text: usize,
}

impl Outlet {
    /// What programs ask through the proxy.
    pub(super) async fn forward(
        self: &Arc<Self>,
        to: &Destination,
        parts: Parts,
        body: Body,
    ) -> Result<Response, Stopped> {
        let manner = Manner { first_byte: self.options().first_byte(), known_text: KNOWN_TEXT };
        self.forward_in(manner, to, parts, body).await
    }

    /// Sends one request out. Everything that keeps it in is decided here, for every request anew.
    pub(super) async fn forward_in(
        self: &Arc<Self>,
        manner: Manner,
        to: &Destination,
        parts: Parts,
        body: Body,
    ) -> Result<Response, Stopped> {
        let permit = self.turn().await?;
        self.gate().decide(to, parts.method.as_str()).await?;
        let now = self.secrets(&to.authority()).await?;
        let whole = self.take_whole(to, parts, body).await?;
        let (ready, answered) = self.pass_gate(whole, &now).await?;
        let tally = Arc::new(Tally::new(self.meter(to.host.as_str()).await?, to.host.clone()));
        tally.send(ready.bytes()).map_err(|over| over_budget(to.host.as_str(), over))?;
        self.gate().open(to.host.as_str()).await?;
        // Whoever had to be asked has answered: only from here on does time count.
        let deadline = Instant::now() + self.options().total();
        let (is_head, bears_secret) = (ready.method == Method::HEAD, ready.bears_secret);
        let (answer, lease) = self.ask(ready, manner, deadline).await?;
        let mask = now.mask;
        let to = AskedRequest { answered, bears_secret, is_head };
        let passing = Passing { permit, tally, lease, deadline, to, mask, manner };
        self.pass_on(answer, passing).await
    }

    /// Waits until this door may have one more request under way.
    async fn turn(&self) -> Result<OwnedSemaphorePermit, Stopped> {
        match timeout(TURN, Arc::clone(&self.requests).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => {
                Err(Failure::busy("too many requests of this sandbox are under way").into())
            }
        }
    }

    async fn ask(
        self: &Arc<Self>,
        ready: Ready,
        manner: Manner,
        deadline: Instant,
    ) -> Result<(Response<Incoming>, Lease), Stopped> {
        let to = &ready.to;
        let only = ready.addresses.as_deref();
        let origin = Origin::from(to);
        // How long an upload takes is up to the other end; its total time is bounded all the same.
        let until = if ready.body.is_empty() {
            deadline.min(Instant::now() + manner.first_byte)
        } else {
            deadline
        };
        let reads = ready.method == Method::GET || ready.method == Method::HEAD;
        let mut request = ready.request();
        if let Some(mut open) = self.pool.take(&origin, only).await {
            match timeout_at(until, open.sender.try_send_request(request)).await {
                Ok(Ok(answer)) => return Ok((answer, Lease { origin, open })),
                // The other end had closed the connection before this request reached it.
                Ok(Err(mut error)) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None if reads => request = ready.request(),
                    None => return Err(failed(to, error.error())),
                },
                Err(_elapsed) => return Err(no_answer(to)),
            }
        }
        let connected = match timeout_at(until, self.connect(to, only)).await {
            Ok(connected) => connected,
            Err(_elapsed) => Err(no_answer(to)),
        };
        let mut open = match connected {
            Ok(open) => open,
            Err(stopped) => {
                // It may have moved; where to is another question.
                if only.is_some() {
                    self.gate().lost(&to.host).await;
                }
                return Err(stopped);
            }
        };
        match timeout_at(until, open.sender.send_request(request)).await {
            Ok(Ok(answer)) => Ok((answer, Lease { origin, open })),
            Ok(Err(error)) => Err(failed(to, &error)),
            Err(_elapsed) => Err(no_answer(to)),
        }
    }

    async fn connect(
        &self,
        to: &Destination,
        only: Option<&[IpAddr]>,
    ) -> Result<OriginConnection, Stopped> {
        let (connection, at) = self.outside.dialer.dial(to, self.workspace(), only).await?;
        let shaken =
            http1::Builder::new().max_buf_size(HEAD_BYTES).handshake::<_, Body>(connection).await;
        let (sender, connection) = shaken.map_err(|error| {
            tracing::debug!(error = with_causes(&error), host = %to.host, "a host can't be asked");
            Failure::bad_gateway(format!("{} can't be asked", to.authority()))
        })?;
        self.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(
                    error = with_causes(&error),
                    "a connection to the outside ended early"
                );
            }
        });
        Ok(OriginConnection { sender, at })
    }

    async fn pass_on(
        self: &Arc<Self>,
        answer: Response<Incoming>,
        passing: Passing,
    ) -> Result<Response, Stopped> {
        let Passing { permit, tally, lease, deadline, to, mask, manner } = passing;
        let AskedRequest { answered, bears_secret, is_head } = to;
        let (mut parts, body) = answer.into_parts();
        let host = tally.host.clone();
        if parts.status == StatusCode::SWITCHING_PROTOCOLS {
            let message = format!("{host} wants to switch to another protocol");
            return Err(Failure::bad_gateway(message).into());
        }
        let limit = self.options().response_bytes;
        if body.size_hint().lower() > limit {
            return Err(answer_too_large(host.as_str(), limit).into());
        }
        if bears_secret && headers::is_encoded(&parts.headers) {
            let message =
                format!("{host} got a secret and answers so that it can't be looked through");
            return Err(Failure::bad_gateway(message).into());
        }
        headers::strip(&mut parts.headers);
        // It would send the client to another host or protocol, past this connection.
        parts.headers.remove(header::ALT_SVC);
        parts.version = Version::HTTP_11;
        parts.extensions.clear();
        if !mask.is_empty() {
            let hits = headers::mask(&mut parts.headers, &mask);
            self.shelf.note(hits, &format!("the head of an answer of {host}")).await;
            // What is masked has another length.
            if !is_head && !body.is_end_stream() {
                parts.headers.remove(header::CONTENT_LENGTH);
            }
        }
        let known =
            AnswerContent::begin(self.gate(), answered, &parts.headers, manner.known_text).await?;
        let outlet = Arc::clone(self);
        let masker = Masker::new(mask);
        let download =
            Download { outlet, body, left: limit, deadline, tally, lease, permit, masker, known };
        Ok(Response::from_parts(parts, download.into_body()))
    }
}

/// What goes with an answer until it has ended.
struct Passing {
    permit: OwnedSemaphorePermit,
    tally: Arc<Tally>,
    lease: Lease,
    deadline: Instant,
    to: AskedRequest,
    mask: Arc<Mask>,
    manner: Manner,
}

/// What an answer is to.
struct AskedRequest {
    answered: Answered,
    bears_secret: bool,
    is_head: bool,
}

/// In words of ours: what the other end wrote comes in by the one way that marks it, or not at all.
fn failed(to: &Destination, error: &hyper::Error) -> Stopped {
    tracing::debug!(error = with_causes(error), host = %to.host, "a host did not answer as it should");
    let why = if error.is_parse() {
        "what it sent is no HTTP that is understood here"
    } else if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
        "it closed the connection"
    } else {
        "the connection broke"
    };
    let message = format!("{} did not answer as it should: {why}", to.authority());
    Failure::bad_gateway(message).into()
}

fn no_answer(to: &Destination) -> Stopped {
    Failure::timeout(format!("{} did not answer in time", to.authority())).into()
}

/// The head of a request that the broker makes itself.
pub(super) fn own_get(path_and_query: &str, headers: HeaderMap) -> Result<Parts, Failure> {
    let uri: Uri = path_and_query.parse().map_err(|error| {
        Failure::bad_gateway(format!(
            "the address can't be asked for: {error}",
            error = with_causes(&error)
        ))
    })?;
    let mut request = axum::http::Request::new(());
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok(request.into_parts().0)
}
