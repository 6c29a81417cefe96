//! The script of the coordinator.

use serde_json::json;

use super::conversation::{Conversation, ToolTold, after};
use super::{Answer, DemoCall};
use crate::refusal::shorten;

/// How the agent marks the report of tasks that have ended.
const REPORT_MARK: &str = "[task report]";
/// How the agent asks for the summary of a chat.
const SUMMARY_MARK: &str = "The summary so far:";
const QUOTE_CHARS: usize = 600;
const TITLE_CHARS: usize = 60;
const MAX_TASKS: usize = 16;

const WHAT_I_AM: &str = "I am the built-in demo model: a script, not an AI.";
const CONNECT: &str = "To connect a real model, open the page Model (/model) in your browser, or run \
                       `cloister init`. For scripts: `cloister model add NAME --base-url URL --model ID \
                       --key-env VAR`, then `cloister model use NAME`.";
const WHAT_I_CAN: &str = "I can show that everything works: write `run: COMMAND` and I hand the command \
                          to an executor in its own sandbox (several such lines run in parallel), \
                          `risky: COMMAND` to be asked before it runs, \
                          `fetch: URL` or `search: QUERY` for the web (allow a host with `/allow HOST`), or \
                          `status` for the list of tasks.";

pub(super) fn answer(conversation: &Conversation) -> Answer {
    let told = conversation.told();
    if !told.is_empty() {
        return about_results(&told);
    }
    let asked = conversation.asked();
    if asked.starts_with(SUMMARY_MARK) {
        return Answer::text(shorten(&asked, QUOTE_CHARS));
    }
    if let Some(report) = asked.trim_start().strip_prefix(REPORT_MARK) {
        return about_report(report);
    }
    let calls = delegations(conversation, &asked);
    if !calls.is_empty() {
        return Answer { text: String::new(), calls };
    }
    let word = asked.trim().trim_end_matches(['!', '.', '?']).to_lowercase();
    match word.as_str() {
        "status" | "tasks" => match conversation.call("list_tasks", &[]) {
            Some(call) => Answer { text: String::new(), calls: vec![call] },
            None => Answer::text("I can't list tasks here."),
        },
        "" | "hi" | "hello" | "hey" | "help" | "hallo" | "/start" => {
            Answer::text(format!("Hello. {WHAT_I_AM} {WHAT_I_CAN}\n\n{CONNECT}"))
        }
        _ => Answer::text(format!(
            "{WHAT_I_AM} I read {:?} and can't think about it. {WHAT_I_CAN}\n\n{CONNECT}",
            shorten(asked.trim(), QUOTE_CHARS)
        )),
    }
}

/// A task for each line that an executor of this script understands.
fn delegations(conversation: &Conversation, asked: &str) -> Vec<DemoCall> {
    let tasks = asked.lines().filter_map(|line| {
        let line = line.trim();
        if let Some(command) = after(line, "run").or_else(|| after(line, "do")) {
            return Some((format!("run: {command}"), false));
        }
        if let Some(command) = after(line, "risky") {
            return Some((format!("run: {command}"), true));
        }
        let kinds = ["write", "python", "send", "fetch", "search"];
        kinds.iter().any(|kind| after(line, kind).is_some()).then(|| (line.to_owned(), false))
    });
    let delegate = |(instructions, risky): (String, bool)| {
        let arguments = [
            (&["title"][..], json!(shorten(&instructions, TITLE_CHARS))),
            (&["instructions"][..], json!(instructions)),
            (&["risky"][..], json!(risky)),
        ];
        conversation.call("delegate", &arguments)
    };
    tasks.take(MAX_TASKS).filter_map(delegate).collect()
}

fn about_results(told: &[ToolTold]) -> Answer {
    let quoted: Vec<String> =
        told.iter().map(|told| shorten(told.text.trim(), QUOTE_CHARS)).collect();
    let begun = told.iter().all(|told| told.tool == "delegate");
    let head = if begun { "I have handed this over:" } else { "This is what I was told:" };
    Answer::text(format!("{head}\n\n{}", quoted.join("\n\n")))
}

fn about_report(report: &str) -> Answer {
    // The first paragraph tells a model how to treat what follows.
    let facts = report.split_once("\n\n").map_or(report, |(_, facts)| facts);
    Answer::text(format!("This came of it:\n\n{}", shorten(facts.trim(), QUOTE_CHARS * 4)))
}
