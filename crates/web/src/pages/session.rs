//! Sessions by cookie: who is looking at a page, and whether a request comes from our own pages.

use axum::extract::{FromRequestParts, OptionalFromRequestParts, Request, State as Extract};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use cloister_control::Actor;
use cloister_control::rows::{User, token_hash};
use cloister_policy::engine::{ModelCall, PlatformCall, Request as Call, WorkspaceCall};
use cloister_protocol::{ErrorCode, Language, UserId, WorkspaceId};
use cloister_words::say;

use super::shell::Section;
use crate::caller::acting;
use crate::language;
use crate::pace::Turn;
use crate::reply::Failure;
use crate::server::State;

/// How long a browser stays logged in.
pub(crate) const COOKIE_TTL_S: u64 = 30 * 24 * 3600;
/// How long the button of a login link's page works.
const SHOWN_TTL_S: u64 = 3600;

/// Stands for all of them where no policy tells them apart.
const ANY_MODEL: &str = "main";

/// The person that a page is for.
#[derive(Clone, Debug)]
pub(crate) struct Viewer {
    pub(crate) user: User,
    pub(crate) workspace: WorkspaceId,
    pub(crate) actor: Actor,
    /// What the pages speak with them.
    pub(crate) to: Language,
    /// The hash under which the session is kept.
    pub(crate) session: String,
    /// How many questions wait for their answer; only where a page is read.
    pub(crate) waiting: usize,
    /// The policies let them make the agent of their workspace work.
    uses: bool,
    /// The policies let them change the platform's settings.
    rules: bool,
    /// The policies let them see who there is.
    lists: bool,
    /// The policies let them read how the platform is doing.
    reads_status: bool,
    /// The policies let them add people.
    invites: bool,
    /// The policies let them see which models there are.
    shows_models: bool,
    /// Their place among their own requests, until this one is answered.
    turn: Option<Turn>,
}

impl Viewer {
    /// Whether this is the person who runs the machine.
    pub(crate) fn is_operator(&self) -> bool {
        self.rules
    }

    /// Whether they may write here, and not only look.
    pub(super) fn writes(&self) -> bool {
        self.uses
    }

    /// Whether they may add people.
    pub(super) fn invites(&self) -> bool {
        self.invites
    }

    /// Whether the navigation offers this place to them.
    pub(super) fn opens(&self, place: Section) -> bool {
        match place {
            Section::People => self.lists,
            Section::Status => self.reads_status,
            Section::Model => self.shows_models,
            Section::Chat
            | Section::Approvals
            | Section::Grants
            | Section::Agents
            | Section::OwnModels
            | Section::Start
            | Section::Outside => true,
        }
    }

    /// Refuses a page that is not for them.
    pub(super) fn require(&self, place: Section) -> Result<(), Failure> {
        if self.opens(place) {
            return Ok(());
        }
        Err(Failure::said(ErrorCode::Forbidden, |to| {
            say!(to, "your role here does not let you open this page")
        }))
    }

    /// Refuses whoever does not run this machine.
    pub(crate) fn require_operator(&self) -> Result<(), Failure> {
        if self.is_operator() {
            return Ok(());
        }
        Err(Failure::said(ErrorCode::Forbidden, |to| {
            say!(to, "only the operator of this machine may do this")
        }))
    }

    /// Who looks at what went wrong, for the way on; where that can't be found out, nobody.
    pub(super) async fn looking(state: &State, headers: &HeaderMap) -> Option<Self> {
        let mut viewer = Self::find(state, headers).await.ok().flatten()?;
        viewer.waiting = waiting(state, viewer.user.id).await;
        Some(viewer)
    }

    async fn find(state: &State, headers: &HeaderMap) -> Result<Option<Self>, Failure> {
        let Some(token) = session_cookie(state, headers) else { return Ok(None) };
        let session = token_hash(token);
        let Some(owner) = state.control.sessions().owner(&session).await? else {
            return Ok(None);
        };
        let user = state.control.accounts().of(owner.workspace).await?;
        let person = state.control.people().person(user.id).await?;
        let place = state.control.people().place(user.workspace).await?;
        let may = |request: Call| state.control.people().require(&request).is_ok();
        if !may(Call::workspace(&person, WorkspaceCall::ListChats, &place)) {
            return Ok(None);
        }
        let uses = may(Call::workspace(&person, WorkspaceCall::CreateChat, &place));
        let rules = may(Call::platform(&person, PlatformCall::ChangeSettings));
        let lists = may(Call::platform(&person, PlatformCall::ListUsers));
        let reads_status = may(Call::platform(&person, PlatformCall::ReadStatus));
        let invites = may(Call::platform(&person, PlatformCall::InviteUser));
        let shows_models = may(Call::model(&person, ModelCall::Show, ANY_MODEL));
        let actor = acting(&user.name, &person);
        let to = language::of_person(&state.control, user.id, headers).await;
        Ok(Some(Self {
            user,
            workspace: owner.workspace,
            actor,
            to,
            session,
            waiting: 0,
            uses,
            rules,
            lists,
            reads_status,
            invites,
            shows_models,
            turn: None,
        }))
    }
}

impl FromRequestParts<State> for Viewer {
    type Rejection = Response;

    /// A page sends who is not logged in to the login page; anything else says 401.
    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Response> {
        let mut found =
            Self::find(state, &parts.headers).await.map_err(IntoResponse::into_response)?;
        if let Some(viewer) = &mut found {
            let turn = state.pace.enter(viewer.user.id, &parts.method).await;
            viewer.turn = Some(turn.map_err(IntoResponse::into_response)?);
        }
        if let Some(viewer) = &mut found
            && parts.method == Method::GET
        {
            viewer.waiting = waiting(state, viewer.user.id).await;
        }
        if !is_reading(&parts.method) && found.as_ref().is_some_and(|viewer| !viewer.uses) {
            let message = |to| say!(to, "you may look at this workspace, and change nothing in it");
            return Err(Failure::said(ErrorCode::Forbidden, message).into_response());
        }
        found.ok_or_else(|| {
            if wants_page(&parts.headers) {
                return Redirect::to("/login").into_response();
            }
            Failure::new(ErrorCode::Unauthorized, "you are not logged in")
                .fix("open a login link; `cloister login-url` makes one")
                .into_response()
        })
    }
}

