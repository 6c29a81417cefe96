//! A task as a card in its conversation: what it does, step by step, and what came of it.
//!
//! Promises: what a task ran and what came back is text, shown to the letter with nothing hidden in it; a card
//! costs a page a few lines, and its steps come when somebody opens it.

use std::collections::HashMap;

use axum::extract::State as Extract;
use axum::http::HeaderMap;
use cloister_control::TaskStanding;
use cloister_control::rows::Task;
use cloister_policy::engine::ChatCall;
use cloister_policy::legible;
use cloister_protocol::link::{CallStatus, Outcome, Step};
use cloister_protocol::{
    ChatId, Language, TaskId, TaskState, Todo, TodoState, ToolCall, ToolResult,
};
use cloister_words::{count, noted, say, text_of};
use maud::{Markup, html};
use serde_json::Value;

use super::session::{Viewer, wants_page};
use super::shell::{self, Page, Section};
use super::{task_changes, task_files};
use crate::markdown;
use crate::reply::{Failure, Path};
use crate::server::State;

/// How many of a task's steps are listed: the last ones.
const MOST_STEPS: usize = 100;
/// How much of what a step was told or said is shown.
const MOST_CHARS: usize = 4000;
/// How much of a call stands in its line.
const LINE_CHARS: usize = 200;
/// A call that says nothing of its own: the list of todos is shown already.
const UNSHOWN: &str = "write_todos";

