//! The public listener and its routes.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::extract::connect_info::ConnectInfo;
use axum::extract::{DefaultBodyLimit, State as Extract};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use cloister_control::ports::{SurfaceHosts, Upstream};
use cloister_control::rows::token_hash;
use cloister_control::{Actor, Control};
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{NewSession, Session};
use cloister_words::say;
use tokio_util::sync::CancellationToken;

use crate::admin::admin_routes;
use crate::auth::{self, Operator};
use crate::caller::Caller;
use crate::logins::LoginThrottle;
use crate::mtls::{Behind, Remote};
use crate::pace::Turnstile;
use crate::pages::headers::explain;
use crate::pages::session::not_from_elsewhere;
use crate::peer::Peer;
use crate::recognise::recognise;
use crate::reply::{Answer, Body, Failure, json};
use crate::{agent_socket, chat_files, health, hooks, host, metrics};

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
    /// The models' side, for the pages that try a model.
    pub upstream: Arc<dyn Upstream>,
    /// Slows down whoever guesses login tokens.
    pub logins: LoginThrottle,
    /// How much each person may ask for.
    pub pace: Turnstile,
    /// The admin listener and the clients that may use it.
    pub remote: Remote,
    /// Where people are besides the pages, and our accounts there.
    pub surfaces: SurfaceHosts,
}

/// On an answer to a client that should get its next certificate now.
pub const RENEW_HEADER: HeaderName = HeaderName::from_static("cloister-renew");

pub fn public_router(state: State) -> Router {
    let explained = middleware::from_fn_with_state(state.clone(), explain);
    with_envelopes(public_routes(state)).layer(explained)
}

/// Everything in one, for the socket that only the operator's account can open.
pub fn local_router(state: State) -> Router {
    let admin = admin_routes(&state).layer(Extension(Caller::Local));
    with_envelopes(public_routes(state).merge(admin))
}

/// What enrolled clients reach, whom the listener names: the admin API, and with a session the agent.
pub(crate) fn remote_router(state: State) -> Router {
    let admin = admin_routes(&state);
    let agent = agent_routes().layer(DefaultBodyLimit::max(MAX_BODY)).with_state(state.clone());
    // A browser can hold a client's certificate too, and shows it to whoever makes it ask.
    let own = middleware::from_fn_with_state(state, not_from_elsewhere);
    with_envelopes(agent.merge(admin)).layer(own).layer(middleware::from_fn(ask_to_renew))
}

async fn ask_to_renew(request: Request, next: Next) -> Response {
    let behind = request.extensions().get::<Behind>().is_some();
    let mut response = next.run(request).await;
    if behind {
        response.headers_mut().insert(RENEW_HEADER, HeaderValue::from_static("1"));
    }
    response
}

fn public_routes(state: State) -> Router {
    agent_routes()
        .route("/metrics", get(metrics::show))
        .route("/api/v1/sessions", post(new_session))
        .merge(crate::pages::routes(&state))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(middleware::from_fn_with_state(state.clone(), not_from_elsewhere))
        .layer(middleware::from_fn_with_state(state.clone(), host::ours_only))
        .with_state(state.clone())
        // A platform knows us by whatever name it was given, and has a secret instead of a session.
        .merge(hooks::routes(&state.control, &state.surfaces))
        .layer(middleware::from_fn_with_state(state, recognise))
}

/// The agent socket and files, for whoever has a session.
fn agent_routes() -> Router<State> {
    Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/cells/{workspace}/v1/agent_ws/{chat}/", get(agent_socket::open))
        .route("/cells/{workspace}/v1/agent_ws/{chat}", get(agent_socket::open))
        .route(
            "/cells/{workspace}/v1/chats/{chat}/files",
            post(chat_files::upload).layer(DefaultBodyLimit::disable()),
        )
        .route("/cells/{workspace}/v1/chats/{chat}/incoming/{name}", get(chat_files::incoming))
        .route("/cells/{workspace}/v1/artifacts/{id}", get(chat_files::download))
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
    Failure::said(ErrorCode::NotFound, |to| say!(to, "there is nothing at this address"))
}

async fn new_session(
    Extract(state): Extract<State>,
    ConnectInfo(Peer(address)): ConnectInfo<Peer>,
    headers: HeaderMap,
    Body(asked): Body<NewSession>,
) -> Answer<Session> {
    if let Some(login) = &asked.login_token {
        let owner = state.control.sessions().redeem_login(&token_hash(login)).await?;
        let owner = owner.ok_or_else(|| {
            let wrong =
                Failure::new(ErrorCode::Unauthorized, "the login token is wrong, used or expired")
                    .fix("`cloister login-url` makes a new one");
            state.logins.failed(address).map_or(wrong, tried_too_often)
        })?;
        let user = state.control.accounts().of(owner.workspace).await?;
        return json(
            session(&state.control, &Actor::person(&user.name), &user, asked.ttl_s).await?,
        );
    }
    auth::require_operator(&state.operator, &headers)
        .map_err(|refused| state.logins.failed(address).map_or(refused, tried_too_often))?;
    json(operator_session(&state.control, &Actor::Operator, asked).await?)
}

fn tried_too_often(wait: Duration) -> Failure {
    let again = format!("try again in {} s", wait.as_secs().max(1));
    Failure::new(ErrorCode::Busy, "tokens that do not work were tried too often").fix(again)
}

/// A session for the user that the operator names.
pub(crate) async fn operator_session(
    control: &Control,
    actor: &Actor,
    asked: NewSession,
) -> Result<Session, Failure> {
    let name = asked.user.ok_or_else(|| {
        Failure::new(ErrorCode::BadRequest, "say for which user: {\"user\": \"name\"}")
    })?;
    let user = control.accounts().named(&name).await?;
    session(control, actor, &user, asked.ttl_s).await
}

async fn session(
    control: &Control,
    actor: &Actor,
    user: &cloister_control::rows::User,
    ttl_s: Option<u64>,
) -> Result<Session, Failure> {
    control.chats().ensure_first_chat(actor, user.workspace).await?;
    let (token, expires) = auth::new_session_token(control, actor, user, ttl_s).await?;
    Ok(Session {
        token,
        user: user.name.clone(),
        workspace: user.workspace,
        expires_at: crate::admin::time(expires),
        agent_ws: format!("/cells/{}/v1/agent_ws/{{chat}}/", user.workspace),
    })
}
