//! Cuts the text of an answer, as it comes, into words for people and what is a call.

use serde_json::Value;

use super::parse::{TextCall, calls_in, calls_of};

/// Marks that begin a call wherever they stand.
const MARKS: [&str; 5] =
    ["<tool_call", "<function=", "<|python_tag|>", "[TOOL_CALLS]", "<|tool_call"];
const FENCE: &str = "```";
/// What people and models call a fence that may hold a call.
const CALL_FENCES: [&str; 5] = ["", "json", "tool_call", "tool_code", "xml"];
/// More than this is not held back.
const MOST_HELD: usize = 1 << 20;

pub(super) struct Reader {
    offered: Vec<String>,
    held: String,
    /// Nothing but blanks stands before what is held, in its line.
    line_start: bool,
    /// Inside a fence that holds no call.
    in_code: bool,
    /// All that is held is calls, and what follows them.
    calling: bool,
}

/// What to do with the beginning of what is held.
enum Step {
    /// So many bytes are words; and then it is inside code, or not.
    Pass(usize, bool),
    /// More must come first.
    Wait,
    Call,
}

impl Reader {
    pub(super) fn new(offered: Vec<String>) -> Self {
        let (held, line_start) = (String::new(), true);
        Self { offered, held, line_start, in_code: false, calling: false }
    }

    /// Takes a piece of text and gives back the words that can be passed on.
    pub(super) fn push(&mut self, text: &str) -> String {
        self.held.push_str(text);
        if self.held.len() > MOST_HELD {
            self.calling = false;
            return std::mem::take(&mut self.held);
        }
        self.read(false)
    }

    /// The text has ended: the last words, and the calls.
    pub(super) fn finish(&mut self) -> (String, Vec<TextCall>) {
        let words = self.read(true);
        if !self.calling {
            return (words, Vec::new());
        }
        self.calling = false;
        let held = std::mem::take(&mut self.held);
        let calls = calls_in(&held, &self.offered);
        if calls.is_empty() { (words + &held, calls) } else { (words, calls) }
    }

    fn read(&mut self, ended: bool) -> String {
        let mut words = String::new();
        while !self.calling && !self.held.is_empty() {
            match self.step(ended) {
                Step::Pass(bytes, in_code) => {
                    let rest = self.held.split_off(self.held.floor_char_boundary(bytes));
                    let passed = std::mem::replace(&mut self.held, rest);
                    if passed.is_empty() {
                        break;
                    }
                    let line = passed.rsplit_once('\n').map(|(_, line)| line);
                    let blank = line.unwrap_or(&passed).trim().is_empty();
                    self.line_start = blank && (line.is_some() || self.line_start);
                    self.in_code = in_code;
                    words.push_str(&passed);
                }
                Step::Wait => break,
                Step::Call => self.calling = true,
            }
        }
        words
    }

    fn step(&self, ended: bool) -> Step {
        let text = self.held.as_str();
        let all = Step::Pass(text.len(), self.in_code);
        if self.in_code {
            return match text.find(FENCE) {
                Some(place) => Step::Pass(place + FENCE.len(), false),
                None if ended => all,
                None => pass_or_wait(text.trim_end_matches('`').len(), true),
            };
        }
        match self.next_mark() {
            Some(0) => self.at_mark(ended),
            Some(place) => Step::Pass(place, false),
            None if ended => all,
            None => pass_or_wait(text.len() - unfinished_mark(text), false),
        }
    }

    /// Where something stands that may be the beginning of a call.
    fn next_mark(&self) -> Option<usize> {
        let text = self.held.as_str();
        let marks = MARKS.iter().chain([&FENCE]).filter_map(|mark| text.find(mark));
        let mut first = marks.min();
        let mut start = 0;
        for (number, line) in text.split_inclusive('\n').enumerate() {
            let blanks = line.len() - line.trim_start().len();
            let opens = line.trim_start().starts_with(['{', '[']);
            if opens && (number > 0 || self.line_start) {
                first = Some(first.map_or(start + blanks, |place| place.min(start + blanks)));
                break;
            }
            start += line.len();
        }
        first
    }

    fn at_mark(&self, ended: bool) -> Step {
        let text = self.held.as_str();
        if MARKS.iter().any(|mark| text.starts_with(mark)) {
            return Step::Call;
        }
        if text.starts_with(FENCE) {
            return self.at_fence(ended);
        }
        if let Some(inside) = text.strip_prefix('[') {
            match inside.trim_start().chars().next() {
                Some('{') => {}
                None if !ended => return Step::Wait,
                // A mark may still become whole.
                Some(_) if !ended && "[TOOL_CALLS]".starts_with(text) => return Step::Wait,
                Some(_) | None => return Step::Pass(1, false),
            }
        }
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) if calls_of(&value, &self.offered).is_empty() => {
                Step::Pass(values.byte_offset().max(1), false)
            }
            Some(Ok(_)) => Step::Call,
            Some(Err(error)) if error.is_eof() && !ended => Step::Wait,
            Some(Err(error)) if error.is_eof() => Step::Pass(text.len(), false),
            Some(Err(_)) | None => Step::Pass(1, false),
        }
    }

    fn at_fence(&self, ended: bool) -> Step {
        let text = self.held.as_str();
        let Some((head, inside)) = text.split_once('\n') else {
            return if ended { Step::Pass(text.len(), false) } else { Step::Wait };
        };
        let first_line = Step::Pass(head.len() + 1, true);
        let language = head.trim_start_matches('`').trim().to_ascii_lowercase();
        if !CALL_FENCES.contains(&language.as_str()) {
            return first_line;
        }
        match inside.trim_start().chars().next() {
            Some('{' | '[' | '<') => {}
            Some(_) => return first_line,
            None if ended => return Step::Pass(text.len(), false),
            None => return Step::Wait,
        }
        let (inside, end) = match inside.find(FENCE) {
            Some(end) => {
                (inside.get(..end).unwrap_or_default(), head.len() + 1 + end + FENCE.len())
            }
            None if ended => (inside, text.len()),
            None => return Step::Wait,
        };
        let is_call = !calls_in(inside, &self.offered).is_empty();
        if is_call { Step::Call } else { Step::Pass(end, false) }
    }
}

fn pass_or_wait(bytes: usize, in_code: bool) -> Step {
    if bytes == 0 { Step::Wait } else { Step::Pass(bytes, in_code) }
}

/// How many bytes at the end may be the beginning of a mark.
fn unfinished_mark(text: &str) -> usize {
    let marks = MARKS.iter().chain([&FENCE]);
    let longest = |mark: &&str| {
        let ends = (1..mark.len()).rev();
        ends.filter_map(|length| mark.get(..length)).find(|part| text.ends_with(part)).map(str::len)
    };
    marks.filter_map(longest).max().unwrap_or(0)
}
