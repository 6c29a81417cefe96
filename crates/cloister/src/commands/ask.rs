//! A question that only people may answer: in words for a terminal, and the words that answer it.

use cloister_protocol::admin::ApprovalView;
use cloister_protocol::{Answer, Ask};

/// As much of a digest as people compare at a glance.
const SHORT_DIGEST: usize = 12;

/// What can be typed for an answer, besides its number.
const fn word(answer: Answer) -> &'static str {
    match answer {
        Answer::Allow => "y",
        Answer::AllowForTask => "task",
        Answer::AllowAlways => "always",
        Answer::Deny => "n",
        Answer::DenyAndStop => "stop",
    }
}

/// The answer that a number or a word stands for, if it is one that was offered.
pub(super) fn parse(text: &str, offered: &[Answer]) -> Option<Answer> {
    let text = text.trim().to_lowercase();
    if let Ok(number) = text.parse::<usize>() {
        return offered.get(number.checked_sub(1)?).copied();
    }
    let meant = match text.as_str() {
        "y" | "yes" => Answer::Allow.plainly(offered),
        "once" => Answer::Allow,
        "task" => Answer::AllowForTask,
        "always" => Answer::AllowAlways,
        "n" | "no" => Answer::Deny,
        "stop" => Answer::DenyAndStop,
        _ => return None,
    };
    meant.is_among(offered).then_some(meant)
}

/// The answer of `/approve ID [task | always]` and `/deny ID [stop]`; none if the words make no sense.
pub(super) fn of_command(allow: bool, how: &str) -> Option<Answer> {
    match (allow, how.trim()) {
        (true, "" | "once") => Some(Answer::Allow),
        (true, "task") => Some(Answer::AllowForTask),
        (true, "always") => Some(Answer::AllowAlways),
        (false, "") => Some(Answer::Deny),
        (false, "stop") => Some(Answer::DenyAndStop),
        (true | false, _) => None,
    }
}

/// The question, in full. Every line of what is asked has a bar in front of it, so that none can pass
/// for a line of ours.
pub(super) fn words(ask: &Ask) -> String {
    let class = if ask.class.is_empty() { String::new() } else { format!(" ({})", ask.class) };
    let title = one_line(&ask.title);
    let mut lines = vec![format!("{} asks{class}: {title}", ask.approval)];
    if !ask.reason.is_empty() {
        lines.push(format!("  why it is asked: {}", one_line(&ask.reason)));
    }
    let sources = ask.sources.iter().map(|source| one_line(source));
    lines.extend(sources.map(|source| format!("  because this task has read {source}")));
    lines.extend(cloister_policy::legible(&ask.text).lines().map(|line| format!("  | {line}")));
    // What is shown ends with it, where it is shown whole.
    if !ask.digest.is_empty() && !ask.text.contains(&ask.digest) {
        let short: String = ask.digest.chars().take(SHORT_DIGEST).collect();
        lines.push(format!("  digest {short}… (whole: {})", ask.digest));
    }
    if ask.people > 1 {
        lines.push(format!("  {} different people must allow it", ask.people));
    }
    lines.join("\n")
}

/// The answers, numbered.
pub(super) fn choices(offered: &[Answer]) -> String {
    let lines = offered
        .iter()
        .enumerate()
        .map(|(at, answer)| format!("  {}  {:<6}  {}", at + 1, word(*answer), answer.meaning()));
    lines.collect::<Vec<_>>().join("\n")
}

fn one_line(text: &str) -> String {
    cloister_policy::legible(text).replace(['\n', '\t'], " ")
}

/// A question of the admin API, as the socket would have it.
pub(super) fn of_view(view: &ApprovalView) -> Ask {
    Ask {
        approval: view.id,
        task: view.task,
        title: view.title.clone(),
        text: view.text.clone(),
        digest: view.digest.clone(),
        class: view.class.clone(),
        reason: view.reason.clone(),
        sources: view.sources.clone(),
        offered: view.offered.clone(),
        people: view.people,
    }
}

#[cfg(test)]
#[path = "ask_tests.rs"]
mod tests;