/// `/chats/C1/tasks/T3`: the steps of a task, for its card or as a page.
pub(super) async fn steps(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path((chat, task)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Markup, Failure> {
    let (chat, id): (ChatId, TaskId) = (chat.parse()?, task.parse()?);
    let (tasks, place) = (state.control.tasks(), (viewer.workspace, chat));
    let task = tasks.task_in_chat(viewer.user.id, ChatCall::ShowTask, place, id).await?.into_task();
    let to = viewer.to;
    let steps = tasks.steps(id).await?;
    let standing = tasks.layers().standing(id).await?;
    let list = html! { (list(to, &steps)) (of_ledger(to, &steps, standing)) };
    if !wants_page(&headers) {
        return Ok(list);
    }
    let body = html! {
        h1 { (say!(to, "Task {id}", id)) ": " span translate="no" { (legible(&task.title)) } }
        p.hint { (state_of(to, task.state)) " · " a href={ "/chats/" (chat) "#task-" (id) } { (say!(to, "Back to the chat")) } }
        (list)
        @if let Some(standing) = standing {
            div.task { (task_changes::fold(to, (chat, id), standing)) }
        }
        @if !task.result.is_empty() {
            h2 { (say!(to, "Result")) }
            div.rich translate="no" { (markdown::render(&task.result)) }
        }
    };
    let title = say!(to, "Task {id}", id);
    let page =
        Page { title: &title, to, place: Section::Outside, viewer: Some(&viewer), banner: None };
    Ok(shell::page(&page, &body))
}

/// A state of a task in a word.
pub(crate) fn state_of(to: Language, state: TaskState) -> &'static str {
    let word = match state {
        TaskState::Queued => noted!("queued"),
        TaskState::Running => noted!("running"),
        TaskState::Waiting => noted!("waiting"),
        TaskState::Done => noted!("done"),
        TaskState::Failed => noted!("failed"),
        TaskState::Cancelled => noted!("cancelled"),
    };
    text_of(to, word)
}

/// The card of a task; with its steps where they are at hand, and with how what it changed stands.
pub(crate) fn card(
    to: Language,
    task: &Task,
    steps: Option<&[Step]>,
    standing: Option<TaskStanding>,
) -> Markup {
    let name = say!(to, "Task {id}: {title}", id = task.id, title = task.title);
    html! {
        section.entry.task id={ "task-" (task.id) } data-task=(task.id) data-began=(task.turn) data-state=(task.state.as_str())
            aria-label=(name) {
            div.head {
                span.title translate="no" { (legible(&task.title)) }
                span.state { (state_of(to, task.state)) }
                (button(to, task))
                @if let Some(standing) = standing {
                    (task_changes::button(to, (task.chat, task.id, &task.title), standing))
                }
            }
            p.note translate="no" { (note(task, steps)) }
            (todos(to, steps.unwrap_or_default()))
            details.steps {
                summary { (say!(to, "Steps and files")) }
                @match steps {
                    Some(steps) => { (list(to, steps)) (of_ledger(to, steps, standing)) },
                    None if task.state == TaskState::Queued => (list(to, &[])),
                    None => p {
                        a href={ "/chats/" (task.chat) "/tasks/" (task.id) } data-steps { (say!(to, "What it did")) }
                    },
                }
            }
            @if let Some(standing) = standing { (task_changes::fold(to, (task.chat, task.id), standing)) }
            @if task.state == TaskState::Done && !task.result.is_empty() {
                details.result {
                    summary { (say!(to, "Result")) }
                    div.rich translate="no" { (markdown::render(&task.result)) }
                }
            }
        }
    }
}

/// What its ledger knows of files, where nothing knows better.
fn of_ledger(to: Language, steps: &[Step], standing: Option<TaskStanding>) -> Markup {
    if standing.is_some() {
        html! {}
    } else {
        task_files::shown(to, steps)
    }
}

fn button(to: Language, task: &Task) -> Markup {
    html! {
        @if !task.state.is_final() {
            form method="post" action={ "/chats/" (task.chat) "/tasks/" (task.id) "/cancel" } {
                button.small type="submit" data-cancel=(task.id) aria-label=(say!(to, "Cancel: {title}", title = task.title)) { (say!(to, "Cancel")) }
            }
        } @else if let Some(words) = retry(task) {
            (saying(task.chat, &words, &html! {
                button.small type="submit" data-say=(words) aria-label=(say!(to, "Try again: {title}", title = task.title)) { (say!(to, "Try again")) }
            }))
        }
    }
}

/// A form that says something in a chat when its button is pressed.
pub(super) fn saying(chat: ChatId, words: &str, button: &Markup) -> Markup {
    html! {
        form method="post" action={ "/chats/" (chat) } {
            input type="hidden" name="text" value=(words);
            (button)
        }
    }
}

/// The command that tries a task again, where that can be done.
fn retry(task: &Task) -> Option<String> {
    let ended_badly = matches!(task.state, TaskState::Failed | TaskState::Cancelled);
    (ended_badly && task.parent.is_none()).then(|| format!("/retry {}", task.id))
}

/// What a person says to have a task go on that could not reach a host; none while it is still at work.
pub(super) fn go_on(to: Language, task: &Task, host: &str) -> Option<String> {
    match task.state {
        TaskState::Failed | TaskState::Cancelled => retry(task),
        TaskState::Done => {
            let Task { id, title, .. } = task;
            Some(say!(to, "{host} is allowed now. Go on with {id} ({title}).", host, id, title))
        }
        TaskState::Queued | TaskState::Running | TaskState::Waiting => None,
    }
}

/// One line of how it stands: what runs, or why it failed.
fn note(task: &Task, steps: Option<&[Step]>) -> String {
    match task.state {
        // The state stands beside it, and all of it in the report.
        TaskState::Failed | TaskState::Cancelled => {
            let why = task.result.strip_prefix("failed: ").unwrap_or(&task.result);
            let first = why.lines().next().unwrap_or_default();
            legible(&cut(first, LINE_CHARS)).into()
        }
        TaskState::Queued | TaskState::Done => String::new(),
        TaskState::Running | TaskState::Waiting => {
            let last = steps.unwrap_or_default().iter().rev().find_map(|step| match step {
                Step::Answer { calls, .. } => calls.last(),
                Step::Call { .. } | Step::Result { .. } => None,
            });
            last.map(|call| line(&call.name, &parsed(&call.arguments)).0).unwrap_or_default()
        }
    }
}

/// The list of todos as the task wrote it last.
fn todos(to: Language, steps: &[Step]) -> Markup {
    let written = steps.iter().rev().find_map(|step| match step {
        Step::Answer { calls, .. } => calls.iter().rev().find(|call| call.name == UNSHOWN),
        Step::Call { .. } | Step::Result { .. } => None,
    });
    let todos = written.and_then(|call| parsed(&call.arguments).get_mut("todos").map(Value::take));
    let todos: Vec<Todo> =
        todos.and_then(|todos| serde_json::from_value(todos).ok()).unwrap_or_default();
    html! {
        ul.todos { @for todo in todos.iter().take(MOST_STEPS) {
            @let state = standing(todo.state);
            li class=(state) {
                span translate="no" { (legible(&todo.text)) }
                @if todo.state != TodoState::Open { span.unseen { " (" (standing_in(to, todo.state)) ")" } }
            }
        } }
    }
}

fn list(to: Language, steps: &[Step]) -> Markup {
    let mut outcomes: HashMap<&str, &Outcome> = HashMap::new();
    let mut calls = Vec::new();
    for step in steps {
        match step {
            Step::Answer { calls: wanted, .. } => {
                calls.extend(wanted.iter().filter(|call| call.name != UNSHOWN));
            }
            Step::Result { call, outcome } => drop(outcomes.insert(call, outcome)),
            Step::Call { .. } => {}
        }
    }
    let left_out = calls.len().saturating_sub(MOST_STEPS);
    html! {
        @if left_out > 0 { p.hint { (count!(to, left_out, "{n} earlier step is not shown.", "{n} earlier steps are not shown.")) } }
        ol.list {
            @for call in calls.iter().skip(left_out) {
                (step(to, &call.id, &call.name, &parsed(&call.arguments), outcomes.get(call.id.as_str()).copied()))
            }
        }
    }
}

/// A step that begins, for a card that is looked at.
pub(crate) fn begun(to: Language, call: &ToolCall) -> Option<Markup> {
    (call.name != UNSHOWN).then(|| step(to, &call.id, &call.name, &call.arguments, None))
}

/// What came of a step.
pub(crate) fn done(to: Language, result: &ToolResult) -> Markup {
    output(to, &result.output)
}

fn step(
    to: Language,
    id: &str,
    name: &str,
    arguments: &Value,
    outcome: Option<&Outcome>,
) -> Markup {
    let (line, whole) = line(name, arguments);
    html! {
        li.step data-call=(id) data-status=(outcome.map_or("running", |outcome| status(outcome.status))) {
            details {
                summary translate="no" { span.tool { (legible(name)) } " " code { (line) } }
                @if let Some(whole) = whole { pre.whole translate="no" tabindex="0" { (whole) } }
                (output(to, outcome.map_or("", |outcome| &outcome.output)))
            }
        }
    }
}

/// What a step has printed so far: its end.
pub(crate) fn printing(to: Language, text: &str) -> Markup {
    let from = text.char_indices().rev().nth(MOST_CHARS - 1).map_or(0, |(at, _)| at);
    output(to, text.get(from..).unwrap_or_default())
}

fn output(to: Language, text: &str) -> Markup {
    html! { pre.output translate="no" tabindex="0" aria-label=(say!(to, "Output")) { (legible(&cut(text, MOST_CHARS))) } }
}

const fn standing(state: TodoState) -> &'static str {
    match state {
        TodoState::Open => "open",
        TodoState::Doing => "doing",
        TodoState::Done => "done",
    }
}

