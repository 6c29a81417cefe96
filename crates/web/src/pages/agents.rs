//! `/agents`: the agents of who looks, each with its name and what its `SOUL.md` says. Everything here is an admin call of
//! theirs, about themselves.

use axum::Form;
use axum::extract::State as Extract;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use cloister_policy::engine::WorkspaceCall;
use cloister_protocol::admin::{AgentChange, AgentDetail, AgentView, NewAgent};
use cloister_protocol::{ErrorBody, Language};
use cloister_words::say;
use maud::{Markup, html};
use serde::Deserialize;

use super::banner;
use super::calls::{Calls, May};
use super::session::Viewer;
use super::shell::{Page, Section, page};
use crate::language::phrase;
use crate::reply::{Failure, Path};
use crate::server::State;

#[derive(Deserialize)]
pub(super) struct Filled {
    name: String,
    #[serde(default)]
    manner: String,
    #[serde(default)]
    seen: String,
}

#[derive(Deserialize)]
pub(super) struct Removal {
    removed: bool,
}

pub(super) async fn show(
    Extract(state): Extract<State>,
    viewer: Viewer,
) -> Result<Markup, Failure> {
    whole(&state, &viewer, None).await
}

pub(super) async fn add(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Form(Filled { name, manner, .. }): Form<Filled>,
) -> Result<Response, Failure> {
    let new = NewAgent { name, manner: Some(manner) };
    let sent = Calls::of(&state, &viewer).send(Method::POST, &path(&viewer), &new).await;
    done(&state, &viewer, sent).await
}

pub(super) async fn change(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path(agent): Path<String>,
    Form(Filled { name, manner, seen }): Form<Filled>,
) -> Result<Response, Failure> {
    let change = AgentChange {
        // The first one may have none.
        name: Some(name).filter(|name| !name.trim().is_empty()),
        manner: Some(manner),
        seen: Some(seen).filter(|seen| !seen.is_empty()),
        removed: None,
    };
    patch(&state, &viewer, &agent, &change).await
}

pub(super) async fn remove(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path(agent): Path<String>,
    Form(Removal { removed }): Form<Removal>,
) -> Result<Response, Failure> {
    let change = AgentChange { removed: Some(removed), ..AgentChange::default() };
    patch(&state, &viewer, &agent, &change).await
}

fn path(viewer: &Viewer) -> String {
    format!("users/{}/agents", viewer.user.name)
}

async fn patch(
    state: &State,
    viewer: &Viewer,
    agent: &str,
    change: &AgentChange,
) -> Result<Response, Failure> {
    // Only ids are part of an address; whatever else was sent names none.
    let id = agent.parse::<cloister_protocol::AgentId>()?;
    let path = format!("{}/{id}", path(viewer));
    let sent = Calls::of(state, viewer).send(Method::PATCH, &path, change).await;
    done(state, viewer, sent).await
}

async fn done(
    state: &State,
    viewer: &Viewer,
    sent: Result<AgentDetail, ErrorBody>,
) -> Result<Response, Failure> {
    match sent {
        Ok(_changed) => Ok(Redirect::to("/agents").into_response()),
        Err(problem) => {
            let page = whole(state, viewer, Some(&problem)).await?;
            Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
        }
    }
}

async fn whole(
    state: &State,
    viewer: &Viewer,
    problem: Option<&ErrorBody>,
) -> Result<Markup, Failure> {
    let calls = Calls::of(state, viewer);
    let all: Vec<AgentView> = calls.get(&path(viewer)).await?;
    let may = May::of(state, viewer, viewer.workspace).await?;
    let changes = may.call(WorkspaceCall::ChangeIdentity);
    let (there, removed): (Vec<_>, Vec<_>) = all.into_iter().partition(|agent| !agent.removed);
    let mut details = Vec::new();
    for agent in there {
        let path = format!("{}/{}", path(viewer), agent.id);
        details.push(calls.get::<AgentDetail>(&path).await?);
    }
    let to = viewer.to;
    let body = html! {
        section.card {
            h1 { (say!(to, "Your agents")) }
            @if let Some(problem) = problem { (super::forms::problem(to, problem)) }
            p { (say!(to, "Each has a memory, skills, models and chats of its own, and sees nothing of the others.")) }
            @for detail in &details { (one(to, detail, changes)) }
        }
        @if changes {
            section.card { (new_agent(to)) }
            @if !removed.is_empty() { section.card { (gone(to, &removed)) } }
        }
    };
    let banner = banner::scripted(state, viewer).await;
    let title = &say!(to, "Your agents");
    let around = Page { title, to, place: Section::Agents, viewer: Some(viewer), banner };
    Ok(page(&around, &body))
}

fn called(to: Language, agent: &AgentView) -> String {
    if agent.name.is_empty() { say!(to, "First agent") } else { agent.name.clone() }
}

fn one(to: Language, detail: &AgentDetail, changes: bool) -> Markup {
    let AgentDetail { agent, manner, seen } = detail;
    let first = agent.id.is_first();
    let name = html! { span.unseen translate="no" { " " (called(to, agent)) } };
    html! {
        details {
            summary { span translate="no" { (called(to, agent)) } }
            @if !agent.chats.is_empty() {
                p { (say!(to, "Chats:")) " " @for chat in &agent.chats { a href={ "/chats/" (chat) } { (chat) } " " } }
            }
            @if changes {
                form.stack method="post" action={ "/agents/" (agent.id) } {
                    input type="hidden" name="seen" value=(seen);
                    label { (say!(to, "Name"))
                        input name="name" required[!first] maxlength="40" autocomplete="off" value=(agent.name);
                    }
                    label { (say!(to, "Who it is, and how it should be"))
                        textarea name="manner" rows="5" maxlength="7500" { (manner) }
                    }
                    button type="submit" { (say!(to, "Save")) (name) }
                }
                @if !first {
                    form method="post" action={ "/agents/" (agent.id) "/remove" } {
                        input type="hidden" name="removed" value="true";
                        button type="submit" { (say!(to, "Remove")) (name) }
                    }
                    p.hint { (say!(to, "Its chats are archived and its tasks end. Its files stay, and it can be taken back.")) }
                }
            } @else { p translate="no" { (manner) } }
        }
    }
}

fn new_agent(to: Language) -> Markup {
    let command = html! { code { "/agent NAME" } };
    html! {
        h2 { (say!(to, "Another one")) }
        form.stack method="post" action="/agents" {
            label { (say!(to, "Its name"))
                input name="name" required maxlength="40" autocomplete="off" placeholder=(say!(to, "Nora"));
            }
            label { (say!(to, "What it is there for"))
                textarea name="manner" rows="3" maxlength="7500" {}
            }
            button.primary type="submit" { (say!(to, "Make it")) }
        }
        p.hint { (phrase!(to, "One word, in any script. Then choose it beside “New chat”, or write {command} in any chat.", command = command)) }
    }
}

fn gone(to: Language, removed: &[AgentView]) -> Markup {
    html! {
        h2 { (say!(to, "Removed")) }
        @for agent in removed {
            form.inline method="post" action={ "/agents/" (agent.id) "/remove" } {
                input type="hidden" name="removed" value="false";
                span translate="no" { (agent.name) } " "
                button type="submit" { (say!(to, "Take back")) span.unseen translate="no" { " " (agent.name) } }
            }
        }
    }
}
