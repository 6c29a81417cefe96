//! Enrolment: the one thing that a connection without a certificate can ask for.

use axum::Router;
use axum::extract::{ConnectInfo, DefaultBodyLimit, State as Extract};
use axum::routing::post;
use cloister_control::rows::token_hash;
use cloister_pki::SigningRequest;
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::clients::{ClientCertificate, Enrol};

use super::{Remote, failure};
use crate::peer::Peer;
use crate::reply::{Answer, Body, Failure, json};
use crate::server::with_envelopes;

const MAX_BODY: usize = 16 << 10;
const MAX_NAME_CHARS: usize = 64;

pub(super) fn router(remote: Remote) -> Router {
    let routes = Router::new()
        .route("/enroll/v1/clients", post(enrol))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(remote);
    with_envelopes(routes)
}

async fn enrol(
    Extract(remote): Extract<Remote>,
    ConnectInfo(Peer(address)): ConnectInfo<Peer>,
    Body(asked): Body<Enrol>,
) -> Answer<ClientCertificate> {
    let throttle = &remote.inner.throttle;
    if let Some(wait) = throttle.wait(address) {
        let message = "invitations that do not work were tried too often";
        let again = format!("try again in {} s", wait.as_secs().max(1));
        return Err(Failure::new(ErrorCode::Busy, message).fix(again));
    }
    let name = checked_name(&asked.name)?;
    let request = SigningRequest::parse(&asked.request).map_err(failure)?;
    let hash = token_hash(asked.secret.expose());
    let issue = remote.next_issue();
    let store = &remote.inner.store;
    let Some(client) = store.enrol(asked.invitation, &hash, name, issue).await? else {
        // It was not over the limit: the next one waits.
        let _counted = throttle.failed(address);
        tracing::warn!(invitation = asked.invitation, "an enrolment was refused");
        return Err(Failure::new(
            ErrorCode::Unauthorized,
            "the invitation is wrong, used or expired",
        )
        .fix("`cloister admin invite USER` makes a new one"));
    };
    tracing::info!(client = %client.id, user = %client.user_name, "a client was enrolled");
    json(remote.issue(&client, &request)?)
}

fn checked_name(name: &str) -> Result<&str, Failure> {
    let name = name.trim();
    let fits =
        (1..=MAX_NAME_CHARS).contains(&name.chars().count()) && !name.chars().any(char::is_control);
    if fits {
        return Ok(name);
    }
    let message = format!("a machine's name has 1 to {MAX_NAME_CHARS} characters on one line");
    Err(Failure::new(ErrorCode::BadRequest, message))
}
