//! The public listener and its routes.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, State as Extract};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use cloister_control::Control;
use cloister_control::ports::Upstream;
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{NewSession, Session};
use cloister_store::tokens::token_hash;
use tokio_util::sync::CancellationToken;

use crate::auth::{self, Operator};
use crate::reply::{Answer, Body, Failure, json};
use crate::{agent_socket, chat_files, health};

/// The largest JSON body.
const MAX_BODY: usize = 1 << 20;

/// What every handler has.
#[derive(Clone)]
pub struct State {
    pub control: Control,
    pub operator: Operator,
    pub stop: CancellationToken,
    /// Where people reach the public listener.
    pub url: String,
}

pub fn public_router(state: State) -> Router {
    with_envelopes(public_routes(state))
}

/// Everything in one, for the socket that only the operator's account can open.
pub fn local_router(state: State, upstream: Arc<dyn Upstream>) -> Router {
    let admin = crate::admin::admin_routes(state.control.clone(), upstream, state.url.clone());
    with_envelopes(public_routes(state).merge(admin))
}

fn public_routes(state: State) -> Router {
    Router::new()
        .route("/", get(landing))
        .route("/login", get(landing))
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/api/v1/sessions", post(new_session))
        .route("/cells/{workspace}/v1/agent_ws/{chat}/", get(agent_socket::open))
        .route("/cells/{workspace}/v1/agent_ws/{chat}", get(agent_socket::open))
        .route(
            "/cells/{workspace}/v1/chats/{chat}/files",
            post(chat_files::upload).layer(DefaultBodyLimit::disable()),
        )
        .route("/cells/{workspace}/v1/artifacts/{id}", get(chat_files::download))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(state)
}

/// Serves until `stop`; open requests then have a moment to end.
pub async fn serve<L>(listener: L, router: Router, stop: CancellationToken) -> io::Result<()>
where
    L: axum::serve::Listener,
    L::Addr: std::fmt::Debug,
{
    axum::serve(listener, router)
        .with_graceful_shutdown(async move { stop.cancelled().await })
        .await
}

async fn landing() -> &'static str {
    "This is Cloister. Talk to your agent with `cloister chat`, or through the agent socket that\n\
     docs/protocol.md describes.\n"
}

/// Answers what no route takes with the one error envelope too.
pub(crate) fn with_envelopes(router: Router) -> Router {
    router.fallback(not_found).method_not_allowed_fallback(not_this_way)
}

async fn not_this_way(method: axum::http::Method) -> Response {
    let message = format!("this address does not take {method}");
    let failure = Failure::new(ErrorCode::BadRequest, message);
    (StatusCode::METHOD_NOT_ALLOWED, failure).into_response()
}

async fn not_found() -> Failure {
    Failure::new(ErrorCode::NotFound, "there is nothing at this address")
}

async fn new_session(
    Extract(state): Extract<State>,
    headers: HeaderMap,
    Body(asked): Body<NewSession>,
) -> Answer<Session> {
    if let Some(login) = &asked.login_token {
        let owner = state.control.store().redeem_login(&token_hash(login)).await?;
        let owner = owner.ok_or_else(|| {
            Failure::new(ErrorCode::Unauthorized, "the login token is wrong, used or expired")
                .fix("`cloister login-url` makes a new one")
        })?;
        let user = state.control.store().user_of(owner.workspace).await?;
        return json(session(&state.control, &user, asked.ttl_s).await?);
    }
    auth::require_operator(&state.operator, &headers)?;
    json(operator_session(&state.control, asked).await?)
}

/// A session for the user that the operator names.
pub(crate) async fn operator_session(
    control: &Control,
    asked: NewSession,
) -> Result<Session, Failure> {
    let name = asked.user.ok_or_else(|| {
        Failure::new(ErrorCode::BadRequest, "say for which user: {\"user\": \"name\"}")
    })?;
    let user = control.store().user(&name).await?;
    session(control, &user, asked.ttl_s).await
}

async fn session(
    control: &Control,
    user: &cloister_store::users::User,
    ttl_s: Option<u64>,
) -> Result<Session, Failure> {
    control.store().ensure_first_chat(user.workspace).await?;
    let (token, expires) = auth::new_session_token(control, user, ttl_s).await?;
    Ok(Session {
        token,
        user: user.name.clone(),
        workspace: user.workspace,
        expires_at: crate::admin::time(expires),
        agent_ws: format!("/cells/{}/v1/agent_ws/{{chat}}/", user.workspace),
    })
}
