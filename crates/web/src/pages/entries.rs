//! The entries of a conversation as HTML: the same for a page and for what arrives live.

use std::collections::{HashMap, HashSet};

use cloister_control::rows::{Approval, InboxItem, InboxState, Task};
use cloister_control::{Control, ControlError};
use cloister_policy::legible;
use cloister_protocol::link::Cause;
use cloister_protocol::{
    AgentFrame, ApprovalId, Ask, Attachment, ChatId, End, ErrorCode, Language, SendFile, TaskId,
    TurnId, Update, WorkspaceId,
};
use cloister_words::say;
use maud::{Markup, html};

use super::ask::{self, Back};
use super::task;
use crate::admin::time;
use crate::language::phrase;
use crate::markdown;

/// Pictures that are shown in place: files that were sent here, of kinds that are nothing but a picture.
const SHOWN: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// What an agent says that was stopped before it said anything.
const STOPPED: &str = "Stopped.";

/// What decides how an old entry looks today.
#[derive(Debug, Default)]
pub(crate) struct Now {
    /// The language of who looks.
    pub(crate) to: Language,
    /// Where it is shown, for what can be done about it.
    pub(crate) chat: Option<ChatId>,
    /// The questions that were asked, as they stand.
    pub(crate) approvals: HashMap<ApprovalId, Approval>,
    /// The rules of where to go that are there by now.
    pub(crate) allowed: Vec<String>,
    /// The tasks that were kept from somewhere, as they stand.
    pub(crate) blocked: HashMap<TaskId, Task>,
    /// Of whom and in which chat it is told: whose messages began the turns.
    pub(crate) workspace: Option<WorkspaceId>,
    /// The turns that no message began: reports of tasks and the like, which can't be asked for again.
    pub(crate) unasked: HashSet<TurnId>,
    /// Nothing goes on until the release.
    pub(crate) stopped: bool,
    /// What people said on this page: a button that says it was used.
    pub(crate) said: HashSet<String>,
}

