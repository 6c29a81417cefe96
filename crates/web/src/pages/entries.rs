//! The entries of a conversation as HTML: the same for a page and for what arrives live.

use cloister_protocol::link::Cause;
use cloister_protocol::{AgentFrame, Ask, Attachment, End, SendFile, Update};
use cloister_store::inbox::{InboxItem, InboxState};
use cloister_store::tasks::Task;
use maud::{Markup, html};

use crate::admin::time;
use crate::markdown;

/// What decides how an old entry looks today.
#[derive(Debug, Default)]
pub(crate) struct Now {
    /// The questions that still wait; none when they are not known to.
    pub(crate) waiting: Vec<cloister_protocol::ApprovalId>,
    /// The rules of where to go that are there by now.
    pub(crate) allowed: Vec<String>,
}

/// A person's message, and the place of its answer while there is none.
pub(crate) fn said(item: &InboxItem) -> Markup {
    let Cause::Message { text, attachments, .. } = &item.cause else { return html! {} };
    // The client's own name for it is the last part of its id.
    let id = item.external_id.splitn(3, ':').nth(2).unwrap_or_default();
    let turn = format!("t-m{}", item.id);
    html! {
        article.entry.person data-id=(id) data-turn=(turn) aria-label="You" {
            @if !text.is_empty() { div.text { (text) } }
            (attached(attachments))
            (stamp(item.received_at))
        }
        @if item.state != InboxState::Answered { (working(&turn)) }
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
                @for file in files { li { span.file { (file.name) " " small { (size(file.size)) } } } }
            }
        }
    }
}

/// Something a person was told, if it is for reading.
pub(crate) fn told(frame: &AgentFrame, at: i64, now: &Now) -> Option<Markup> {
    match frame {
        AgentFrame::End(end) => Some(answer(end, at)),
        AgentFrame::SendFile(file) => Some(sent_file(file, at)),
        AgentFrame::Ask(ask) => Some(question(ask, now.waiting.contains(&ask.approval))),
        AgentFrame::Update(Update::Notice { text }) => {
            Some(html! { p.entry.notice role="note" { (text) } })
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
            | Update::Todos { .. },
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
                    span.name { (file.name) }
                    small { (size(file.size)) " · Download" }
                }
            } @else {
                span.file.card { (file.name) }
            }
            (stamp(at))
        }
    }
}

fn question(ask: &Ask, waits: bool) -> Markup {
    let title = format!("q-{}", ask.approval);
    let task = ask.task.map(|task| task.to_string());
    html! {
        section.entry.ask data-approval=(ask.approval) data-task=[task] aria-labelledby=(title) {
            h2 id=(title) { (ask.title) }
            div.text.rich { (markdown::render(&ask.text)) }
            @if waits {
                div.row {
                    button.primary type="button" data-answer-with="allow" { "Allow" }
                    button type="button" data-answer-with="deny" { "Refuse" }
                }
            } @else {
                p.hint { "Answered." }
            }
        }
    }
}

fn blocked(host: &str, reason: &str, allow: Option<&str>) -> Markup {
    html! {
        div.entry.notice.blocked role="note" {
            p { strong { (host) } " was not reached: " (reason) }
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
                span.title { (task.title) }
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
