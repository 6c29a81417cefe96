//! A question that only people may answer, as a card: the same in a chat, live, and on `/approvals`.
//!
//! What is asked is shown to the letter and in full. Nothing in it is Markdown or HTML, so that no
//! text can dress up as something else, and nothing hides. Each button sends back what was seen.

use cloister_control::reason_in;
use cloister_control::rows::{Approval, ApprovalKind, ApprovalState};
use cloister_policy::legible;
use cloister_protocol::{Answer, Language};
use cloister_words::{count, noted, say, text_of};
use maud::{Markup, html};

use crate::language::phrase;

/// The field of a question's text with which what would happen ends.
const WHO_ASKS: &str = "\nasked by: ";
/// What is read at a glance.
const GLANCE_CHARS: usize = 240;

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
pub(super) fn label(to: Language, answer: Answer) -> &'static str {
    let label = match answer {
        Answer::Allow => noted!("Allow once"),
        Answer::AllowForTask => noted!("For this task"),
        Answer::AllowAlways => noted!("Always in this chat"),
        Answer::Deny => noted!("Deny"),
        Answer::DenyAndStop => noted!("Deny and stop"),
    };
    text_of(to, label)
}

/// What somebody did who answered.
fn done(to: Language, who: &impl std::fmt::Display, answer: Answer) -> Markup {
    let who = html! { strong translate="no" { (who) } };
    match answer {
        Answer::Allow => phrase!(to, "{who} allowed it once.", who = who),
        Answer::AllowForTask => phrase!(to, "{who} allowed it for this task.", who = who),
        Answer::AllowAlways => phrase!(to, "{who} allowed it always in this chat.", who = who),
        Answer::Deny => phrase!(to, "{who} denied it.", who = who),
        Answer::DenyAndStop => phrase!(to, "{who} denied it and stopped the task.", who = who),
    }
}

/// What is asked, as a question where it is one action of a task.
fn asked(to: Language, approval: &Approval) -> Markup {
    let title = &approval.title;
    let words = |text: &str| html! { span translate="no" { (legible(text)) } };
    let task =
        approval.task.filter(|_| approval.kind == ApprovalKind::Effect && !title.ends_with('?'));
    let Some(task) = task else { return words(title) };
    match (title.strip_prefix("run: "), title.strip_prefix("delete the file ")) {
        (Some(command), _) => phrase!(
            to,
            "May {task} run {command}?",
            task = html! { (task) },
            command = words(command)
        ),
        (_, Some(file)) => {
            phrase!(to, "May {task} delete {file}?", task = html! { (task) }, file = words(file))
        }
        _ => {
            phrase!(to, "May {task} do this: {what}?", task = html! { (task) }, what = words(title))
        }
    }
}

/// How far an effect reaches, in a word; a class that is none of ours as it is.
fn class_of(to: Language, approval: &Approval) -> &str {
    match approval.class.as_str() {
        _ if approval.raise.is_some() => text_of(to, noted!("money")),
        "safe" => text_of(to, noted!("safe")),
        "middle" => text_of(to, noted!("middle")),
        "outward" => text_of(to, noted!("outward")),
        "unknown" => text_of(to, noted!("unknown")),
        "destructive" => text_of(to, noted!("destructive")),
        other => other,
    }
}