impl Now {
    /// Finds out how what a frame is about stands by now.
    pub(crate) async fn look_up(
        &mut self,
        control: &Control,
        frame: &AgentFrame,
    ) -> Result<(), ControlError> {
        match frame {
            AgentFrame::Ask(ask) => match control.gates().approval(ask.approval).await {
                Ok(approval) => drop(self.approvals.insert(approval.id, approval)),
                Err(error) if error.code() == ErrorCode::NotFound => {}
                Err(error) => return Err(error.into()),
            },
            AgentFrame::Update(Update::Blocked { task: Some(task), .. }) => {
                match control.tasks().find(*task).await {
                    Ok(task) => drop(self.blocked.insert(task.id, task)),
                    Err(error) if error.code() == ErrorCode::NotFound => {}
                    Err(error) => return Err(error.into()),
                }
            }
            AgentFrame::End(end) => {
                let place = self.workspace.zip(self.chat).zip(end.turn.message());
                if let Some(((workspace, chat), row)) = place
                    && control.inbox().said(workspace, chat, row).await?.is_none()
                {
                    self.unasked.insert(end.turn.clone());
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Now {
    /// Whether what a command allows is allowed already.
    fn allows(&self, command: &str) -> bool {
        let rule = command.trim_start_matches("/allow ");
        self.allowed.iter().any(|allowed| allowed == rule)
    }
}

/// The names of entries in an address.
pub(super) fn said_id(turn: &TurnId) -> String {
    format!("m-{turn}")
}

pub(super) fn answer_id(turn: &TurnId) -> String {
    format!("a-{turn}")
}

/// A person's message, and the place of its answer while there is none.
pub(crate) fn said(to: Language, item: &InboxItem, stopped: bool) -> Markup {
    let Cause::Message { text, attachments, instead, .. } = &item.cause else { return html! {} };
    // The client's own name for it is the last part of its id.
    let id = item.external_id.splitn(3, ':').nth(2).unwrap_or_default();
    let turn = TurnId::of_message(item.id);
    html! {
        article.entry.person id=(said_id(&turn)) data-id=(id) data-turn=(turn) data-instead=[instead.as_ref()] data-files=[files(attachments)] aria-label=(say!(to, "You")) {
            @if !text.is_empty() { div.text translate="no" { (text) } }
            (attached(to, item, attachments))
            (stamp(item.received_at))
        }
        @if item.state != InboxState::Answered { (working(to, item.chat, turn.as_str(), stopped)) }
    }
}

/// The files of a message, for who sends it again.
fn files(attachments: &[Attachment]) -> Option<String> {
    if attachments.is_empty() {
        return None;
    }
    serde_json::to_string(attachments).ok()
}

fn working(to: Language, chat: ChatId, turn: &str, stopped: bool) -> Markup {
    html! {
        article.entry.agent.working data-answer=(turn) aria-label=(say!(to, "Agent")) {
            div.text translate="no" {}
            p.hint {
                @if stopped { (say!(to, "Everything is stopped. This is answered when it goes on.")) }
                @else { (say!(to, "Working on it…")) }
            }
            noscript {
                form method="post" action={ "/chats/" (chat) "/turns/" (turn) "/stop" } {
                    button.small type="submit" { (say!(to, "Stop")) }
                }
            }
        }
    }
}

/// Sounds that browsers play: voice notes, above all.
const PLAYED: &str = "audio/";

fn attached(to: Language, item: &InboxItem, files: &[Attachment]) -> Markup {
    html! {
        @if !files.is_empty() {
            ul.files translate="no" aria-label=(say!(to, "Files")) {
                @for file in files { li { (one_attached(item, file)) } }
            }
        }
    }
}

/// A file as it was sent: to be opened again, a picture in place.
fn one_attached(item: &InboxItem, file: &Attachment) -> Markup {
    let words = html! { (legible(&file.name)) " " small { (size(file.size)) } };
    let Some(url) = incoming(item, file) else {
        return html! { span.file { (words) } };
    };
    html! {
        @if file.mime.starts_with(PLAYED) {
            audio controls preload="none" src=(url) aria-label=(legible(&file.name)) {}
        }
        @if SHOWN.contains(&file.mime.as_str()) {
            a.file href=(url) target="_blank" {
                img src=(url) alt=(legible(&file.name)) loading="lazy";
                (words)
            }
        } @else {
            a.file href=(url) download=(file.name) { (words) }
        }
    }
}

/// Where a file that came with a message is fetched.
fn incoming(item: &InboxItem, file: &Attachment) -> Option<String> {
    let name = file.path.strip_prefix(&format!("chats/{}/incoming/", item.chat))?;
    let mut url = format!("/cells/{}/v1/chats/{}/incoming/", item.workspace, item.chat);
    for byte in name.bytes() {
        match byte {
            byte if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) => {
                url.push(char::from(byte));
            }
            byte => url.push_str(&format!("%{byte:02X}")),
        }
    }
    Some(url)
}

/// Something a person was told, if it is for reading.
pub(crate) fn told(frame: &AgentFrame, at: i64, now: &Now) -> Option<Markup> {
    match frame {
        // The next message is answered for both.
        AgentFrame::End(end) if end.error == Some(ErrorCode::Continued) && end.text.is_empty() => {
            None
        }
        AgentFrame::End(end) => Some(answer(now, end, at)),
        AgentFrame::SendFile(file) => Some(sent_file(now.to, file, at)),
        AgentFrame::Ask(ask) => Some(question(now.to, ask, now.approvals.get(&ask.approval))),
        AgentFrame::Update(Update::Notice { text }) => {
            Some(html! { p.entry.notice role="note" translate="no" { (legible(text)) } })
        }
        AgentFrame::Update(Update::Blocked { host, reason, allow, task }) => {
            let task = task.as_ref().and_then(|task| now.blocked.get(task));
            let way = match allow.as_deref() {
                None => Way::None,
                Some(command) if now.allows(command) => Way::Open(task),
                Some(command) => Way::Allow(command, task),
            };
            Some(blocked(now, (host, reason), &way))
        }
        AgentFrame::Update(
            Update::Restart { .. }
            | Update::Model { .. }
            | Update::Task { .. }
            | Update::Progress { .. }
            | Update::Output { .. }
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

fn answer(now: &Now, end: &End, at: i64) -> Markup {
    let to = now.to;
    let unasked = now.unasked.contains(&end.turn);
    let stopped = end.error == Some(ErrorCode::Cancelled);
    // The next message is answered for both.
    let taken_over = end.error == Some(ErrorCode::Continued);
    let failed = end.error.is_some() && !stopped && !taken_over;
    html! {
        article.entry.agent .failed[failed] id=(answer_id(&end.turn)) data-answer=(end.turn) data-unasked[unasked] aria-label=(say!(to, "Agent")) {
            div.text.rich translate="no" { (markdown::render(&end.text)) }
            // What was said until then stays.
            @if stopped && end.text != STOPPED { p.hint.stopped { (say!(to, "Stopped")) } }
            @if taken_over { p.hint.stopped { (say!(to, "The next answer is to both messages.")) } }
            (stamp(at))
            // What began it is asked again; with the script there is a button for that.
            @if let (true, Some(chat), Some(_asked)) = (failed, now.chat, &end.message) {
                noscript {
                    form method="post" action={ "/chats/" (chat) "/turns/" (end.turn) "/again" } {
                        button.small type="submit" { (say!(to, "Try again")) }
                    }
                }
            }
        }
    }
}

fn sent_file(to: Language, file: &SendFile, at: i64) -> Markup {
    html! {
        article.entry.agent aria-label=(say!(to, "File from the agent")) {
            @if let Some(url) = &file.url {
                a.file.card href=(url) download=(file.name) {
                    @if SHOWN.contains(&file.mime.as_str()) {
                        img src=(url) alt=(legible(&file.name)) loading="lazy";
                    }
                    span.name translate="no" { (legible(&file.name)) }
                    small { (size(file.size)) " · " (say!(to, "Download")) }
                }
            } @else {
                span.file.card translate="no" { (legible(&file.name)) }
            }
            (stamp(at))
        }
    }
}

fn question(to: Language, ask: &Ask, approval: Option<&Approval>) -> Markup {
    match approval {
        Some(approval) => ask::card(to, approval, Back::Chat),
        // Nobody knows of it any more: there is nothing to answer.
        None => html! {
            section.entry.ask translate="no" {
                h2 { (legible(&ask.title)) }
                pre.exact { (legible(&ask.text)) }
            }
        },
    }
}

/// What can be done about a host that was not reached.
enum Way<'a> {
    /// Nothing, by this person.
    None,
    /// This command allows it; then the task can go on.
    Allow(&'a str, Option<&'a Task>),
    /// It is allowed by now.
    Open(Option<&'a Task>),
}

fn blocked(now: &Now, (host, reason): (&str, &str), way: &Way<'_>) -> Markup {
    let to = now.to;
    let saying = |words: &str, button: &Markup| match now.chat {
        Some(chat) => task::saying(chat, words, button),
        None => html! { (button) },
    };
    let task = match way {
        Way::None => None,
        Way::Allow(_, task) | Way::Open(task) => *task,
    };
    html! {
        div.entry.notice.blocked role="note" data-host=(host) data-blocked=[task.map(|task| task.id)] {
            p {
                (phrase!(to, "{host} was not reached: {reason}",
                    host = html! { strong translate="no" { (legible(host)) } },
                    reason = html! { span translate="no" { (legible(reason)) } }))
            }
            @match way {
                Way::None => {}
                Way::Allow(command, _) => {
                    (saying(command, &html! { button type="submit" data-allow=(command) { (say!(to, "Allow {host}", host)) } }))
                }
                Way::Open(task) => {
                    @if let Some(words) = task.and_then(|task| task::go_on(to, task, host)).filter(|words| !now.said.contains(words)) {
                        (saying(&words, &html! { button type="submit" data-say=(words) { (say!(to, "Go on with the task")) } }))
                    }
                }
            }
        }
    }
}

/// What a page is shown of something that is not kept: the state of a task, or a step of it.
pub(crate) async fn live(
    control: &Control,
    to: Language,
    frame: &AgentFrame,
) -> Result<Option<Markup>, ControlError> {
    Ok(match frame {
        AgentFrame::Update(Update::Task { task, .. }) => {
            let changed = control.tasks().layers().standing(*task).await?;
            Some(task::card(to, &control.tasks().find(*task).await?, None, changed))
        }
        AgentFrame::Update(Update::Output { text, .. }) => Some(task::printing(to, text)),
        AgentFrame::ToolCall(call) if call.task.is_some() => task::begun(to, call),
        AgentFrame::ToolResult(result) if result.task.is_some() => Some(task::done(to, result)),
        _ => None,
    })
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
