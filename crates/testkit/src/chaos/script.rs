//! What people say and what the model makes of it. Everything the model does follows from the text
//! it is given, so that a turn or a task that is taken up again goes on the same way.
//!
//! A message is `chaos TOKEN KIND STEPS,STEPS…`: one task for each list of steps, one letter a step.
//! Tokens are unique, so whatever is done twice shows.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::random::{Random, hash};
use crate::{Received, Reply};

/// Begins the words for an executor that an unknown outcome is answered with.
const UNKNOWN: &str = "outcome unknown";
const REQUEST_MARK: &str = "What the person said, in their own words:";
/// Marks a command that the model repeats because nobody knows what became of it.
const AGAIN: &str = "# again";

/// Where commands append, each to a file of its own.
pub(super) const LEDGER: &str = "ledger";

/// The text of the next message.
pub(super) fn message(random: &mut Random, token: &str) -> String {
    match random.below(10) {
        0..=2 => format!("chaos {token} plain"),
        3..=4 => format!("chaos {token} slow"),
        5..=8 => {
            let count = 1 + random.below(3);
            let tasks: Vec<String> = (0..count).map(|_| steps(random)).collect();
            format!("chaos {token} work {}", tasks.join(","))
        }
        // Risky by its words: a plan has to be approved first.
        _ => format!("chaos {token} work p{} and delete the old notes", steps(random)),
    }
}

fn steps(random: &mut Random) -> String {
    let count = 1 + random.below(4);
    (0..count).map(|_| random.pick(&['a', 'a', 'l', 'b', 'w', 's', 't'], 'a')).collect()
}

/// The words of an answer, by which it is known.
pub(super) fn answer_mark(token: &str) -> String {
    format!("answer {token}.")
}

/// A command that appends to a file of its own: no two tasks change the same.
fn append(token: &str) -> String {
    format!("mkdir -p {LEDGER}; echo {token} >> {LEDGER}/{token}")
}

/// The token that such a command appends, if it is one.
pub(super) fn appended(command: &str) -> Option<&str> {
    let (_, rest) = command.split_once("echo ")?;
    let (token, file) = rest.split_once(" >> ")?;
    file.starts_with(LEDGER).then_some(token)
}

/// What the model has seen of the world.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Tasks that a coordinator was told to have been made.
    delegated: Mutex<HashSet<String>>,
}

impl Seen {
    pub(super) fn delegated(&self) -> Vec<String> {
        let delegated = self.delegated.lock().unwrap_or_else(PoisonError::into_inner);
        delegated.iter().cloned().collect()
    }

    /// The model's reply to anything that chaos says.
    pub(super) fn reply(&self, received: &Received) -> Option<Reply> {
        let tools = received.tool_names();
        if tools.contains(&"delegate") {
            self.note_delegated(&received.tool_results());
            coordinator(received)
        } else if tools.contains(&"bash") {
            executor(received)
        } else {
            Some(Reply::text("A summary."))
        }
    }

    fn note_delegated(&self, results: &[String]) {
        let made = results.iter().filter_map(|result| result.strip_prefix("Task "));
        let ids = made.filter_map(|rest| rest.split(' ').next()).map(str::to_owned);
        self.delegated.lock().unwrap_or_else(PoisonError::into_inner).extend(ids);
    }
}

fn coordinator(received: &Received) -> Option<Reply> {
    let asked = received.last_user_text();
    let steps = answers_since_user(received);
    if let Some(report) = asked.strip_prefix("[task report]") {
        return Some(put_together(report, steps));
    }
    let (_, words) = asked.split_once("chaos ")?;
    let mut words = words.split_ascii_whitespace();
    let (token, kind) = (words.next()?, words.next()?);
    let mark = answer_mark(token);
    match kind {
        "slow" => {
            let text = format!("{mark} It takes its time to say so, piece by piece by piece.");
            Some(Reply::text(text).chunks(12).delay(Duration::from_millis(20)))
        }
        "work" if steps == 0 => {
            let mut reply = Reply::text(format!("On it, {token}. "));
            for (number, letters) in words.next()?.split(',').enumerate() {
                let instructions = format!("#task {token}.{number} {letters}");
                let title = format!("{token}.{number}");
                let arguments = json!({"title": title, "instructions": instructions});
                reply = reply.and_tool_call("delegate", arguments);
            }
            Some(reply)
        }
        _ => Some(Reply::text(mark).chunks(2)),
    }
}

