//! The entries of a conversation as HTML: the same for a page and for what arrives live.

use std::collections::HashMap;

use cloister_control::rows::{Approval, InboxItem, InboxState, Task};
use cloister_control::{Control, ControlError};
use cloister_policy::legible;
use cloister_protocol::ErrorCode;
use cloister_protocol::link::Cause;
use cloister_protocol::{AgentFrame, ApprovalId, Ask, Attachment, End, SendFile, TurnId, Update};
use maud::{Markup, html};

use super::ask::{self, Back};
use crate::admin::time;
use crate::markdown;

/// What decides how an old entry looks today.
#[derive(Debug, Default)]
pub(crate) struct Now {
    /// The questions that were asked, as they stand.
    pub(crate) approvals: HashMap<ApprovalId, Approval>,
    /// The rules of where to go that are there by now.
    pub(crate) allowed: Vec<String>,
}

impl Now {
    /// Finds out how what a frame is about stands by now.
    pub(crate) async fn look_up(
        &mut self,
        control: &Control,
        frame: &AgentFrame,
    ) -> Result<(), ControlError> {
        let AgentFrame::Ask(ask) = frame else { return Ok(()) };
        match control.gates().approval(ask.approval).await {
            Ok(approval) => drop(self.approvals.insert(approval.id, approval)),
            Err(error) if error.code() == ErrorCode::NotFound => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// A person's message, and the place of its answer while there is none.
pub(crate) fn said(item: &InboxItem) -> Markup {
    let Cause::Message { text, attachments, .. } = &item.cause else { return html! {} };
    // The client's own name for it is the last part of its id.
    let id = item.external_id.splitn(3, ':').nth(2).unwrap_or_default();
    let turn = TurnId::of_message(item.id);
    html! {
        article.entry.person data-id=(id) data-turn=(turn) aria-label="You" {
            @if !text.is_empty() { div.text { (text) } }
            (attached(attachments))
            (stamp(item.received_at))
        }
        @if item.state != InboxState::Answered { (working(turn.as_str())) }
    }
}

fn working(turn: &str) -> Markup {
    html! {
        article.entry.agent.working data-answer=(turn) aria-label="Agent" {
            div.text {}
            p.hint { "Working on it…" }
        }
    }
}

fn attached(files: &[Attachment]) -> Markup {
    html! {
        @if !files.is_empty() {
            ul.files aria-label="Files" {
                @for file in files { li { span.file { (legible(&file.name)) " " small { (size(file.size)) } } } }
            }
        }
    }
}

/// Something a person was told, if it is for reading.
pub(crate) fn told(frame: &AgentFrame, at: i64, now: &Now) -> Option<Markup> {
    match frame {
        AgentFrame::End(end) => Some(answer(end, at)),
        AgentFrame::SendFile(file) => Some(sent_file(file, at)),
        AgentFrame::Ask(ask) => Some(question(ask, now.approvals.get(&ask.approval))),
        AgentFrame::Update(Update::Notice { text }) => {
            Some(html! { p.entry.notice role="note" { (legible(text)) } })
        }
        AgentFrame::Update(Update::Blocked { host, reason, allow, .. }) => {
            let is_new = |command: &&str| {
                let rule = command.trim_start_matches("/allow ");
                !now.allowed.iter().any(|allowed| allowed == rule)
            };
            Some(blocked(host, reason, allow.as_deref().filter(is_new)))
        }
        AgentFrame::Update(
            Update::Restart { .. }
            | Update::Task { .. }
            | Update::Progress { .. }
            | Update::Todos { .. }
            | Update::Answered { .. },
        )
        | AgentFrame::Accepted { .. }
        | AgentFrame::TextChunk(_)
        | AgentFrame::ToolCall(_)
        | AgentFrame::ToolResult(_)
        | AgentFrame::Error(_) => None,
    }
}

fn answer(end: &End, at: i64) -> Markup {
    let class = if end.error.is_some() { "entry agent failed" } else { "entry agent" };
    html! {
        article class=(class) data-answer=(end.turn) aria-label="Agent" {
            div.text.rich { (markdown::render(&end.text)) }
            (stamp(at))
        }
    }
}

fn sent_file(file: &SendFile, at: i64) -> Markup {
    html! {
        article.entry.agent aria-label="File from the agent" {
            @if let Some(url) = &file.url {
                a.file.card href=(url) download=(file.name) {
                    span.name { (legible(&file.name)) }
                    small { (size(file.size)) " · Download" }
                }
            } @else {
                span.file.card { (legible(&file.name)) }
            }
            (stamp(at))
        }
    }
}

fn question(ask: &Ask, approval: Option<&Approval>) -> Markup {
    match approval {
        Some(approval) => ask::card(approval, Back::Chat),
        // Nobody knows of it any more: there is nothing to answer.
        None => html! {
            section.entry.ask {
                h2 { (legible(&ask.title)) }
                pre.exact { (legible(&ask.text)) }
            }
        },
    }
}

fn blocked(host: &str, reason: &str, allow: Option<&str>) -> Markup {
    html! {
        div.entry.notice.blocked role="note" {
            p { strong { (legible(host)) } " was not reached: " (legible(reason)) }
            @if let Some(command) = allow {
                button type="button" data-say=(command) { "Allow " (host) }
            }
        }
    }
}

/// A task in the panel.
pub(crate) fn task(task: &Task) -> Markup {
    html! {
        li.task data-task=(task.id) data-state=(task.state.as_str()) {
            div.head {
                span.title { (legible(&task.title)) }
                span.state { (task.state.as_str()) }
                button.small type="button" data-cancel=(task.id)
                    aria-label={ "Cancel " (task.title) } { "Cancel" }
            }
            p.note {}
            ul.todos {}
        }
    }
}

fn stamp(ms: i64) -> Markup {
    let full = time(ms);
    let short = full.get(11..16).unwrap_or_default();
    html! { time datetime=(full) { (short) } }
}

/// A size as people read it.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["B", "kB", "MB", "GB"];
    let mut value = bytes;
    let mut rest = 0;
    let mut unit = 0;
    while value >= 1024 && unit + 1 < UNITS.len() {
        rest = value % 1024;
        value /= 1024;
        unit += 1;
    }
    let name = UNITS.get(unit).copied().unwrap_or("B");
    if unit > 0 && value < 10 {
        return format!("{value}.{} {name}", rest * 10 / 1024);
    }
    format!("{value} {name}")
}

#[cfg(test)]
#[path = "entries_tests.rs"]
mod tests;
