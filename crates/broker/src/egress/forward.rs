//! One request to one destination: decided, counted, sent, and its answer passed on.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, Version, header};
use axum::response::Response;
use cloister_policy::egress::Destination;
use hyper::body::{Body as HttpBody, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout, timeout_at};

use super::accounts::Tally;
use super::body::{Cut, Download, Lease, Upload, answer_too_large, over_budget};
use super::headers;
use super::outlet::Outlet;
use super::pool::Origin;
use super::stopped::{Failure, Stopped};

/// How long a request waits for its turn when its door has many under way.
const TURN: Duration = Duration::from_secs(30);
const HEAD_BYTES: usize = 64 << 10;

impl Outlet {
    /// Sends one request out. Everything that keeps it in is decided here, for every request anew.
    pub(super) async fn forward(
        self: &Arc<Self>,
        to: &Destination,
        mut parts: Parts,
        body: Body,
    ) -> Result<Response, Stopped> {
        let permit = self.turn().await?;
        self.gate().decide(to, parts.method.as_str()).await?;
        headers::strip(&mut parts.headers);
        parts.headers.remove(header::EXPECT);
        let authority = HeaderValue::from_str(&to.authority()).map_err(|error| {
            Failure::bad_gateway(format!("{} can't be asked for: {error}", to.host))
        })?;
        parts.headers.insert(header::HOST, authority);
        let tally = Arc::new(Tally::new(self.meter(to.host.as_str()).await?, to.host.clone()));
        tally
            .send(headers::head_bytes(&parts))
            .map_err(|over| over_budget(to.host.as_str(), over))?;
        self.gate().open(to.host.as_str()).await?;
        let deadline = Instant::now() + self.options().total();
        let (answer, lease) = self.ask(to, parts, body, &tally, deadline).await?;
        self.pass_on(answer, Passing { permit, tally, lease, deadline })
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
        to: &Destination,
        parts: Parts,
        body: Body,
        tally: &Arc<Tally>,
        deadline: Instant,
    ) -> Result<(Response<Incoming>, Lease), Stopped> {
        let origin = Origin::from(to);
        let empty = body.is_end_stream();
        let cut = Cut::default();
        let upload =
            Upload::new(body, self.options().request_bytes, Arc::clone(tally), Arc::clone(&cut));
        // How long an upload takes is up to the client; its total time is bounded all the same.
        let until = if empty {
            deadline.min(Instant::now() + self.options().first_byte())
        } else {
            deadline
        };
        let repeatable = empty && (parts.method == Method::GET || parts.method == Method::HEAD);
        let again = repeatable.then(|| request(&parts, Body::empty()));
        let mut request = request(&parts, Body::new(upload));
        if let Some(mut sender) = self.pool.take(&origin).await {
            match timeout_at(until, sender.try_send_request(request)).await {
                Ok(Ok(answer)) => return Ok((answer, Lease { origin, sender })),
                // The other end had closed the connection before this request reached it.
                Ok(Err(mut error)) => match (error.take_message(), again) {
                    (Some(unsent), _) => request = unsent,
                    (None, Some(again)) => request = again,
                    (None, None) => return Err(failed(to, &cut, error.error())),
                },
                Err(_elapsed) => return Err(no_answer(to)),
            }
        }
        let mut sender = match timeout_at(until, self.connect(to)).await {
            Ok(connected) => connected?,
            Err(_elapsed) => return Err(no_answer(to)),
        };
        match timeout_at(until, sender.send_request(request)).await {
            Ok(Ok(answer)) => Ok((answer, Lease { origin, sender })),
            Ok(Err(error)) => Err(failed(to, &cut, &error)),
            Err(_elapsed) => Err(no_answer(to)),
        }
    }

    async fn connect(&self, to: &Destination) -> Result<SendRequest<Body>, Stopped> {
        let connection = self.outside.dialer.dial(to).await?;
        let shaken =
            http1::Builder::new().max_buf_size(HEAD_BYTES).handshake::<_, Body>(connection).await;
        let (sender, connection) = shaken.map_err(|error| {
            Failure::bad_gateway(format!("{} can't be asked: {error}", to.authority()))
        })?;
        self.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to the outside ended early");
            }
        });
        Ok(sender)
    }

    fn pass_on(
        self: &Arc<Self>,
        answer: Response<Incoming>,
        passing: Passing,
    ) -> Result<Response, Stopped> {
        let Passing { permit, tally, lease, deadline } = passing;
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
        headers::strip(&mut parts.headers);
        // It would send the client to another host or protocol, past this connection.
        parts.headers.remove(header::ALT_SVC);
        parts.version = Version::HTTP_11;
        parts.extensions.clear();
        let outlet = Arc::clone(self);
        let download = Download { outlet, body, left: limit, deadline, tally, lease, permit };
        Ok(Response::from_parts(parts, download.into_body()))
    }
}

/// What goes with an answer until it has ended.
struct Passing {
    permit: OwnedSemaphorePermit,
    tally: Arc<Tally>,
    lease: Lease,
    deadline: Instant,
}

fn request(parts: &Parts, body: Body) -> hyper::Request<Body> {
    let mut request = hyper::Request::new(body);
    *request.method_mut() = parts.method.clone();
    *request.uri_mut() = origin_form(&parts.uri);
    *request.headers_mut() = parts.headers.clone();
    request
}

/// The path and the query alone, as a server wants them.
fn origin_form(uri: &Uri) -> Uri {
    let path = uri.path_and_query().cloned();
    path.map_or_else(|| Uri::from_static("/"), Uri::from)
}

fn failed(to: &Destination, cut: &Cut, error: &hyper::Error) -> Stopped {
    if let Some(denied) = cut.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return denied.into();
    }
    let message = format!("{} did not answer as it should: {error}", to.authority());
    Failure::bad_gateway(message).into()
}

fn no_answer(to: &Destination) -> Stopped {
    Failure::timeout(format!("{} did not answer in time", to.authority())).into()
}

/// The head of a request that the broker makes itself.
pub(super) fn own_get(path_and_query: &str, headers: HeaderMap) -> Result<Parts, Failure> {
    let uri: Uri = path_and_query.parse().map_err(|error| {
        Failure::bad_gateway(format!("the address can't be asked for: {error}"))
    })?;
    let mut request = axum::http::Request::new(());
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok(request.into_parts().0)
}
