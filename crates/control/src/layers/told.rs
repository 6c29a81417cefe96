//! What is said of what a task did to the files of its chat.

use cloister_protocol::TaskId;
use cloister_protocol::admin::FileChangeView;

use super::held::HeldFile;
use super::plan::{ChangeKind, FileChange, Plan};
use super::scan::LeftOut;

/// As many files are named of each kind.
const MOST_NAMED: usize = 20;

/// For the report of the task: its agent, and whoever reads the report, know what became of the files.
pub(super) fn told(task: TaskId, plan: &Plan) -> Option<String> {
    let mut lines = Vec::new();
    let of = |kind: ChangeKind| {
        let of_kind = plan.changes.iter().filter(move |one| one.kind == kind);
        of_kind.filter(|one| one.beside.is_none()).map(|one| one.path.as_str())
    };
    let kinds = [
        ("added", ChangeKind::Added),
        ("changed", ChangeKind::Changed),
        ("removed", ChangeKind::Removed),
    ];
    let parts = kinds
        .into_iter()
        .filter_map(|(word, kind)| named(of(kind)).map(|names| format!("{word} {names}")));
    let parts: Vec<String> = parts.collect();
    if !parts.is_empty() {
        lines.push(format!("Files of the chat: {}.", parts.join("; ")));
    }
    for FileChange { path, beside, .. } in &plan.changes {
        if let Some(beside) = beside {
            lines.push(format!(
                "{path} was changed by somebody else meanwhile and is as they left it; this task's is {beside}."
            ));
        }
    }
    if let Some(names) = named(plan.stayed.iter().map(String::as_str)) {
        lines.push(format!("Not removed, because somebody else changed it meanwhile: {names}."));
    }
    let held = plan.held.iter().map(|one| format!("{} ({})", one.path, one.why));
    let held: Vec<String> = held.collect();
    if let Some(names) = named(held.iter().map(String::as_str)) {
        lines.push(format!(
            "Not put into the chat's files without a yes, because programs would run it: {names}. \
             `/task diff {task}` shows it, `/task keep {task}` puts it there."
        ));
    }
    for left_out in plan.left_out.iter().take(MOST_NAMED) {
        lines.push(format!("{} was left out: {}.", left_out.path, left_out.why));
    }
    let more = plan.left_out.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        lines.push(format!("{more} more were left out."));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// What went otherwise than planned, because somebody changed it at that moment.
pub(super) fn otherwise(task: TaskId, beside: &[FileChange], stayed: &[String]) -> Option<String> {
    let (changes, stayed) = (beside.to_vec(), stayed.to_vec());
    let plan = Plan { changes, stayed, ..Plan::default() };
    told(task, &plan)
}

/// The same in a line, for the audit.
pub(super) fn summary(plan: &Plan) -> String {
    let count = |kind| plan.changes.iter().filter(|one| one.kind == kind).count();
    format!(
        "{} added, {} changed, {} removed, {} left out, {} held back",
        count(ChangeKind::Added),
        count(ChangeKind::Changed),
        count(ChangeKind::Removed),
        plan.left_out.len() + plan.stayed.len(),
        plan.held.len()
    )
}

/// A change as people and programs read it.
pub(super) fn view(change: &FileChange) -> FileChangeView {
    FileChangeView {
        path: change.path.clone(),
        change: change.kind.as_str().to_owned(),
        size: change.size,
        beside: change.beside.clone(),
        diff: None,
        undone: false,
        changed_since: false,
        runs: change.runs.clone(),
        held: false,
    }
}

/// The same of a file that waits for a yes.
pub(super) fn view_held(held: &HeldFile) -> FileChangeView {
    FileChangeView { held: true, ..view(&held.change()) }
}

/// What a person is to know who has not looked: a task with others' content in it did much, or took away what it had
/// not made.
pub(super) fn warning(task: TaskId, plan: &Plan, most: usize) -> Option<String> {
    let removed = plan.changes.iter().filter(|one| one.kind == ChangeKind::Removed).count();
    let all = plan.changes.len();
    if removed == 0 && all <= most {
        return None;
    }
    let files = |count: usize| match count {
        1 => "one file".to_owned(),
        count => format!("{count} files"),
    };
    let did = [("changed", all - removed), ("removed", removed)].into_iter();
    let did = did.filter(|(_, count)| *count > 0);
    let did: Vec<String> = did.map(|(word, count)| format!("{word} {}", files(count))).collect();
    Some(format!(
        "Others' content was in this task. It {}: `/undo {task}` takes all of that back.",
        did.join(" and ")
    ))
}

pub(super) fn left_out(left_out: &LeftOut) -> String {
    format!("{}: {}", left_out.path, left_out.why)
}

fn named<'a>(paths: impl Iterator<Item = &'a str>) -> Option<String> {
    let all: Vec<&str> = paths.collect();
    let first = all.iter().take(MOST_NAMED).copied().collect::<Vec<_>>().join(", ");
    match all.len().checked_sub(MOST_NAMED) {
        _ if all.is_empty() => None,
        Some(more) if more > 0 => Some(format!("{first} and {more} more")),
        Some(_) | None => Some(first),
    }
}
