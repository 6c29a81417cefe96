//! `/people`: who uses this machine, for whom the policies let see that, and links for those who shall, by the operator.

use axum::Form;
use axum::extract::State as Extract;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use cloister_control::nano_to_usd;
use cloister_control::rows::{AccountKind, User};
use cloister_protocol::admin::Invitation;
use cloister_protocol::{ErrorBody, ErrorCode, UserName};
use maud::{Markup, html};
use serde::Deserialize;

use super::banner;
use super::session::Viewer;
use super::shell::{Page, Section, page};
use crate::admin::{invitation, tell_of_link};
use crate::reply::Failure;
use crate::server::State;

#[derive(Deserialize)]
pub(super) struct AskedInvitation {
    name: String,
}

/// What was just done.
#[derive(Default)]
struct Done {
    invited: Option<Invitation>,
    problem: Option<ErrorBody>,
    /// What was typed and refused.
    typed: String,
}

pub(super) async fn show(
    Extract(state): Extract<State>,
    viewer: Viewer,
) -> Result<Markup, Failure> {
    viewer.require(Section::People)?;
    people(&state, &viewer, &Done::default()).await
}

pub(super) async fn invite(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Form(asked): Form<AskedInvitation>,
) -> Result<Response, Failure> {
    viewer.require_operator()?;
    let typed = asked.name.trim().to_lowercase();
    let name: UserName = match typed.parse() {
        Ok(name) => name,
        Err(error) => {
            let problem = Some(ErrorBody::new(ErrorCode::BadRequest, format!("{error}")));
            let page = people(&state, &viewer, &Done { invited: None, problem, typed }).await?;
            return Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response());
        }
    };
    let limits = state.control.users().limits();
    let invited = invitation(&state.control, &viewer.actor, &state.url, &name, limits).await?;
    let by = (viewer.user.id, &viewer.actor);
    tell_of_link(&state.control, &invited, by).await?;
    let done = Done { invited: Some(invited), ..Done::default() };
    Ok(people(&state, &viewer, &done).await?.into_response())
}

async fn people(state: &State, viewer: &Viewer, done: &Done) -> Result<Markup, Failure> {
    let mut users = state.control.accounts().all().await?;
    users.retain(|user| user.kind == AccountKind::Person);
    let body = html! {
        section.card {
            h1 { "People" }
            p { "Everyone here has an agent and a workspace of their own. Nobody sees another's." }
            @if let Some(problem) = &done.problem { (super::forms::problem(problem)) }
            @if let Some(invited) = &done.invited { (link(state, invited)) }
            @if viewer.is_operator() { (invite_form(&done.typed)) }
        }
        section.card {
            table {
                thead { tr { th { "Name" } th { "Budget" } th { "Disk" } th { "" } } }
                tbody { @for user in &users { (row(user, viewer)) } }
            }
        }
    };
    let banner = banner::scripted(state, viewer).await;
    let around = Page { title: "People", place: Section::People, viewer: Some(viewer), banner };
    Ok(page(&around, &body))
}

fn invite_form(typed: &str) -> Markup {
    html! {
        form.stack method="post" action="/people/invite" {
            label { "Invite somebody"
                input name="name" required maxlength="32" autocomplete="off" autocapitalize="none"
                    placeholder="alice" value=(typed);
            }
            button.primary type="submit" { "Make a link" }
        }
    }
}

fn row(user: &User, viewer: &Viewer) -> Markup {
    html! {
        tr {
            td { a href={ "/people/" (user.name) } { (user.name) } }
            td { "$" (format!("{:.2}", nano_to_usd(user.limits.daily_budget))) " a day" }
            td { (user.limits.quota_bytes >> 20) " MB" @if user.over_quota { " (over)" } }
            td {
                @if viewer.is_operator() {
                    form method="post" action="/people/invite" {
                        input type="hidden" name="name" value=(user.name);
                        button type="submit" { "New link" span.unseen { " for " (user.name) } }
                    }
                }
            }
        }
    }
}

fn link(state: &State, invited: &Invitation) -> Markup {
    let local = state.url.contains("//127.0.0.1") || state.url.contains("//localhost");
    html! {
        div.ok role="status" {
            p {
                @if invited.new { strong { (invited.user) " is added. " } }
                "Send this link to " (invited.user) ". It works once, until " (invited.expires_at) "."
            }
            label { "Link for " (invited.user)
                input.copy readonly value=(invited.link);
            }
            @if local {
                p.hint {
                    "It leads to this machine only. For people elsewhere, start with "
                    code { "cloister up --listen 0.0.0.0:8484 --url https://your.address" } "."
                }
            }
        }
    }
}
