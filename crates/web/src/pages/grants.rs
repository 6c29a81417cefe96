//! `/grants`: what this person's agent may do without asking again, where that came from, and an end
//! to it.

use axum::extract::State as Extract;
use axum::response::Redirect;
use cloister_control::rows::Approval;
use cloister_policy::legible;
use cloister_protocol::Language;
use cloister_protocol::admin::{GrantReach, GrantView};
use cloister_words::say;
use maud::{Markup, html};

use super::banner;
use super::session::Viewer;
use super::shell::{Page, Section, page};
use crate::admin::grant_number;
use crate::language::phrase;
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
    let to = viewer.to;
    let link = html! { a href="/approvals" { (say!(to, "Approvals")) } };
    let body = html! {
        h1 { (say!(to, "Grants")) }
        p { (say!(to, "What your agent may do without asking again. A grant covers exactly what is written here.")) }
        @if grants.is_empty() {
            p { (say!(to, "There are none. They come from answers such as “for this task” and “always in this chat”.")) }
        }
        @for (grant, approval) in &grants { (one(to, grant, approval)) }
        p.hint { (phrase!(to, "Questions that wait are in {place}.", place = link)) }
    };
    let banner = banner::scripted(&state, &viewer).await;
    let title = &say!(to, "Grants");
    let around = Page { title, to, place: Section::Grants, viewer: Some(&viewer), banner };
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

fn one(to: Language, grant: &GrantView, approval: &Approval) -> Markup {
    let asked = say!(to, "What was asked");
    let heading = format!("g-{}", grant.id);
    html! {
        section.card.grant data-grant=(grant.id) aria-labelledby=(heading) {
            h2 id=(heading) { "G" (grant.id) ": " (reach(to, grant)) }
            pre.exact tabindex="0" translate="no" aria-label=(say!(to, "What it covers")) { (legible(&grant.describes)) }
            p.hint {
                (phrase!(to, "Given by {who} with the answer to {question}, since {when}.",
                    who = html! { strong translate="no" { (grant.given_by) } },
                    question = html! { (grant.approval) },
                    when = html! { time datetime=(grant.since) { (grant.since) } }))
            }
            details {
                summary { (asked) }
                p translate="no" { (legible(&approval.title)) }
                pre.exact tabindex="0" translate="no" aria-label=(asked) { (legible(&approval.text)) }
            }
            form method="post" action={ "/grants/" (grant.id) "/revoke" } {
                button.danger type="submit" { (say!(to, "Revoke")) span.unseen { " G" (grant.id) } }
            }
        }
    }
}

fn reach(to: Language, grant: &GrantView) -> String {
    match (grant.reach, grant.task) {
        (GrantReach::Once, _) => say!(to, "once, to the letter"),
        (GrantReach::Task, Some(task)) => {
            say!(to, "as often as task {task} needs it, to the letter", task)
        }
        (GrantReach::Task, None) => say!(to, "for its task, to the letter"),
        (GrantReach::Always, _) => {
            say!(to, "always in chat {chat}, until revoked", chat = grant.chat)
        }
    }
}
