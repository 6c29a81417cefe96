//! The script of the executor.

use serde_json::json;

use super::conversation::{Conversation, ToolTold, after};
use super::{Answer, DemoCall};
use crate::refusal::shorten;

const OUTPUT_CHARS: usize = 1_500;

/// After this the agent quotes the person, whose lines are not the executor's instructions.
const REQUEST_MARK: &str = "What the person said, in their own words:";
/// How the agent says that a plan comes first.
const RISKY_MARK: &str = "This task is risky";
/// How results begin that are not a success.
const BAD_RESULTS: [&str; 3] = ["failed", "refused", "outcome unknown"];

const WHAT_I_CAN: &str = "I am the built-in demo model: a script, not an AI. As executor I understand lines \
                          such as `run: COMMAND`, `python: CODE`, `write: NAME: CONTENT`, `send: PATH`, `fetch: URL` \
                          and `search: QUERY`, \
                          and there was none in my instructions.";

pub(super) fn answer(conversation: &Conversation) -> Answer {
    let asked = conversation.asked();
    let instructions = asked.split(REQUEST_MARK).next().unwrap_or_default();
    let calls = || -> Vec<DemoCall> {
        instructions.lines().filter_map(|line| act(conversation, line)).collect()
    };
    let told = conversation.told();
    let Some(first) = told.first() else {
        return begin(conversation, instructions, calls());
    };
    if first.tool == "propose_plan" && first.is_good(&BAD_RESULTS) {
        return Answer { text: String::new(), calls: calls() };
    }
    finish(conversation, &told)
}

fn begin(conversation: &Conversation, instructions: &str, calls: Vec<DemoCall>) -> Answer {
    if calls.is_empty() {
        return Answer::text(WHAT_I_CAN);
    }
    let plan = json!(format!("I will do this:\n{}", instructions.trim()));
    let proposed = conversation.call("propose_plan", &[(&["plan"], plan)]);
    match proposed.filter(|_| conversation.system_says(RISKY_MARK)) {
        Some(plan) => Answer { text: String::new(), calls: vec![plan] },
        None => Answer { text: String::new(), calls },
    }
}

/// Shows what came out, with the calls that prove it where that can be said.
fn finish(conversation: &Conversation, told: &[ToolTold]) -> Answer {
    let shown: Vec<String> =
        told.iter().map(|told| shorten(told.text.trim(), OUTPUT_CHARS)).collect();
    let result = shown.join("\n\n");
    let good = |told: &&ToolTold| told.is_good(&BAD_RESULTS);
    let claims: Vec<_> = told
        .iter()
        .filter(good)
        .map(|told| json!({"what": format!("called {}", told.tool), "call": told.call}))
        .collect();
    let ok = claims.len() == told.len();
    let end = conversation.call(
        "finish",
        &[(&["result"], json!(result)), (&["claims"], json!(claims)), (&["ok"], json!(ok))],
    );
    match end {
        Some(end) => Answer { text: String::new(), calls: vec![end] },
        None => Answer::text(result),
    }
}

fn act(conversation: &Conversation, line: &str) -> Option<DemoCall> {
    if let Some(command) = after(line, "run") {
        return conversation.call("bash", &[(&["command"], json!(command))]);
    }
    if let Some(code) = after(line, "python") {
        return conversation.call("python", &[(&["code"], json!(code))]);
    }
    if let Some(path) = after(line, "send") {
        return conversation.call("send_file", &[(&["path"], json!(path))]);
    }
    if let Some(url) = after(line, "fetch") {
        return conversation.call("fetch_url", &[(&["url"], json!(url))]);
    }
    if let Some(query) = after(line, "search") {
        return conversation.call("web_search", &[(&["query"], json!(query))]);
    }
    let (name, content) = after(line, "write")?.split_once(':')?;
    conversation.call(
        "write_file",
        &[(&["path"], json!(name.trim())), (&["content"], json!(content.trim_start()))],
    )
}
