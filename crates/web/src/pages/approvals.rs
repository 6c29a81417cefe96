//! `/approvals`: everything that waits for this person's answer, in all chats; and the answers, for
//! browsers with and without script.

use axum::Form;
use axum::extract::State as Extract;
use axum::response::{IntoResponse, Redirect, Response};
use cloister_control::ControlError;
use cloister_control::rows::Approval;
use cloister_protocol::{Answer, ApprovalId, ErrorBody, ErrorCode};
use cloister_words::say;
use maud::{Markup, html};
use serde::Deserialize;

use super::ask::{self, Back};
use super::banner;
use super::session::Viewer;
use super::shell::{Page, Section, page};
use crate::language::phrase;
use crate::reply::{Failure, Path};
use crate::server::State;

pub(super) async fn show(
    Extract(state): Extract<State>,
    viewer: Viewer,
) -> Result<Markup, Failure> {
    list(&state, &viewer, None).await
}

#[derive(Deserialize)]
pub(super) struct Given {
    answer: Answer,
    /// Of what was seen.
    digest: String,
    #[serde(default)]
    back: String,
}

pub(super) async fn answer(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path(id): Path<String>,
    Form(Given { answer, digest, back }): Form<Given>,
) -> Result<Response, Failure> {
    let id: ApprovalId = id.parse()?;
    let asked = state.control.gates().approval(id).await?;
    let (by, workspace) = (viewer.user.id, asked.workspace);
    let answered =
        state.control.gates().answer_approval(by, workspace, id, answer, Some(&digest)).await;
    match answered {
        Ok(approval) => {
            let in_chat = back == Back::Chat.as_str() && approval.workspace == viewer.workspace;
            let place = if in_chat {
                format!("/chats/{}#q-{id}", approval.chat)
            } else {
                "/approvals".to_owned()
            };
            Ok(Redirect::to(&place).into_response())
        }
        Err(error) => {
            let problem = error.body_in(viewer.to);
            // What this person may not even know of is as good as not there.
            if problem.code == ErrorCode::Forbidden && workspace != viewer.workspace {
                return Err(ControlError::not_found("approval", id.to_string()).into());
            }
            let status = Failure::from(problem.clone()).into_response().status();
            let page = list(&state, &viewer, Some(&problem)).await?;
            Ok((status, page).into_response())
        }
    }
}

async fn list(
    state: &State,
    viewer: &Viewer,
    problem: Option<&ErrorBody>,
) -> Result<Markup, Failure> {
    let waiting = state.control.gates().approvals_for(viewer.user.id).await?;
    let to = viewer.to;
    let title = &say!(to, "Approvals");
    let link = html! { a href="/grants" { (say!(to, "Grants")) } };
    let body = html! {
        h1 { (title) }
        @if let Some(problem) = problem { (super::forms::problem(to, problem)) }
        @if waiting.is_empty() {
            p { (say!(to, "Nothing waits for your answer.")) }
        } @else {
            p { (say!(to, "What agents may not do without a word of yours. It waits as long as you need.")) }
        }
        @for approval in &waiting { (one(viewer, approval)) }
        p.hint { (phrase!(to, "What you allowed for longer is in {place}.", place = link)) }
    };
    let banner = banner::scripted(state, viewer).await;
    let around = Page { title, to, place: Section::Approvals, viewer: Some(viewer), banner };
    Ok(page(&around, &body))
}

fn one(viewer: &Viewer, approval: &Approval) -> Markup {
    let own = approval.workspace == viewer.workspace;
    let to = viewer.to;
    html! {
        p.place {
            @if own {
                a href={ "/chats/" (approval.chat) "#q-" (approval.id) } { (say!(to, "In chat {chat}", chat = approval.chat)) }
            } @else {
                (say!(to, "In workspace {workspace}, chat {chat}", workspace = approval.workspace, chat = approval.chat))
            }
            @if let Some(task) = approval.task { ", " (say!(to, "task {task}", task)) }
        }
        (ask::card(to, approval, Back::Approvals))
    }
}
