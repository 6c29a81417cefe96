//! Logging in by link, accepting an invitation, logging out.

use std::time::Duration;

use axum::Form;
use axum::extract::{ConnectInfo, State as Extract};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use cloister_store::tokens::token_hash;
use maud::{Markup, html};
use serde::Deserialize;

use super::session::{COOKIE_TTL_S, Viewer, set_cookie};
use super::shell::{Page, Place, page};
use crate::auth;
use crate::peer::Peer;
use crate::reply::{Failure, Query};
use crate::server::State;

#[derive(Deserialize)]
pub(super) struct Token {
    #[serde(default)]
    token: String,
}

/// `/login`: with a token, logs in at once; without, says how to get one.
pub(super) async fn show(
    Extract(state): Extract<State>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    viewer: Option<Viewer>,
    Query(Token { token }): Query<Token>,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    if token.is_empty() {
        return Ok(match viewer {
            Some(_) => Redirect::to("/").into_response(),
            None => outside("Log in", &how_to_log_in()).into_response(),
        });
    }
    // Who only looks ahead must not use the token up.
    let looks_ahead = method == Method::HEAD
        || headers.contains_key("sec-purpose")
        || headers.contains_key("purpose");
    if looks_ahead {
        return Ok((StatusCode::SERVICE_UNAVAILABLE, "not ahead of time\n").into_response());
    }
    redeem(&state, peer, viewer, &token).await
}

/// `/invite`: shows whom a link is for. Opening it uses nothing up, so that a messenger's preview
/// does no harm.
pub(super) async fn invitation(
    Extract(state): Extract<State>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Query(Token { token }): Query<Token>,
) -> Result<Response, Failure> {
    if let Some(wait) = state.logins.wait(peer.0) {
        return Ok(too_many(wait));
    }
    let Some(owner) = state.control.store().login_owner(&token_hash(&token)).await? else {
        state.logins.failed(peer.0);
        return Ok(spent());
    };
    let user = state.control.store().user_of(owner.workspace).await?;
    let body = html! {
        section.card.narrow {
            h1 { "Welcome, " (user.name) }
            p { "This link logs this browser in as " strong { (user.name) } ". It works once." }
            form method="post" action="/invite" {
                input type="hidden" name="token" value=(token);
                button.primary type="submit" { "Open my chat" }
            }
        }
    };
    Ok(outside("Welcome", &body).into_response())
}

/// The button of `/invite`.
pub(super) async fn accept(
    Extract(state): Extract<State>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    viewer: Option<Viewer>,
    Form(Token { token }): Form<Token>,
) -> Result<Response, Failure> {
    redeem(&state, peer, viewer, &token).await
}

async fn redeem(
    state: &State,
    Peer(address): Peer,
    before: Option<Viewer>,
    token: &str,
) -> Result<Response, Failure> {
    if let Some(wait) = state.logins.wait(address) {
        return Ok(too_many(wait));
    }
    let store = state.control.store();
    let Some(owner) = store.redeem_login(&token_hash(token)).await? else {
        // Going back to a link that has done its work is no mistake.
        if before.is_some() {
            return Ok(Redirect::to("/").into_response());
        }
        state.logins.failed(address);
        return Ok(spent());
    };
    let user = store.user_of(owner.workspace).await?;
    store.ensure_first_chat(user.workspace).await?;
    let (session, _) = auth::new_session_token(&state.control, &user, Some(COOKIE_TTL_S)).await?;
    if let Some(before) = before {
        state.control.end_session(&before.session).await?;
    }
    let mut response = Redirect::to("/").into_response();
    response.headers_mut().insert(header::SET_COOKIE, set_cookie(state, &session));
    Ok(response)
}

pub(super) async fn logout(
    Extract(state): Extract<State>,
    viewer: Option<Viewer>,
) -> Result<Response, Failure> {
    if let Some(viewer) = viewer {
        state.control.end_session(&viewer.session).await?;
    }
    let mut response = Redirect::to("/login").into_response();
    response.headers_mut().insert(header::SET_COOKIE, set_cookie(&state, ""));
    Ok(response)
}

/// A page for whoever is not logged in.
fn outside(title: &str, body: &Markup) -> Markup {
    page(&Page { title, place: Place::Outside, viewer: None, banner: None }, body)
}

fn how_to_log_in() -> Markup {
    html! {
        section.card.narrow {
            h1 { "Log in" }
            p { "You log in with a link; there is no password." }
            ul {
                li { "If you run this machine, " code { "cloister login-url" } " prints one." }
                li { "If you were invited, ask whoever invited you for a link." }
            }
        }
    }
}

fn spent() -> Response {
    let body = html! {
        section.card.narrow {
            h1 { "This link does not work" }
            p { "It was used before, has expired, or is not complete. A link works once, for a day." }
            ul {
                li { "If you run this machine, " code { "cloister login-url" } " prints a new one." }
                li { "If you were invited, ask whoever invited you for a new link." }
            }
        }
    };
    (StatusCode::UNAUTHORIZED, outside("This link does not work", &body)).into_response()
}

fn too_many(wait: Duration) -> Response {
    let seconds = wait.as_secs().max(1);
    let body = html! {
        section.card.narrow {
            h1 { "Too many attempts" }
            p { "Links that do not work were tried too often. Try again in " (seconds) " seconds." }
        }
    };
    let page = outside("Too many attempts", &body);
    let mut response = (StatusCode::TOO_MANY_REQUESTS, page).into_response();
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}
