//! Logging in by link, accepting an invitation, logging out.
//!
//! Opening a link does nothing: it shows whose workspace it leads to, and the button of that page, in the browser
//! that was shown it, logs in. So another site can't put its own person into somebody's browser, and whoever only
//! looks ahead (a preview, a scanner) uses nothing up.

use std::time::Duration;

use axum::Form;
use axum::extract::{ConnectInfo, State as Extract};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use cloister_control::Actor;
use cloister_control::rows::{TokenOwner, User, token_hash};
use cloister_protocol::{ErrorCode, Language};
use cloister_words::{count, say};
use maud::{Markup, html};
use serde::Deserialize;

use super::session::{COOKIE_TTL_S, Viewer, set_cookie, set_shown_cookie, shown_cookie};
use super::shell::{Page, Section, page};
use crate::auth;
use crate::language::{self, phrase};
use crate::peer::Peer;
use crate::reply::{Failure, Query};
use crate::server::State;

/// No token of ours is as long.
const LONGEST_TOKEN: usize = 200;

#[derive(Deserialize)]
pub(super) struct Token {
    #[serde(default)]
    token: String,
}

/// What the button of a link's page sends.
#[derive(Deserialize)]
pub(super) struct Pressed {
    #[serde(default)]
    token: String,
    /// Proves that this browser was shown the page, with the person it was then logged in as.
    #[serde(default)]
    shown: String,
}

/// `/login` and `/invite`: with a token, whom it is for and a button; without, how to get one.
pub(super) async fn show(
    Extract(state): Extract<State>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    viewer: Option<Viewer>,
    headers: HeaderMap,
    Query(Token { token }): Query<Token>,
) -> Result<Response, Failure> {
    let to = language::of_browser(&state.control, &headers);
    if token.is_empty() {
        return Ok(match viewer {
            Some(_) => Redirect::to("/").into_response(),
            None => outside(to, &say!(to, "Log in"), &how_to_log_in(to)).into_response(),
        });
    }
    // A link that works is never made to wait for what others, or other links, did.
    let Some(owner) = owner_of(&state, &token).await? else {
        // Going back to a link that has done its work is no mistake.
        if viewer.is_some() {
            return Ok(Redirect::to("/").into_response());
        }
        return Ok(state
            .logins
            .failed(peer.0)
            .map_or_else(|| spent(to), |wait| too_many(to, wait)));
    };
    let user = state.control.accounts().of(owner.workspace).await?;
    if viewer.as_ref().is_some_and(|viewer| viewer.user.id == user.id) {
        return Ok(Redirect::to("/").into_response());
    }
    let (nonce, fresh) = match shown_cookie(&state, &headers) {
        Some(nonce) => (nonce.to_owned(), false),
        None => (auth::new_token()?, true),
    };
    let proof = proof(&nonce, &token, viewer.as_ref());
    let body = whose(to, (&user, viewer.as_ref()), &token, &proof);
    let title = say!(to, "Log in as {name}", name = user.name);
    let mut response = outside(to, &title, &body).into_response();
    if fresh {
        response.headers_mut().insert(header::SET_COOKIE, set_shown_cookie(&state, &nonce));
    }
    Ok(response)
}

/// Whom a link logs in. What is longer than any of ours is not even looked for.
async fn owner_of(state: &State, token: &str) -> Result<Option<TokenOwner>, Failure> {
    if token.len() > LONGEST_TOKEN {
        return Ok(None);
    }
    Ok(state.control.sessions().login_owner(&token_hash(token)).await?)
}

/// What only the page that this browser was shown has: bound to the link, and to who is logged in there.
fn proof(nonce: &str, token: &str, viewer: Option<&Viewer>) -> String {
    let before = viewer.map(|viewer| viewer.session.as_str()).unwrap_or_default();
    token_hash(&format!("{nonce} {token} {before}"))
}

fn whose(
    to: Language,
    (user, viewer): (&User, Option<&Viewer>),
    token: &str,
    proof: &str,
) -> Markup {
    let strong = |name: &str| html! { strong translate="no" { (name) } };
    html! {
        section.card.narrow {
            h1 { (say!(to, "Log in as {name}?", name = user.name)) }
            p { (phrase!(to, "This link logs this browser in as {name}. It works once.", name = strong(user.name.as_str()))) }
            p {
                (say!(to, "Go on if this is you. If somebody else's link brought you here, what you write would be theirs to read."))
            }
            @if let Some(viewer) = viewer {
                p.error role="alert" {
                    (phrase!(to, "You are logged in here as {name}, who is somebody else. Going on logs {name} out of this browser.",
                        name = strong(viewer.user.name.as_str())))
                }
            }
            form method="post" action="/login" {
                input type="hidden" name="token" value=(token);
                input type="hidden" name="shown" value=(proof);
                button.primary type="submit" {
                    @if viewer.is_some() { (say!(to, "Switch to {name}", name = user.name)) } @else { (say!(to, "Continue as {name}", name = user.name)) }
                }
            }
            @if let Some(viewer) = viewer {
                p { a href="/" { (say!(to, "Stay {name}", name = viewer.user.name)) } }
            }
        }
    }
}