impl OptionalFromRequestParts<State> for Viewer {
    type Rejection = Response;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &State,
    ) -> Result<Option<Self>, Response> {
        Self::find(state, &parts.headers).await.map_err(IntoResponse::into_response)
    }
}

/// How many questions wait for a person's answer: a page is shown also where that can't be read.
async fn waiting(state: &State, user: UserId) -> usize {
    match state.control.gates().approvals_for(user).await {
        Ok(waiting) => waiting.len(),
        Err(error) => {
            tracing::error!(error = error.chain(), "the questions that wait could not be counted");
            0
        }
    }
}

fn is_reading(method: &Method) -> bool {
    [Method::GET, Method::HEAD].contains(method)
}

pub(super) fn wants_page(headers: &HeaderMap) -> bool {
    headers
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"))
}

/// The cookie's name. Cookies do not know ports: two instances on one machine must not log each
/// other's people out.
fn cookie_name(url: &str) -> String {
    if url.starts_with("https://") {
        return "__Host-cloister".to_owned();
    }
    let authority = url.trim_start_matches("http://").trim_end_matches('/');
    let port = authority
        .rsplit_once(':')
        .map(|(_, port)| port)
        .filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
        .unwrap_or("80");
    format!("cloister-{port}")
}

/// The cookie by which a browser shows that it was shown the page of a login link. Above `https` it has the
/// prefix that keeps other hosts from setting it, as the session's has.
fn shown_name(url: &str) -> String {
    format!("{}-shown", cookie_name(url))
}

/// The session token that a browser sent by itself.
pub(crate) fn session_cookie<'a>(state: &State, headers: &'a HeaderMap) -> Option<&'a str> {
    cookie(headers, &cookie_name(&state.url))
}

/// What a browser was given with the page of a login link.
pub(super) fn shown_cookie<'a>(state: &State, headers: &'a HeaderMap) -> Option<&'a str> {
    cookie(headers, &shown_name(&state.url))
}

fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(key, value)| *key == name && !value.is_empty())
        .map(|(_, value)| value)
}

/// A `Set-Cookie` that logs in with this token, or out with an empty one.
pub(crate) fn set_cookie(state: &State, token: &str) -> HeaderValue {
    kept(&state.url, &cookie_name(&state.url), token, COOKIE_TTL_S, "Lax")
}

/// A `Set-Cookie` with the page of a login link, or without it again. No other site's request brings it along.
pub(super) fn set_shown_cookie(state: &State, nonce: &str) -> HeaderValue {
    kept(&state.url, &shown_name(&state.url), nonce, SHOWN_TTL_S, "Strict")
}

fn kept(url: &str, name: &str, token: &str, ttl_s: u64, same_site: &str) -> HeaderValue {
    let age = if token.is_empty() { 0 } else { ttl_s };
    let secure = if url.starts_with("https://") { "; Secure" } else { "" };
    let cookie =
        format!("{name}={token}; Path=/; Max-Age={age}; HttpOnly; SameSite={same_site}{secure}");
    // Tokens are hexadecimal and names are ours: it is always a header.
    HeaderValue::from_str(&cookie).unwrap_or_else(|_impossible| HeaderValue::from_static(""))
}

/// Whether a request that a browser sends with its cookie comes from one of our own pages.
pub(crate) fn is_same_origin(state: &State, headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(site) = text("sec-fetch-site") {
        return site == "same-origin";
    }
    // Older browsers, and sockets, say only the origin.
    let Some(origin) = text("origin") else { return false };
    let Some((_, authority)) = origin.split_once("://") else { return false };
    text("host").is_some_and(|host| host.eq_ignore_ascii_case(authority))
        || origin.eq_ignore_ascii_case(state.url.trim_end_matches('/'))
}

/// Refuses what another site's page asks a browser to do here.
pub(crate) fn require_same_origin(state: &State, headers: &HeaderMap) -> Result<(), Failure> {
    if is_same_origin(state, headers) {
        return Ok(());
    }
    let failure = Failure::said(ErrorCode::Forbidden, |to| {
        say!(to, "this request does not come from a page of this server")
    });
    Err(failure.fixed(|to| {
        say!(to, "reload the page and try again; programs send `Authorization: Bearer` instead")
    }))
}

/// The layer on all that is public: what says that another site's page sent it changes nothing here. Programs
/// say nothing of the kind.
pub(crate) async fn not_from_elsewhere(
    Extract(state): Extract<State>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    // What no browser adds by itself, no other site's page can make it add.
    let by_token = headers.contains_key(header::AUTHORIZATION);
    let by_a_page = headers.contains_key("sec-fetch-site") || headers.contains_key(header::ORIGIN);
    if !is_reading(request.method())
        && by_a_page
        && !by_token
        && let Err(refusal) = require_same_origin(&state, headers)
    {
        return refusal.into_response();
    }
    next.run(request).await
}

/// The layer on every page: nothing but reading from anywhere else than our own pages.
pub(crate) async fn same_origin_only(
    Extract(state): Extract<State>,
    request: Request,
    next: Next,
) -> Response {
    if !is_reading(request.method())
        && let Err(refusal) = require_same_origin(&state, request.headers())
    {
        return refusal.into_response();
    }
    next.run(request).await
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
