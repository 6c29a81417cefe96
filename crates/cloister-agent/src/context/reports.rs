//! Task reports in words: for the model, and for the person when no model answers.

use std::fmt::Write as _;

use cloister_protocol::TaskState;
use cloister_protocol::link::TaskReport;

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
pub(crate) fn for_person(reports: &[TaskReport]) -> String {
    let sentences: Vec<String> = reports.iter().map(sentence).collect();
    sentences.join("\n\n")
}

fn sentence(report: &TaskReport) -> String {
    let TaskReport { task, title, state, result, .. } = report;
    let became = match state {
        TaskState::Done => "is done",
        TaskState::Failed => "failed",
        TaskState::Cancelled => "was cancelled",
        TaskState::Queued => "is queued",
        TaskState::Running => "is running",
        TaskState::Waiting => "is waiting",
    };
    let result = text::shorten(result.trim(), MAX_RESULT_BYTES);
    let colon = if result.is_empty() { "." } else { ":\n" };
    format!("{task} ({title}) {became}{colon}{result}")
}

/// What the record does not show and `said` does not mention.
pub(crate) fn unsaid(reports: &[TaskReport], said: &str) -> Option<String> {
    let missing: Vec<&str> = reports
        .iter()
        .flat_map(|report| report.not_shown.iter())
        .map(String::as_str)
        .filter(|claim| !said.contains(claim))
        .collect();
    (!missing.is_empty()).then(|| format!("Not shown by the record: {}", missing.join("; ")))
}