fn standing_in(to: Language, state: TodoState) -> &'static str {
    let word = match state {
        TodoState::Open => noted!("to do"),
        TodoState::Doing => noted!("being done"),
        TodoState::Done => noted!("done"),
    };
    text_of(to, word)
}

const fn status(status: CallStatus) -> &'static str {
    match status {
        CallStatus::Ok => "ok",
        CallStatus::Failed => "failed",
        CallStatus::Refused => "refused",
        CallStatus::Unknown => "unknown",
    }
}

fn parsed(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap_or_else(|_unreadable| Value::from(arguments))
}

/// What a call does in one line, and all of it where the line has not.
fn line(name: &str, arguments: &Value) -> (String, Option<String>) {
    const TELLING: [&str; 9] =
        ["command", "code", "path", "url", "query", "pattern", "title", "name", "result"];
    let told = TELLING.iter().find_map(|key| arguments.get(key)?.as_str().map(str::to_owned));
    let whole = told.unwrap_or_else(|| match arguments {
        Value::Null => String::new(),
        Value::Object(fields) if fields.is_empty() => String::new(),
        other => other.to_string(),
    });
    if whole.is_empty() {
        return (name.to_owned(), None);
    }
    let first = whole.lines().next().unwrap_or_default();
    let short = cut(first, LINE_CHARS);
    let all = short == whole;
    let line = if all || short.ends_with('…') { short } else { format!("{short} …") };
    let whole = (!all).then(|| legible(&cut(&whole, MOST_CHARS)).into_owned());
    (legible(&line).into_owned(), whole)
}

fn cut(text: &str, most: usize) -> String {
    let mut short: String = text.chars().take(most).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
#[path = "task_tests.rs"]
mod tests;
