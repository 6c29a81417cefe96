//! Cuts the text of an answer, as it comes, into words for people and what is a call.

use serde_json::Value;

use super::parse::{MOST_IN_VAIN, TextCall, calls_in, calls_of, read_until};

/// Marks that begin a call wherever they stand.
const MARKS: [&str; 5] =
    ["<tool_call", "<function=", "<|python_tag|>", "[TOOL_CALLS]", "<|tool_call"];
const FENCE: &str = "```";
/// What people and models call a fence that may hold a call.
const CALL_FENCES: [&str; 5] = ["", "json", "tool_call", "tool_code", "xml"];
/// More than this is not held back.
const MOST_HELD: usize = 1 << 20;
/// What is shorter is read again with every piece that may end it.
const SHORT_VALUE: usize = 1 << 10;
/// A longer head is no call's fence, and more blanks stand before no call.
const MOST_HEAD: usize = 256;

/// Looks at every letter a bounded number of times, whatever the text is and in whatever pieces it comes: where it
/// has come to is kept, and what was held is cut off once a piece.
pub(super) struct Reader {
    offered: Vec<String>,
    held: String,
    /// What stands before this place was passed on.
    at: usize,
    /// What stands before this place is known not to end what is waited for.
    looked: usize,
    /// What begins here as an object or a list is read again only when it is as long as this.
    read_at: usize,
    /// How many bytes were read in vain as an object or a list.
    in_vain: usize,
    /// How many bytes have come.
    come: usize,
    /// Nothing but blanks stands before the place, in its line.
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
        Self {
            offered,
            held: String::new(),
            at: 0,
            looked: 0,
            read_at: 0,
            in_vain: 0,
            come: 0,
            line_start: true,
            in_code: false,
            calling: false,
        }
    }

    /// Takes a piece of text and gives back the words that can be passed on.
    pub(super) fn push(&mut self, text: &str) -> String {
        self.held.push_str(text);
        self.come = self.come.saturating_add(text.len());
        if self.held.len() > MOST_HELD {
            self.calling = false;
            (self.looked, self.read_at) = (0, 0);
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
        while !self.calling && self.at < self.held.len() {
            match self.step(ended) {
                Step::Pass(bytes, in_code) => {
                    let to = self.held.floor_char_boundary(self.at.saturating_add(bytes));
                    if to == self.at {
                        break;
                    }
                    let passed = self.held.get(self.at..to).unwrap_or_default();
                    let line = passed.rsplit_once('\n').map(|(_, line)| line);
                    let blank = line.unwrap_or(passed).trim_start().is_empty();
                    self.line_start = blank && (line.is_some() || self.line_start);
                    self.in_code = in_code;
                    (self.at, self.looked, self.read_at) = (to, 0, 0);
                }
                Step::Wait => break,
                Step::Call => self.calling = true,
            }
        }
        if self.at == 0 {
            return String::new();
        }
        let rest = self.held.split_off(self.at);
        self.at = 0;
        std::mem::replace(&mut self.held, rest)
    }

    fn step(&mut self, ended: bool) -> Step {
        let text = self.held.get(self.at..).unwrap_or_default();
        let all = Step::Pass(text.len(), self.in_code);
        if self.in_code {
            return match text.find(FENCE) {
                Some(place) => Step::Pass(place + FENCE.len(), false),
                None if ended => all,
                None => pass_or_wait(text.trim_end_matches('`').len(), true),
            };
        }
        match next_mark(text, self.line_start) {
            Some((0, Mark::Whole)) => self.at_mark(ended),
            Some((_, Mark::Begun)) if ended => all,
            Some((0, Mark::Begun)) => Step::Wait,
            Some((place, _)) => Step::Pass(place, false),
            None => all,
        }
    }

    fn at_mark(&mut self, ended: bool) -> Step {
        let text = self.held.get(self.at..).unwrap_or_default();
        if MARKS.iter().any(|mark| text.starts_with(mark)) {
            return Step::Call;
        }
        if text.starts_with(FENCE) {
            return self.at_fence(ended);
        }
        if let Some(inside) = text.strip_prefix('[') {
            match first_letter(inside) {
                Some('{') => {}
                None if !ended && text.len() <= MOST_HEAD => return Step::Wait,
                // A mark may still become whole.
                Some(_) if !ended && "[TOOL_CALLS]".starts_with(text) => return Step::Wait,
                Some(_) | None => return Step::Pass(1, false),
            }
        }
        self.at_value(ended)
    }

    /// At what may be an object or a list. One that comes in pieces is read again whenever twice as much of it is
    /// there, or what may be its end has come; and no text makes us read more in vain than a few times its length.
    fn at_value(&mut self, ended: bool) -> Step {
        let text = self.held.get(self.at..).unwrap_or_default();
        let new = text.as_bytes().get(self.looked..).unwrap_or_default();
        let may_end = self.looked == 0 || new.iter().any(|byte| b"}]".contains(byte));
        self.looked = text.len();
        if self.in_vain > self.come.saturating_mul(MOST_IN_VAIN).saturating_add(SHORT_VALUE) {
            return Step::Pass(1, false);
        }
        let is_short = text.len() <= SHORT_VALUE && may_end;
        if !ended && !is_short && text.len() < self.read_at {
            return Step::Wait;
        }
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) if calls_of(&value, &self.offered).is_empty() => {
                Step::Pass(values.byte_offset().max(1), false)
            }
            Some(Ok(_)) => Step::Call,
            Some(Err(error)) if error.is_eof() && !ended => {
                self.read_at = text.len().saturating_mul(2);
                Step::Wait
            }
            Some(Err(error)) if error.is_eof() => Step::Pass(text.len(), false),
            Some(Err(error)) => {
                self.in_vain = self.in_vain.saturating_add(read_until(text, &error));
                Step::Pass(1, false)
            }
            None => Step::Pass(1, false),
        }
    }

    fn at_fence(&mut self, ended: bool) -> Step {
        let text = self.held.get(self.at..).unwrap_or_default();
        let start = text.get(..text.floor_char_boundary(MOST_HEAD)).unwrap_or(text);
        let Some((head, _)) = start.split_once('\n') else {
            let is_long = text.len() > MOST_HEAD;
            return match (is_long, ended) {
                (true, _) => Step::Pass(start.len(), true),
                (false, true) => Step::Pass(text.len(), false),
                (false, false) => Step::Wait,
            };
        };
        let first_line = Step::Pass(head.len() + 1, true);
        let language = head.trim_start_matches('`').trim().to_ascii_lowercase();
        if !CALL_FENCES.contains(&language.as_str()) {
            return first_line;
        }
        let from = head.len() + 1;
        let inside = text.get(from..).unwrap_or_default();
        match first_letter(inside) {
            Some('{' | '[' | '<') => {}
            Some(_) => return first_line,
            None if inside.len() > MOST_HEAD => return first_line,
            None if ended => return Step::Pass(text.len(), false),
            None => return Step::Wait,
        }
        // Two of its three signs may have come with the piece before.
        let looked = self.looked.saturating_sub(from + FENCE.len());
        let looked = inside.floor_char_boundary(looked);
        let found = inside.get(looked..).and_then(|new| new.find(FENCE));
        let (inside, end) = match found.map(|place| looked + place) {
            Some(end) => (inside.get(..end).unwrap_or_default(), from + end + FENCE.len()),
            None if ended => (inside, text.len()),
            None => {
                self.looked = text.len();
                return Step::Wait;
            }
        };
        let is_call = !calls_in(inside, &self.offered).is_empty();
        if is_call { Step::Call } else { Step::Pass(end, false) }
    }
}

