//! `/grants`: what this person's agent may do without asking again, where that came from, and an end
//! to it.

use axum::extract::State as Extract;
use axum::response::Redirect;
use cloister_control::rows::Approval;
use cloister_policy::legible;
use cloister_protocol::admin::{GrantReach, GrantView};
use maud::{Markup, html};

use super::banner;
use super::session::Viewer;
use super::shell::{Page, Section, page};
use crate::admin::grant_number;
use crate::reply::{Failure, Path};
use crate::server::State;

pub(super) async fn show(
    Extract(state): Extract<State>,
    viewer: Viewer,
) -> Result<Markup, Failure> {
    let mut grants = Vec::new();
    for grant in state.control.gates().grants(viewer.workspace).await? {
        let approval = state.control.gates().approval(grant.approval).await?;
        grants.push((grant, approval));
    }
    let body = html! {
        h1 { "Grants" }
        p { "What your agent may do without asking again. A grant covers exactly what is written here." }
        @if grants.is_empty() {
            p { "There are none. They come from answers such as " em { "for this task" } " and " em { "always in this chat" } "." }
        }
        @for (grant, approval) in &grants { (one(grant, approval)) }
        p.hint { "Questions that wait are in " a href="/approvals" { "Approvals" } "." }
    };
    let banner = banner::scripted(&state, &viewer).await;
    let around = Page { title: "Grants", place: Section::Grants, viewer: Some(&viewer), banner };
    Ok(page(&around, &body))
}

pub(super) async fn revoke(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path(id): Path<String>,
) -> Result<Redirect, Failure> {
    let number = grant_number(&id)?;
    state.control.gates().revoke_grant(viewer.user.id, viewer.workspace, number).await?;
    Ok(Redirect::to("/grants"))
}

fn one(grant: &GrantView, approval: &Approval) -> Markup {
    let heading = format!("g-{}", grant.id);
    html! {
        section.card.grant data-grant=(grant.id) aria-labelledby=(heading) {
            h2 id=(heading) { "G" (grant.id) ": " (reach(grant)) }
            pre.exact tabindex="0" aria-label="What it covers" { (legible(&grant.describes)) }
            p.hint {
                "Given by " strong { (grant.given_by) } " with the answer to " (grant.approval)
                ", since " time datetime=(grant.since) { (grant.since) } "."
            }
            details {
                summary { "What was asked" }
                p { (legible(&approval.title)) }
                pre.exact tabindex="0" aria-label="What was asked" { (legible(&approval.text)) }
            }
            form method="post" action={ "/grants/" (grant.id) "/revoke" } {
                button.danger type="submit" { "Revoke" span.unseen { " G" (grant.id) } }
            }
        }
    }
}

fn reach(grant: &GrantView) -> String {
    match (grant.reach, grant.task) {
        (GrantReach::Once, _) => "once, to the letter".to_owned(),
        (GrantReach::Task, Some(task)) => {
            format!("as often as task {task} needs it, to the letter")
        }
        (GrantReach::Task, None) => "for its task, to the letter".to_owned(),
        (GrantReach::Always, _) => format!("always in chat {}, until revoked", grant.chat),
    }
}
