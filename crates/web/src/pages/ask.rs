//! A question that only people may answer, as a card: the same in a chat, live, and on `/approvals`.
//!
//! What is asked is shown to the letter and in full. Nothing in it is Markdown or HTML, so that no
//! text can dress up as something else, and nothing hides. Each button sends back what was seen.

use cloister_control::rows::{Approval, ApprovalKind, ApprovalState};
use cloister_policy::legible;
use cloister_protocol::Answer;
use maud::{Markup, html};

/// Where a browser goes after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Back {
    Chat,
    Approvals,
}

impl Back {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Approvals => "approvals",
        }
    }
}

/// What a button says.
pub(super) const fn label(answer: Answer) -> &'static str {
    match answer {
        Answer::Allow => "Allow once",
        Answer::AllowForTask => "For this task",
        Answer::AllowAlways => "Always in this chat",
        Answer::Deny => "Deny",
        Answer::DenyAndStop => "Deny and stop",
    }
}

/// The card of a question as it stands now: one line of what it is about, the rest folded where that line says
/// all that would happen. Once it is answered, all but who answered what is folded.
pub(crate) fn card(approval: &Approval, back: Back) -> Markup {
    let heading = format!("q-{}", approval.id);
    let task = approval.task.map(|task| task.to_string());
    let waits = approval.state == ApprovalState::Pending;
    html! {
        section.entry.ask .settled[!waits] data-approval=(approval.id) data-task=[task] aria-labelledby=(heading) {
            h2 id=(heading) {
                (legible(&approval.title))
                @if !approval.class.is_empty() {
                    " " span.class data-class=(approval.class) { (approval.class) }
                }
            }
            @if waits { (sources(approval)) }
            details.what open[waits && !says_all(approval)] {
                summary { "Details of " (approval.id) }
                p.why { (legible(&approval.reason)) }
                @if !waits { (sources(approval)) }
                pre.exact tabindex="0" aria-label="What exactly is asked" { (legible(&approval.text)) }
                // It stands in the text of most.
                @if !approval.digest.is_empty() && !approval.text.contains(&approval.digest) {
                    p.digest { "Digest " code { (approval.digest) } }
                }
            }
            div.answers role="status" { (standing(approval)) }
            @if waits { (buttons(approval, back)) }
        }
    }
}

/// Whether the title has the whole effect in it, and nobody else's words are behind it.
fn says_all(approval: &Approval) -> bool {
    let shown = |field: &str, title: &str| {
        let what = approval.title.strip_prefix(title);
        let first = approval.text.lines().next().and_then(|line| line.strip_prefix(field));
        what.is_some() && what == first
    };
    approval.kind == ApprovalKind::Effect
        && approval.sources.is_empty()
        && (shown("command: ", "run: ") || shown("file: ", "delete the file "))
}

fn sources(approval: &Approval) -> Markup {
    html! {
        @if !approval.sources.is_empty() {
            ul.sources aria-label="Untrusted sources behind it" {
                @for source in &approval.sources {
                    li { "Because this task has read " (legible(source)) }
                }
            }
        }
    }
}

/// Who has answered what, and who must still.
fn standing(approval: &Approval) -> Markup {
    let answers = &approval.answers;
    let given = u8::try_from(answers.len()).unwrap_or(u8::MAX);
    let left = approval.people.saturating_sub(given);
    html! {
        @for given in answers {
            p.hint { strong { (given.by) } " " (given.answer.deed()) "." }
        }
        @match approval.state {
            ApprovalState::Pending => {
                @if approval.people > 1 {
                    p.hint { "It takes " (approval.people) " different people; " (left) " more must answer." }
                }
            }
            ApprovalState::Allowed | ApprovalState::Denied => {
                @if answers.is_empty() { p.hint { "Answered." } }
            }
            ApprovalState::Void => p.hint { "The task ended before this was answered." },
        }
    }
}

fn buttons(approval: &Approval, back: Back) -> Markup {
    // The expected answer stands out only where little can go wrong.
    let harmless = ["safe", "middle"].contains(&approval.class.as_str());
    html! {
        form.row method="post" action={ "/approvals/" (approval.id) } {
            input type="hidden" name="digest" value=(approval.digest);
            input type="hidden" name="back" value=(back.as_str());
            @for (at, answer) in approval.offered.iter().enumerate() {
                button type="submit" name="answer" value=(answer.as_str())
                    .primary[harmless && at == 0] .danger[*answer == Answer::DenyAndStop] { (label(*answer)) }
            }
        }
    }
}

#[cfg(test)]
#[path = "ask_tests.rs"]
mod tests;
