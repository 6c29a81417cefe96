//! What a task changed, in a fold of its card or on a page: files with what is different, documents of the agent, and
//! what left the machine; with the buttons that take it back, bring it back or keep it.
//!
//! Promises: what a file says is text, shown to the letter; a button does what it says and nothing when that is done
//! already: a form that is sent twice does not undo an undo.

use axum::extract::State as Extract;
use axum::http::HeaderMap;
use axum::response::Redirect;
use cloister_control::{TaskStanding, UndoWish};
use cloister_policy::engine::ChatCall;
use cloister_policy::legible;
use cloister_protocol::admin::{DocumentChangeView, FileChangeView, TaskFiles};
use cloister_protocol::{ChatId, Language, TaskId};
use cloister_words::{count, noted, say, text_of};
use maud::{Markup, html};

use super::entries::size;
use super::session::{Viewer, wants_page};
use super::shell::{self, Page, Section};
use crate::reply::{Failure, Path};
use crate::server::State;

/// More are not listed.
const MOST_FILES: usize = 200;
/// Lines of one difference that are shown.
const MOST_LINES: usize = 400;
const LINE_CHARS: usize = 400;

/// `/chats/C1/tasks/T3/files`: what a task changed, for its card or as a page.
pub(super) async fn show(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path((chat, task)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Markup, Failure> {
    let (chat, id): (ChatId, TaskId) = (chat.parse()?, task.parse()?);
    let (tasks, place) = (state.control.tasks(), (viewer.workspace, chat));
    let task = tasks.task_in_chat(viewer.user.id, ChatCall::DownloadFile, place, id).await?;
    let to = viewer.to;
    let changes = listed(to, &tasks.layers().files_of(&task).await?);
    if !wants_page(&headers) {
        return Ok(changes);
    }
    let standing = tasks.layers().standing(id).await?;
    let body = html! {
        h1 { (say!(to, "Task {id}", id)) ": " span translate="no" { (legible(&task.task().title)) } }
        p.hint { a href={ "/chats/" (chat) "#task-" (id) } { (say!(to, "Back to the chat")) } }
        @if let Some(standing) = standing {
            h2 { (heading(to, standing)) }
            (button(to, (chat, id, &task.task().title), standing))
        }
        div.task { (changes) }
    };
    let title = say!(to, "Task {id}", id);
    let page =
        Page { title: &title, to, place: Section::Outside, viewer: Some(&viewer), banner: None };
    Ok(shell::page(&page, &body))
}

/// Takes back what a task did.
pub(super) async fn undo(
    state: Extract<State>,
    viewer: Viewer,
    at: Path<(String, String)>,
) -> Result<Redirect, Failure> {
    take(state, viewer, at, UndoWish::Back).await
}

/// Brings back what was taken back.
pub(super) async fn redo(
    state: Extract<State>,
    viewer: Viewer,
    at: Path<(String, String)>,
) -> Result<Redirect, Failure> {
    take(state, viewer, at, UndoWish::Again).await
}

async fn take(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path((chat, task)): Path<(String, String)>,
    wish: UndoWish,
) -> Result<Redirect, Failure> {
    let (chat, id): (ChatId, TaskId) = (chat.parse()?, task.parse()?);
    let (tasks, place) = (state.control.tasks(), (viewer.workspace, chat));
    let task = tasks.task_in_chat(viewer.user.id, ChatCall::RetryTask, place, id).await?;
    let meant = match wish {
        UndoWish::Back => TaskStanding::Landed,
        UndoWish::Again | UndoWish::Turn => TaskStanding::Undone,
    };
    // Sent twice, it is done.
    if tasks.layers().standing(id).await? == Some(meant) {
        tasks.layers().undo(&viewer.actor, &task, (wish, false)).await?;
    }
    Ok(Redirect::to(&format!("/chats/{chat}/tasks/{id}/files")))
}

/// Puts into the chat what a task did that did not get done.
pub(super) async fn keep(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path((chat, task)): Path<(String, String)>,
) -> Result<Redirect, Failure> {
    let (chat, id): (ChatId, TaskId) = (chat.parse()?, task.parse()?);
    let (tasks, place) = (state.control.tasks(), (viewer.workspace, chat));
    let task = tasks.task_in_chat(viewer.user.id, ChatCall::RetryTask, place, id).await?;
    if tasks.layers().standing(id).await? == Some(TaskStanding::Kept) {
        tasks.layers().keep(&viewer.actor, &task).await?;
    }
    Ok(Redirect::to(&format!("/chats/{chat}/tasks/{id}/files")))
}

/// The fold of a card; what is in it comes when it is opened.
pub(super) fn fold(to: Language, (chat, id): (ChatId, TaskId), standing: TaskStanding) -> Markup {
    html! {
        details.changes data-standing=(standing.as_str()) {
            summary { (heading(to, standing)) }
            p { a href={ "/chats/" (chat) "/tasks/" (id) "/files" } data-steps { (say!(to, "What it changed")) } }
        }
    }
}

/// What can be done about what a task changed.
pub(super) fn button(
    to: Language,
    (chat, id, title): (ChatId, TaskId, &str),
    standing: TaskStanding,
) -> Markup {
    let (way, words, label) = match standing {
        TaskStanding::Open => return html! {},
        TaskStanding::Kept => ("keep", say!(to, "Keep"), say!(to, "Keep: {title}", title)),
        TaskStanding::Landed => ("undo", say!(to, "Undo"), say!(to, "Undo: {title}", title)),
        TaskStanding::Undone => {
            ("redo", say!(to, "Bring back"), say!(to, "Bring back: {title}", title))
        }
    };
    html! {
        form method="post" action={ "/chats/" (chat) "/tasks/" (id) "/" (way) } {
            button.small type="submit" data-way=(way) aria-label=(label) { (words) }
        }
    }
}

fn heading(to: Language, standing: TaskStanding) -> &'static str {
    let words = match standing {
        TaskStanding::Open => noted!("What it changes: not in the chat yet"),
        TaskStanding::Landed => noted!("What it changed"),
        TaskStanding::Kept => noted!("What it changed: not put into the chat"),
        TaskStanding::Undone => noted!("What it changed: taken back"),
    };
    text_of(to, words)
}

/// All that a task changed, as a list.
pub(super) fn listed(to: Language, seen: &TaskFiles) -> Markup {
    let nothing = seen.files.is_empty() && seen.documents.is_empty() && seen.left_out.is_empty();
    let more = seen.files.len().saturating_sub(MOST_FILES);
    let back = seen.state == "undone";
    html! {
        @if nothing { p.hint { (say!(to, "It changed nothing.")) } }
        ul.wrote {
            @for file in seen.files.iter().take(MOST_FILES) { li data-change=(file.change) { (one(to, file, back)) } }
            @for document in &seen.documents { li data-change=(document.change) { (of_agent(to, document)) } }
        }
        @if more > 0 { p.hint { (count!(to, more, "{n} more file is not listed.", "{n} more files are not listed.")) } }
        @for what in &seen.left_out { p.hint { (say!(to, "Does not land: {what}.", what = legible(what))) } }
        @for path in &seen.stayed {
            p.hint { (say!(to, "Not removed, because somebody else changed it meanwhile: {path}.", path = legible(path))) }
        }
        @if !seen.outward.is_empty() {
            p.hint { (say!(to, "Left the machine, and can't be undone:")) }
            ul.wrote.outward translate="no" { @for what in &seen.outward { li { (legible(what)) } } }
        }
    }
}

fn one(to: Language, file: &FileChangeView, back: bool) -> Markup {
    let (sign, word) = kind(to, &file.change);
    let note = if file.undone {
        Some(say!(to, "taken back"))
    } else if back || file.changed_since {
        Some(say!(to, "changed by somebody since, so it stays"))
    } else {
        None
    };
    let line = html! {
        span class=(class(&file.change)) aria-hidden="true" { (sign) " " }
        code translate="no" { (legible(&file.path)) }
        @if let Some(beside) = &file.beside { " → " code translate="no" { (legible(beside)) } }
        " " small { (word) ", " (size(file.size)) @if let Some(note) = note { ", " (note) } }
    };
    let label = say!(to, "Changes of {path}", path = legible(&file.path));
    html! {
        @match &file.diff {
            Some(diff) => details {
                summary { (line) }
                (difference(&label, diff))
            },
            // A picture, a program, or longer than anybody reads here.
            None => p.fact { (line) },
        }
    }
}

fn of_agent(to: Language, document: &DocumentChangeView) -> Markup {
    let (sign, word) = kind(to, &document.change);
    let label = say!(to, "Changes of {path}", path = legible(&document.path));
    html! {
        details {
            summary {
                span class=(class(&document.change)) aria-hidden="true" { (sign) " " }
                code translate="no" { (legible(&document.path)) } " "
                small { (word) @if document.undone { ", " (say!(to, "taken back")) } }
            }
            (difference(&label, &document.diff))
        }
    }
}

fn kind(to: Language, change: &str) -> (&'static str, &'static str) {
    let (sign, word) = match change {
        "added" => ("+", noted!("added")),
        "removed" => ("−", noted!("removed")),
        _ => ("~", noted!("changed")),
    };
    (sign, text_of(to, word))
}

fn class(change: &str) -> &'static str {
    match change {
        "added" => "ins",
        "removed" => "del",
        _ => "",
    }
}

fn difference(label: &str, diff: &str) -> Markup {
    let more = diff.lines().count().saturating_sub(MOST_LINES);
    html! {
        pre.diff translate="no" tabindex="0" aria-label=(label) {
            @for line in diff.lines().filter(|line| !is_head(line)).take(MOST_LINES) {
                @let shown: String = line.chars().take(LINE_CHARS).collect();
                @match line.chars().next() {
                    Some('+') => span.ins { (legible(&shown)) "\n" },
                    Some('-') => span.del { (legible(&shown)) "\n" },
                    _ => span { (legible(&shown)) "\n" },
                }
            }
            @if more > 0 { "… " (more) "\n" }
        }
    }
}

/// Whether a line names the two sides: the file is named above.
fn is_head(line: &str) -> bool {
    ["--- a/", "--- /dev/null", "+++ b/", "+++ /dev/null"].iter().any(|head| line.starts_with(head))
}

#[cfg(test)]
#[path = "task_changes_tests.rs"]
mod tests;