/// The turn that tells of ended tasks; one in three looks at a task first.
fn put_together(report: &str, steps: usize) -> Reply {
    let tokens: Vec<&str> =
        report.split_ascii_whitespace().filter(|w| w.starts_with('#')).collect();
    let first = report.split_ascii_whitespace().find(|word| {
        word.strip_prefix('T')
            .is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()) && !n.is_empty())
    });
    match first {
        Some(task) if steps == 0 && hash(task).is_multiple_of(3) => {
            Reply::tool_call("show_task", json!({"task": task}))
        }
        _ => {
            let (task, tokens) = (first.unwrap_or("nothing"), tokens.join(" "));
            Reply::text(format!("report from {task} on: {tokens}")).chunks(4)
        }
    }
}

fn executor(received: &Received) -> Option<Reply> {
    let asked = received.last_user_text();
    let instructions = asked.split(REQUEST_MARK).next().unwrap_or_default();
    let (_, words) = instructions.split_once("#task ")?;
    let mut words = words.split_ascii_whitespace();
    let (token, letters) = (words.next()?, words.next()?);
    if let Some(again) = repeat_unknown(received, token) {
        return Some(again);
    }
    let index = answers_since_user(received);
    let name = format!("{token}.{index}");
    let append = |token: &str| json!({"command": append(token)});
    let Some(letter) = letters.chars().nth(index) else {
        return Some(finish(token));
    };
    Some(match letter {
        'l' => {
            let command = format!("sleep 0.1; {}; sleep 0.1", self::append(&name));
            Reply::tool_call("bash", json!({"command": command}))
        }
        'b' => Reply::tool_call("bash", append(&format!("{name}.0")))
            .and_tool_call("bash", append(&format!("{name}.1"))),
        'w' => Reply::tool_call("write_file", file(&name)),
        's' => Reply::tool_call("write_file", file(&name))
            .and_tool_call("send_file", json!({"path": format!("{name}.txt")})),
        't' => {
            let instructions = format!("#task {name} al");
            Reply::tool_call("task", json!({"title": name, "instructions": instructions}))
        }
        'p' => Reply::tool_call("propose_plan", json!({"plan": format!("1. {name}")})),
        _ => Reply::tool_call("bash", append(&name)),
    })
}

fn file(name: &str) -> Value {
    json!({"path": format!("{name}.txt"), "content": format!("The file of {name}.\n")})
}

fn finish(token: &str) -> Reply {
    let result = format!("#done:{token}");
    if hash(token).is_multiple_of(2) {
        Reply::tool_call("finish", json!({"result": result}))
    } else {
        Reply::text(result)
    }
}

/// Half of the unknown outcomes are tried again, as a model may: that is what the report is for.
fn repeat_unknown(received: &Received, token: &str) -> Option<Reply> {
    if hash(token).is_multiple_of(2) {
        return None;
    }
    let messages = received.messages();
    let results = messages.iter().rev().take_while(|message| role(message) == "tool");
    let unknown: Vec<&str> = results
        .filter(|result| text(result, "/content").starts_with(UNKNOWN))
        .map(|result| text(result, "/tool_call_id"))
        .collect();
    let last = messages.iter().rev().find(|message| role(message) == "assistant")?;
    let commands = calls_of(last)
        .filter(|call| unknown.contains(&text(call, "/id")))
        .filter_map(|call| {
            let arguments: Value = serde_json::from_str(text(call, "/function/arguments")).ok()?;
            arguments.get("command")?.as_str().map(str::to_owned)
        })
        .filter(|command| !command.contains(AGAIN));
    let again = commands.map(|command| json!({"command": format!("{command} {AGAIN}")}));
    let calls: Vec<Value> = again.collect();
    let reply = |reply: Reply, call| reply.and_tool_call("bash", call);
    (!calls.is_empty()).then(|| calls.into_iter().fold(Reply::default(), reply))
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

fn calls_of(message: &Value) -> impl Iterator<Item = &Value> {
    message.get("tool_calls").and_then(Value::as_array).into_iter().flatten()
}

/// How many answers with calls the model has given since the last words of the user, repetitions not
/// counted: the number of the next step.
fn answers_since_user(received: &Received) -> usize {
    let since = received.messages().iter().rev().take_while(|message| role(message) != "user");
    since
        .filter(|message| {
            let mut calls = calls_of(message).peekable();
            calls.peek().is_some() && !calls.any(|call| call.to_string().contains(AGAIN))
        })
        .count()
}
