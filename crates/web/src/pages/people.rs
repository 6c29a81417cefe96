//! `/people`: who uses this machine, for whom the policies let see that, and links for those who shall, by whom they
//! let invite.

use axum::Form;
use axum::extract::State as Extract;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use cloister_control::rows::{AccountKind, User};
use cloister_policy::engine::WorkspaceCall;
use cloister_protocol::admin::{Invitation, NewUser};
use cloister_protocol::{ErrorBody, ErrorCode, Language, ParseIdError, UserName};
use cloister_words::say;
use maud::{Markup, html};
use serde::Deserialize;

use super::banner;
use super::calls::{Calls, May};
use super::entries::size;
use super::session::Viewer;
use super::shell::{Page, Section, page};
use crate::language::phrase;
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
    let typed = asked.name.trim().to_lowercase();
    match invited(&state, &viewer, &typed).await {
        Ok(invited) => {
            let done = Done { invited: Some(invited), ..Done::default() };
            Ok(people(&state, &viewer, &done).await?.into_response())
        }
        Err(problem) if problem.code == ErrorCode::Forbidden => Err(problem.into()),
        Err(problem) => {
            let done = Done { invited: None, problem: Some(problem), typed };
            let page = people(&state, &viewer, &done).await?;
            Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
        }
    }
}

async fn invited(state: &State, viewer: &Viewer, name: &str) -> Result<Invitation, ErrorBody> {
    let name: UserName = name.parse().map_err(|_wrong: ParseIdError| no_name(viewer.to, name))?;
    let new = NewUser { name, quota_mb: None, executors: None, daily_usd: None, task_usd: None };
    Calls::of(state, viewer).send(Method::POST, "invitations", &new).await
}

async fn people(state: &State, viewer: &Viewer, done: &Done) -> Result<Markup, Failure> {
    let mut users = state.control.accounts().all().await?;
    users.retain(|user| user.kind == AccountKind::Person);
    let mut linked = Vec::with_capacity(users.len());
    for user in users {
        let may = May::of(state, viewer, user.workspace).await?;
        linked.push((viewer.invites() && may.call(WorkspaceCall::OpenSessionFor), user));
    }
    let to = viewer.to;
    let title = &say!(to, "People");
    let body = html! {
        section.card {
            h1 { (title) }
            p { (say!(to, "Everyone here has an agent and a workspace of their own. Nobody sees another's.")) }
            @if let Some(problem) = &done.problem { (super::forms::problem(to, problem)) }
            @if let Some(invited) = &done.invited { (link(to, state, invited)) }
            @if viewer.invites() { (invite_form(to, &done.typed)) }
        }
        section.card {
            table {
                thead {
                    tr {
                        th scope="col" { (say!(to, "Name")) }
                        th scope="col" { (say!(to, "Budget")) }
                        th scope="col" { (say!(to, "Disk")) }
                        td {}
                    }
                }
                tbody { @for (may_link, user) in &linked { (row(to, user, *may_link)) } }
            }
        }
    };
    let banner = banner::scripted(state, viewer).await;
    let around = Page { title, to, place: Section::People, viewer: Some(viewer), banner };
    Ok(page(&around, &body))
}

/// What is wrong with a user's name.
fn no_name(to: Language, typed: &str) -> ErrorBody {
    let said = format!("{typed:?}");
    let message = say!(
        to,
        "{said} is no user name: up to 32 of a-z, 0-9, -, _ and ., beginning with a letter",
        said
    );
    ErrorBody::new(ErrorCode::BadRequest, message)
}

fn invite_form(to: Language, typed: &str) -> Markup {
    html! {
        form.stack method="post" action="/people/invite" {
            label { (say!(to, "Invite somebody"))
                input name="name" required maxlength="32" autocomplete="off" autocapitalize="none"
                    placeholder="alice" value=(typed);
            }
            button.primary type="submit" { (say!(to, "Make a link")) }
        }
    }
}

fn row(to: Language, user: &User, may_link: bool) -> Markup {
    let daily = super::forms::dollars(user.limits.daily_budget);
    html! {
        tr {
            td {
                a href={ "/people/" (user.name) } translate="no" { (user.called()) }
                @if !user.display_name.is_empty() { " " small translate="no" { (user.name) } }
            }
            td { (say!(to, "${daily} a day", daily)) }
            td { (size(user.limits.quota_bytes)) @if user.over_quota { " " (say!(to, "(over)")) } }
            td {
                @if may_link {
                    form method="post" action="/people/invite" {
                        input type="hidden" name="name" value=(user.name);
                        button type="submit" aria-label=(say!(to, "New link for {name}", name = user.name)) { (say!(to, "New link")) }
                    }
                }
            }
        }
    }
}

fn link(to: Language, state: &State, invited: &Invitation) -> Markup {
    let local = state.url.contains("//127.0.0.1") || state.url.contains("//localhost");
    html! {
        div.ok role="status" {
            p {
                @if invited.new { strong { (say!(to, "{name} is added.", name = invited.user)) } " " }
                (phrase!(to, "Send this link to {name}. It works once, until {when}.",
                    name = html! { (invited.user) },
                    when = html! { time datetime=(invited.expires_at) { (invited.expires_at) } }))
            }
            label { (say!(to, "Link for {name}", name = invited.user))
                input.copy readonly value=(invited.link);
            }
            @if local {
                p.hint {
                    (phrase!(to, "It leads to this machine only. For people elsewhere, start with {command}.",
                        command = html! { code { "cloister up --listen 0.0.0.0:8484 --url https://your.address" } }))
                }
            }
        }
    }
}