/// The card of a question as it stands now: one line of what it is about, the rest folded where that line says
/// all that would happen. Once it is answered, all but who answered what is folded.
pub(crate) fn card(to: Language, approval: &Approval, back: Back) -> Markup {
    let heading = format!("q-{}", approval.id);
    let task = approval.task.map(|task| task.to_string());
    let waits = approval.state == ApprovalState::Pending;
    html! {
        section.entry.ask .settled[!waits] data-approval=(approval.id) data-task=[task] aria-labelledby=(heading) {
            h2 id=(heading) {
                (asked(to, approval))
                @if !approval.class.is_empty() {
                    " " span.class data-class=(approval.class) { (class_of(to, approval)) }
                }
            }
            @let effect = effect(approval).filter(|_| waits);
            @if let Some(fields) = &effect {
                p.effect translate="no" {
                    @for (name, value) in fields { span { small { (legible(name)) } " " code { (legible(value)) } } " " }
                }
            }
            @if waits { (why(to, approval)) (sources(to, approval)) }
            details.what open[waits && !(says_all(approval) || effect.is_some() && approval.sources.is_empty())] {
                summary { (say!(to, "Details of {id}", id = approval.id)) }
                @if !waits { (why(to, approval)) (sources(to, approval)) }
                pre.exact tabindex="0" translate="no" aria-label=(say!(to, "What exactly is asked")) { (legible(&approval.text)) }
                // It stands in the text of most.
                @if !approval.digest.is_empty() && !approval.text.contains(&approval.digest) {
                    p.digest { (say!(to, "Digest")) " " code { (approval.digest) } }
                }
            }
            div.answers role="status" { (standing(to, approval)) }
            @if waits { (buttons(to, approval, back)) }
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

fn why(to: Language, approval: &Approval) -> Markup {
    html! { p.why translate="no" { (legible(&reason_in(to, &approval.reason))) } }
}

/// All that would happen, field by field, where it is short enough to be read at a glance and the title has not said it.
/// What is longer, or has lines, is shown to the letter at once.
fn effect(approval: &Approval) -> Option<Vec<(&str, &str)>> {
    let (own, _who_asks) = approval.text.split_once(WHO_ASKS)?;
    let is_effect = approval.kind == ApprovalKind::Effect && !says_all(approval);
    if !is_effect || own.chars().count() > GLANCE_CHARS {
        return None;
    }
    let fields: Vec<_> = own.lines().map(|line| line.split_once(": ")).collect::<Option<_>>()?;
    let has_address = fields.iter().any(|(name, _)| *name == "address");
    Some(fields.into_iter().filter(|(name, _)| !(has_address && *name == "host")).collect())
}

fn sources(to: Language, approval: &Approval) -> Markup {
    html! {
        @if !approval.sources.is_empty() {
            ul.sources aria-label=(say!(to, "Untrusted sources behind it")) {
                @for source in &approval.sources {
                    li { (phrase!(to, "Because this task has read {source}", source = html! { span translate="no" { (legible(source)) } })) }
                }
            }
        }
    }
}

/// Who has answered what, and who must still.
fn standing(to: Language, approval: &Approval) -> Markup {
    let answers = &approval.answers;
    let given = u8::try_from(answers.len()).unwrap_or(u8::MAX);
    let left = approval.people.saturating_sub(given);
    html! {
        @for given in answers {
            p.hint { (done(to, &given.by, given.answer)) }
        }
        @match approval.state {
            ApprovalState::Pending => {
                @if approval.people > 1 {
                    p.hint {
                        (count!(to, left, "It takes {people} different people; {n} more must answer.",
                            "It takes {people} different people; {n} more must answer.", people = approval.people))
                    }
                }
            }
            ApprovalState::Allowed | ApprovalState::Denied => {
                @if answers.is_empty() { p.hint { (say!(to, "Answered.")) } }
            }
            ApprovalState::Void => p.hint { (say!(to, "The task ended before this was answered.")) },
        }
    }
}

fn buttons(to: Language, approval: &Approval, back: Back) -> Markup {
    // The expected answer stands out only where little can go wrong.
    let harmless = ["safe", "middle"].contains(&approval.class.as_str());
    html! {
        form.row method="post" action={ "/approvals/" (approval.id) } {
            input type="hidden" name="digest" value=(approval.digest);
            input type="hidden" name="back" value=(back.as_str());
            @for (at, answer) in approval.offered.iter().enumerate() {
                button type="submit" name="answer" value=(answer.as_str())
                    .primary[harmless && at == 0] .danger[*answer == Answer::DenyAndStop] { (label(to, *answer)) }
            }
        }
    }
}

#[cfg(test)]
#[path = "ask_tests.rs"]
mod tests;
