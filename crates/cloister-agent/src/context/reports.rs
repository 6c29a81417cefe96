//! Task reports in words: for the model, and for the person when no model answers.

use std::fmt::Write as _;

use cloister_protocol::link::TaskReport;
use cloister_protocol::{Phrases, TaskState, filled};

use crate::text;

const MAX_RESULT_BYTES: usize = 16 << 10;

pub(crate) fn for_model(reports: &[TaskReport]) -> String {
    let mut told = String::from(
        "[task report] This is from the control plane, not from the person. Tell the person what came \
         of it; say plainly what failed. What is listed as not shown by the record must be passed on.",
    );
    for report in reports {
        write!(told, "\n\n{}", listed(report)).ok();
    }
    told
}

/// One report, as the tools of the coordinator show it too.
pub(crate) fn listed(report: &TaskReport) -> String {
    let TaskReport { task, title, state, result, not_shown } = report;
    let mut listed = format!("{task} {title:?}: {}", state.as_str());
    if !result.is_empty() {
        write!(listed, "\n{}", text::shorten(result, MAX_RESULT_BYTES)).ok();
    }
    for claim in not_shown {
        write!(listed, "\nnot shown by the record: {claim}").ok();
    }
    listed
}

/// The message to the person when the model can't write it.
pub(crate) fn for_person(reports: &[TaskReport], phrases: &Phrases) -> String {
    let sentences: Vec<String> = reports.iter().map(|report| sentence(report, phrases)).collect();
    sentences.join("\n\n")
}

fn sentence(report: &TaskReport, phrases: &Phrases) -> String {
    let TaskReport { task, title, state, result, .. } = report;
    let became = match state {
        TaskState::Done => phrases.task_done.as_str(),
        TaskState::Failed => &phrases.task_failed,
        TaskState::Cancelled => &phrases.task_cancelled,
        // None of these has ended.
        TaskState::Queued | TaskState::Running | TaskState::Waiting => "{task} ({title}) is open",
    };
    let became = filled(became, &[("task", &task.to_string()), ("title", title)]);
    let result = text::shorten(result.trim(), MAX_RESULT_BYTES);
    let colon = if result.is_empty() { "." } else { ":\n" };
    format!("{became}{colon}{result}")
}

/// What the record does not show and `said` does not mention.
pub(crate) fn unsaid(reports: &[TaskReport], phrases: &Phrases, said: &str) -> Option<String> {
    let missing: Vec<&str> = reports
        .iter()
        .flat_map(|report| report.not_shown.iter())
        .map(String::as_str)
        .filter(|claim| !said.contains(claim))
        .collect();
    let claims = missing.join("; ");
    (!missing.is_empty()).then(|| filled(&phrases.not_shown, &[("claims", &claims)]))
}