/// The button of a link's page.
pub(super) async fn accept(
    Extract(state): Extract<State>,
    ConnectInfo(Peer(address)): ConnectInfo<Peer>,
    before: Option<Viewer>,
    headers: HeaderMap,
    Form(Pressed { token, shown }): Form<Pressed>,
) -> Result<Response, Failure> {
    let control = &state.control;
    let to = language::of_browser(control, &headers);
    if owner_of(&state, &token).await?.is_none() {
        // Pressing the button of a link that has done its work is no mistake.
        if before.is_some() {
            return Ok(Redirect::to("/").into_response());
        }
        return Ok(state
            .logins
            .failed(address)
            .map_or_else(|| spent(to), |wait| too_many(to, wait)));
    }
    let nonce = shown_cookie(&state, &headers);
    if nonce.is_none_or(|nonce| proof(nonce, &token, before.as_ref()) != shown) {
        let failure = Failure::said(ErrorCode::Forbidden, |to| {
            say!(
                to,
                "this browser was not shown whom the link is for, or is logged in as somebody else since"
            )
        });
        return Err(failure
            .fixed(|to| say!(to, "open the link again in this browser, with cookies allowed")));
    }
    let Some(owner) = control.sessions().redeem_login(&token_hash(&token)).await? else {
        return Ok(spent(to));
    };
    let user = control.accounts().of(owner.workspace).await?;
    if let Some(asked) = language::asked_by(&headers) {
        control.people().languages().note_language(user.id, asked).await?;
    }
    let actor = Actor::person(&user.name);
    control.chats().ensure_first_chat(&actor, user.workspace).await?;
    control.accounts().begin_start_offer(user.id).await?;
    state.control.people().tell_of_login(&user).await?;
    let (session, _) =
        auth::new_session_token(&state.control, &actor, &user, Some(COOKIE_TTL_S)).await?;
    if let Some(before) = before {
        state.control.sessions().end(&before.actor, &before.session).await?;
    }
    let mut response = Redirect::to("/").into_response();
    response.headers_mut().insert(header::SET_COOKIE, set_cookie(&state, &session));
    response.headers_mut().append(header::SET_COOKIE, set_shown_cookie(&state, ""));
    Ok(response)
}

pub(super) async fn logout(
    Extract(state): Extract<State>,
    viewer: Option<Viewer>,
) -> Result<Response, Failure> {
    if let Some(viewer) = viewer {
        state.control.sessions().end(&viewer.actor, &viewer.session).await?;
    }
    let mut response = Redirect::to("/login").into_response();
    response.headers_mut().insert(header::SET_COOKIE, set_cookie(&state, ""));
    Ok(response)
}

/// A page for whoever is not logged in.
fn outside(to: Language, title: &str, body: &Markup) -> Markup {
    page(&Page { title, to, place: Section::Outside, viewer: None, banner: None }, body)
}

fn how_to_log_in(to: Language) -> Markup {
    let command = html! { code { "cloister login-url" } };
    html! {
        section.card.narrow {
            h1 { (say!(to, "Log in")) }
            p { (say!(to, "You log in with a link; there is no password.")) }
            ul {
                li { (phrase!(to, "If you run this machine, {command} prints one.", command = command)) }
                li { (say!(to, "If you were invited, ask whoever invited you for a link.")) }
            }
        }
    }
}

fn spent(to: Language) -> Response {
    let title = say!(to, "This link does not work");
    let command = html! { code { "cloister login-url" } };
    let body = html! {
        section.card.narrow {
            h1 { (title) }
            p { (say!(to, "It was used before, has expired, or is not complete. A link works once, for a day.")) }
            ul {
                li { (phrase!(to, "If you run this machine, {command} prints a new one.", command = command)) }
                li { (say!(to, "If you were invited, ask whoever invited you for a new link.")) }
            }
        }
    };
    (StatusCode::UNAUTHORIZED, outside(to, &title, &body)).into_response()
}

fn too_many(to: Language, wait: Duration) -> Response {
    let seconds = wait.as_secs().max(1);
    let title = say!(to, "Too many attempts");
    let body = html! {
        section.card.narrow {
            h1 { (title) }
            p {
                (count!(to, seconds, "Links that do not work were tried too often. Try again in {n} second.",
                    "Links that do not work were tried too often. Try again in {n} seconds."))
            }
        }
    };
    let page = outside(to, &title, &body);
    let mut response = (StatusCode::TOO_MANY_REQUESTS, page).into_response();
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

#[cfg(test)]
#[path = "login_tests.rs"]
mod tests;