/// The first letter that is no blank, where it is not far.
fn first_letter(text: &str) -> Option<char> {
    text.chars().take(MOST_HEAD + 1).find(|letter| !letter.is_whitespace())
}

enum Mark {
    Whole,
    /// The text ends in what may become one.
    Begun,
}

/// Where something stands that may be the beginning of a call: everything before is looked at once.
fn next_mark(text: &str, mut line_start: bool) -> Option<(usize, Mark)> {
    for (at, letter) in text.char_indices() {
        match letter {
            '\n' => line_start = true,
            letter if letter.is_whitespace() => {}
            '<' | '[' | '`' | '{' => {
                let rest = text.as_bytes().get(at..).unwrap_or_default();
                let mut marks = MARKS.iter().chain([&FENCE]).map(|mark| mark.as_bytes());
                if (line_start && "{[".contains(letter)) || marks.any(|mark| rest.starts_with(mark))
                {
                    return Some((at, Mark::Whole));
                }
                let mut marks = MARKS.iter().chain([&FENCE]).map(|mark| mark.as_bytes());
                if marks.any(|mark| mark.starts_with(rest)) {
                    return Some((at, Mark::Begun));
                }
                line_start = false;
            }
            _ => line_start = false,
        }
    }
    None
}

fn pass_or_wait(bytes: usize, in_code: bool) -> Step {
    if bytes == 0 { Step::Wait } else { Step::Pass(bytes, in_code) }
}
