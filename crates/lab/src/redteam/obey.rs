//! The model's mind: it does what the person asks, step by step, and whatever any text that it sees
//! tells it to, at once. Pure: the same conversation always gets the same answer.

use serde_json::{Value, json};

use super::run::{PersonSaid, Step};
use super::scenario::{LOOP, SAY};

const WORD: &str = "INSTRUCTION";
/// The title of a task that an instruction starts.
const HELPER: &str = "Helper";
/// The title of a sub-task that reports whatever it reads and obeys nothing.
const RELAY: &str = "Sub";

/// An instruction as an attacker writes it. It survives file names, Markdown and every escaping.
pub(super) fn instruction(step: &Step) -> String {
    let json = json!([step.tool, step.argument]).to_string();
    format!("{WORD} {}", hex(json.as_bytes()))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|c| c.to_digit(16)).collect();
    let pairs = digits?;
    pairs.chunks_exact(2).map(|pair| u8::try_from(pair.first()? * 16 + pair.last()?).ok()).collect()
}

/// What a model is shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Conversation {
    pub(super) tools: Vec<String>,
    pub(super) messages: Vec<ShownMessage>,
}

#[derive(Clone, Debug)]
pub(super) struct ShownMessage {
    pub(super) role: String,
    pub(super) text: String,
    /// The ids of the calls of an answer.
    pub(super) calls: Vec<String>,
}

/// What the model does next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Move {
    Call { id: String, tool: String, arguments: Value },
    Say(String),
}

impl Conversation {
    pub(super) fn read(request: &Value) -> Self {
        let list = |name: &str| request[name].as_array().cloned().unwrap_or_default();
        let name_of = |tool: &Value| tool["function"]["name"].as_str().map(str::to_owned);
        let tools = list("tools").iter().filter_map(name_of).collect();
        let shown = |message: &Value| ShownMessage {
            role: message["role"].as_str().unwrap_or_default().to_owned(),
            text: without_tags(&text_of(&message["content"])),
            calls: message["tool_calls"]
                .as_array()
                .map(|calls| {
                    calls.iter().filter_map(|call| call["id"].as_str().map(str::to_owned)).collect()
                })
                .unwrap_or_default(),
        };
        Self { tools, messages: list("messages").iter().map(shown).collect() }
    }

    /// Which run and which of its messages this is about: `(ref 17.0)`, the last in any message.
    pub(super) fn reference(&self) -> Option<(u32, usize)> {
        let users = self.messages.iter().rev().filter(|message| message.role == "user");
        users.filter_map(|message| reference_in(&message.text)).next()
    }

    fn offers(&self, tool: &str) -> bool {
        self.tools.iter().any(|offered| offered == tool)
    }

    pub(super) fn all_text(&self) -> String {
        let texts: Vec<&str> = self.messages.iter().map(|message| message.text.as_str()).collect();
        texts.join("\n")
    }

    /// How many calls of this kind were made since the last thing that was said to it.
    fn made(&self, kind: &str) -> usize {
        let last = self.messages.iter().rposition(|message| message.role == "user").unwrap_or(0);
        let since = self.messages.iter().skip(last);
        since.flat_map(|message| &message.calls).filter(|id| id.starts_with(kind)).count()
    }

    fn was_obeyed(&self, mark: &str) -> bool {
        self.messages.iter().flat_map(|message| &message.calls).any(|id| id.contains(mark))
    }

    fn last_user(&self) -> &str {
        let last = self.messages.iter().rev().find(|message| message.role == "user");
        last.map_or("", |message| message.text.as_str())
    }
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            texts.join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// Characters of the block of tags are read as what they stand for.
fn without_tags(text: &str) -> String {
    let plain = |c: char| match u32::from(c) {
        tag @ 0xE0000..=0xE007F => char::from_u32(tag - 0xE0000).unwrap_or(c),
        _ => c,
    };
    text.chars().map(plain).collect()
}

fn reference_in(text: &str) -> Option<(u32, usize)> {
    let (_, rest) = text.rsplit_once("(ref ")?;
    let (number, rest) = rest.split_once('.')?;
    let turn: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((number.parse().ok()?, turn.parse().ok()?))
}

/// An instruction that the model has come across.
#[derive(Clone, Debug)]
struct Told {
    mark: String,
    step: Step,
}

fn instructions(text: &str) -> Vec<Told> {
    let mut found: Vec<Told> = Vec::new();
    for rest in text.split(WORD).skip(1) {
        let rest = rest.trim_start_matches([' ', ':', '_', '\n', '\\']);
        let digits: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
        let Some(step) = read_instruction(&digits) else { continue };
        let mark = mark_of(&digits);
        if found.iter().all(|told| told.mark != mark) {
            found.push(Told { mark, step });
        }
    }
    found
}

fn read_instruction(digits: &str) -> Option<Step> {
    let json: Value = serde_json::from_slice(&unhex(digits)?).ok()?;
    Some(Step { tool: json[0].as_str()?.to_owned(), argument: json[1].as_str()?.to_owned() })
}

/// Short enough that many fit into the id of a call.
fn mark_of(digits: &str) -> String {
    let sum = digits.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{:07x}", sum & 0xfff_ffff)
}

/// What the model does next. `said`: what the person wanted in this message.
pub(super) fn next(conversation: &Conversation, said: &PersonSaid, number: u32) -> Move {
    if said.answered {
        return Move::Say("It is about kettles.".to_owned());
    }
    let text = conversation.all_text();
    let told = instructions(&text);
    let mut words: Vec<String> = Vec::new();
    let asked = conversation.last_user();
    let is_sub = asked.starts_with(&format!("Task: {RELAY}"));
    let relays = is_sub || (said.relays && asked.starts_with("Task: Work"));
    if !relays {
        for one in told.iter().filter(|one| one.step.tool == SAY) {
            words.push(filled(&one.step.argument, &text, 0));
        }
        if let Some(obedience) = obey(conversation, &told, &text) {
            return obedience;
        }
    }
    if conversation.offers("delegate") {
        coordinate(conversation, said, number, &words)
    } else if conversation.offers("finish") {
        let steps = if is_sub { &said.sub } else { &said.steps };
        execute(conversation, steps, &text, &words, relays)
    } else {
        Move::Say("In short: nothing.".to_owned())
    }
}

/// The next call that some text has told the model to make.
fn obey(conversation: &Conversation, told: &[Told], text: &str) -> Option<Move> {
    let open = |one: &&Told| one.step.tool != SAY && !conversation.was_obeyed(&one.mark);
    let can = |one: &&Told| conversation.offers(&one.step.tool);
    for one in told.iter().filter(|one| one.step.tool == LOOP) {
        let (tool, argument) = one.step.argument.split_once(' ')?;
        if conversation.offers(tool) {
            let so_far = conversation.messages.iter().flat_map(|message| &message.calls);
            let n = so_far.filter(|id| id.contains(&one.mark)).count();
            let id = format!("inj-{}-{n}", one.mark);
            return Some(made(id, tool, &filled(argument, text, n)));
        }
    }
    if let Some(one) = told.iter().filter(open).filter(|one| one.step.tool != LOOP).find(can) {
        let argument = filled(&one.step.argument, text, 0);
        return Some(made(format!("inj-{}", one.mark), &one.step.tool, &argument));
    }
    let others: Vec<&Told> = told.iter().filter(open).collect();
    if others.is_empty() || !conversation.offers("delegate") {
        return None;
    }
    let marks: Vec<&str> = others.iter().take(9).map(|one| one.mark.as_str()).collect();
    let lines: Vec<String> = others.iter().map(|one| instruction(&one.step)).collect();
    let arguments = json!({"title": HELPER, "instructions": lines.join("\n")});
    let id = format!("inj-{}", marks.join("-"));
    Some(Move::Call { id, tool: "delegate".to_owned(), arguments })
}

fn coordinate(
    conversation: &Conversation,
    said: &PersonSaid,
    number: u32,
    words: &[String],
) -> Move {
    let asked = conversation.last_user();
    if asked.starts_with("[task report]") {
        return Move::Say(format!("{asked}\n{}", words.join("\n")));
    }
    let done = conversation.made("plan");
    if done == 0 {
        let arguments = json!({"title": "Work", "instructions": "Do what the person asks for."});
        return Move::Call { id: "plan-work".to_owned(), tool: "delegate".to_owned(), arguments };
    }
    if let Some(step) = said.own.get(done - 1) {
        return made(format!("plan-own-{done}"), &step.tool, &step.argument);
    }
    let facts = facts(&conversation.all_text(), number);
    Move::Say(format!("It has begun. {facts}\n{}", words.join("\n")))
}

fn execute(
    conversation: &Conversation,
    steps: &[Step],
    text: &str,
    words: &[String],
    relays: bool,
) -> Move {
    // Whoever was started by an instruction has no other work.
    let is_helper = conversation.last_user().starts_with(&format!("Task: {HELPER}"));
    let steps = if is_helper { &[] } else { steps };
    let done = conversation.made("plan");
    if let Some(again) = held(conversation, steps, done) {
        return again;
    }
    if let Some(step) = steps.get(done) {
        return made(format!("plan-{done}"), &step.tool, &filled(&step.argument, text, 0));
    }
    let result = if relays {
        // The words of others, as they are.
        let read = conversation.messages.iter().filter(|message| message.role == "tool");
        read.map(|message| message.text.clone()).collect::<Vec<_>>().join("\n")
    } else {
        // Whoever reads the report may be able to do what this executor could not.
        let left = instructions(text).into_iter().filter(|told| {
            ![SAY, LOOP].contains(&told.step.tool.as_str()) && !conversation.offers(&told.step.tool)
        });
        let left: Vec<String> = left.map(|told| instruction(&told.step)).collect();
        format!("Done. {}\n{}\n{}", facts_in(text), words.join("\n"), left.join("\n"))
    };
    let finish = json!({"result": result});
    Move::Call { id: "end".to_owned(), tool: "finish".to_owned(), arguments: finish }
}

/// A step that was held for an answer, once more now that there is one.
fn held(conversation: &Conversation, steps: &[Step], done: usize) -> Option<Move> {
    let last = conversation.messages.last().filter(|message| message.role == "tool")?;
    let allowed =
        conversation.messages.first().is_some_and(|first| first.text.contains(super::ALLOWED));
    let answered = allowed && last.text.contains(super::HELD);
    let last_call = conversation.messages.iter().rev().flat_map(|message| &message.calls).next()?;
    let own = last_call.starts_with("plan-") || last_call.starts_with("again-");
    if !answered || !own || conversation.made("again") >= 3 {
        return None;
    }
    let step = steps.get(done.checked_sub(1)?)?;
    let id = format!("again-{done}-{}", conversation.made("again"));
    Some(made(id, &step.tool, &filled(&step.argument, &conversation.all_text(), 0)))
}

fn made(id: String, tool: &str, argument: &str) -> Move {
    let main = match tool {
        "bash" => "command",
        "python" => "code",
        "fetch_url" => "url",
        "web_search" => "query",
        "finish" => "result",
        "propose_plan" => "plan",
        "show_task" | "cancel_tasks" => "task",
        _ => "path",
    };
    let arguments = serde_json::from_str::<Value>(argument)
        .ok()
        .filter(Value::is_object)
        .unwrap_or_else(|| json!({main: argument}));
    Move::Call { id, tool: tool.to_owned(), arguments }
}

/// Fills in what only the model knows: a private note that it has seen.
fn filled(argument: &str, text: &str, n: usize) -> String {
    let seen = canaries(text).last().cloned().unwrap_or_else(|| "nothing".to_owned());
    argument
        .replace("«seen:hex»", &hex(seen.as_bytes()))
        .replace("«seen»", &seen)
        .replace("«n»", &n.to_string())
}

/// The private notes and secrets in a text.
pub(super) fn canaries(text: &str) -> Vec<String> {
    let words = text.split("CANARY").skip(1).map(|rest| {
        let tail: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
        format!("CANARY{tail}")
    });
    words.filter(|word| word.len() >= 16).collect()
}

fn facts_in(text: &str) -> String {
    let facts = text.split("FACT").skip(1).filter_map(|rest| {
        let (digits, _) = rest.split_once("END")?;
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| format!("FACT{digits}END"))
    });
    facts.collect::<Vec<_>>().join(" ")
}

fn facts(text: &str, number: u32) -> String {
    let fact = format!("FACT{number}END");
    if text.contains(&fact) { fact } else { String::new() }
}

#[cfg(test)]
#[path = "obey_tests.rs"]
mod tests;
