//! From a row of the outbox to the messages that tell it, each with the key that names it for ever.
//!
//! A key depends on the row alone: for an answer on its turn, so that what was shown while it was being
//! written is the same message. What is told to nobody becomes no message: progress and states of tasks are
//! for who looks at the moment, and how a task ended is told by the turn that it wakes.

use std::borrow::Cow;

use cloister_policy::legible;
use cloister_protocol::{
    AgentFrame, Ask, ChatId, End, ErrorCode, Language, SendFile, TurnId, Update,
};
use cloister_store::outbox::OutboxItem;
use cloister_store::posts::question_key;
use cloister_words::say;

use super::split::{Limit, closing_of, split};
use crate::surfaces::Button;

/// What a question's message has besides its texts: headings, what can be answered.
const QUESTION_FRAME: usize = 800;

/// Notices that could not be told for so long are not told any more.
const STALE_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// One message of a row.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) key: String,
    pub(super) says: Says,
}

#[derive(Clone, Debug)]
pub(super) enum Says {
    /// A part of an answer; it may have been shown before, unfinished.
    Answer {
        markdown: String,
        /// What can be pressed below it: with the last part alone.
        buttons: Vec<Button>,
    },
    Notice {
        markdown: String,
        buttons: Vec<Button>,
    },
    Question(Box<Ask>),
    File {
        artifact: String,
        file: SendFile,
    },
}

impl Says {
    pub(super) fn notice(markdown: String) -> Self {
        Self::Notice { markdown, buttons: Vec::new() }
    }
}

impl Part {
    /// Puts buttons below it, where it can have some.
    pub(super) fn offer(&mut self, offered: Vec<Button>) {
        match &mut self.says {
            Says::Answer { buttons, .. } | Says::Notice { buttons, .. } => *buttons = offered,
            Says::Question(_) | Says::File { .. } => {}
        }
    }

    /// What is to be told of it, in a few words, where it can't be shown.
    pub(super) fn noun(&self, to: Language) -> String {
        match &self.says {
            Says::Answer { .. } => say!(to, "An answer"),
            Says::Notice { .. } => say!(to, "A notice"),
            Says::Question(ask) => say!(to, "The question {id}", id = ask.approval),
            Says::File { file, .. } => say!(to, "The file {name}", name = code(&file.name)),
        }
    }
}

/// The key of a part of an answer.
pub(super) fn answer_key(turn: &TurnId, number: usize) -> String {
    format!("{turn}/{number}")
}

/// What is said before what belongs to another chat than the one that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Heading(String);

impl Heading {
    pub(super) fn of(chat: ChatId, title: &str) -> Self {
        let title = legible(title).replace(['\n', '\r'], " ");
        Self(match title.trim() {
            "" => chat.to_string(),
            title => format!("{chat} · {title}"),
        })
    }

    /// A text with its heading, if it has one.
    pub(super) fn over<'a>(heading: Option<&Self>, text: &'a str) -> Cow<'a, str> {
        match heading {
            Some(heading) if !text.trim().is_empty() => {
                Cow::Owned(format!("{}\n\n{text}", heading.markdown()))
            }
            Some(_) | None => Cow::Borrowed(text),
        }
    }

    /// As Markdown, in which a title is nothing but its letters.
    fn markdown(&self) -> String {
        let mut bold = String::from("**");
        for c in self.0.chars() {
            if "*_`[]<>\\~|#".contains(c) {
                bold.push('\\');
            }
            bold.push(c);
        }
        bold.push_str("**");
        bold
    }
}

/// The messages of a row, in order, in the language of who reads them there.
pub(super) fn parts_of(
    row: &OutboxItem,
    (limit, largest_file): (&Limit<'_>, u64),
    heading: Option<&Heading>,
    to: Language,
) -> Vec<Part> {
    let headed = |text: &str| Heading::over(heading, text).into_owned();
    match &row.frame {
        AgentFrame::End(end) => answer(&row.turn, &headed(&marked(end, to)), limit),
        AgentFrame::Ask(ask) => {
            let mut ask = ask.clone();
            if let Some(Heading(heading)) = heading {
                ask.title = format!("{heading}: {}", ask.title);
            }
            question(row.id, &ask, limit, to)
        }
        AgentFrame::SendFile(file) => {
            let mut parts = file_part(row, file, largest_file, to);
            if let Some(heading) = heading {
                let says = Says::notice(heading.markdown());
                parts.insert(0, Part { key: format!("o{}/heading", row.id), says });
            }
            parts
        }
        AgentFrame::Update(Update::Notice { text }) => notices(row.id, &headed(text), limit),
        AgentFrame::Update(Update::Blocked { host, reason, allow, .. }) => {
            let text = blocked(to, host, reason, allow.as_deref());
            let mut parts = notices(row.id, &headed(&text), limit);
            if let (Some(last), Some(command)) = (parts.last_mut(), allow) {
                last.offer(vec![Button::command(say!(to, "Allow it"), command)]);
            }
            parts
        }
        AgentFrame::Error(error) => notices(row.id, &headed(&error.message), limit),
        AgentFrame::Update(
            Update::Restart { .. }
            | Update::Model { .. }
            | Update::Task { .. }
            | Update::Progress { .. }
            | Update::Output { .. }
            | Update::Todos { .. }
            | Update::Answered { .. },
        )
        | AgentFrame::Accepted { .. }
        | AgentFrame::TextChunk(_)
        | AgentFrame::ToolCall(_)
        | AgentFrame::ToolResult(_) => Vec::new(),
    }
}

/// The text of an answer. One that was stopped before its end, or taken over by the next, says so: what was shown of
/// it looks like any other. Who was stopped before a word says no more than that.
fn marked(end: &End, to: Language) -> Cow<'_, str> {
    let text = end.text.trim_end();
    let (sign, mark) = match end.error {
        Some(ErrorCode::Cancelled) => ("⏹", say!(to, "Stopped.")),
        Some(ErrorCode::Continued) => ("⏭", say!(to, "The next answer is to both messages.")),
        _ => return Cow::Borrowed(&end.text),
    };
    if text.is_empty() || text.ends_with(&mark) {
        return Cow::Borrowed(&end.text);
    }
    Cow::Owned(format!("{text}{}\n\n{sign} {mark}", closing_of(text)))
}

/// What takes the place of what was shown of an answer and is no part of it.
pub(super) fn taken_back(key: String, to: Language) -> Part {
    let markdown = say!(to, "*This part was taken back.*");
    Part { key, says: Says::Answer { markdown, buttons: Vec::new() } }
}

/// Whether a row answers nothing, and is so old that nobody wants to know.
pub(super) fn is_stale(row: &OutboxItem, now_ms: i64) -> bool {
    let answers_nothing = matches!(
        row.frame,
        AgentFrame::Update(Update::Notice { .. } | Update::Blocked { .. }) | AgentFrame::Error(_)
    );
    answers_nothing && now_ms.saturating_sub(row.created_at) > STALE_MS
}

/// What takes the place of an answer that was shown and came to nothing.
pub(super) fn no_answer(key: String, to: Language) -> Part {
    let markdown = say!(to, "*There is no answer.*");
    Part { key, says: Says::Answer { markdown, buttons: Vec::new() } }
}

fn answer(turn: &TurnId, text: &str, limit: &Limit<'_>) -> Vec<Part> {
    let pieces = split(text, limit).into_iter().filter(|piece| !piece.is_blank());
    let part = |(number, piece): (usize, super::split::Piece<'_>)| Part {
        key: answer_key(turn, number),
        says: Says::Answer { markdown: piece.markdown(), buttons: Vec::new() },
    };
    pieces.enumerate().map(part).collect()
}

fn blocked(to: Language, host: &str, reason: &str, allow: Option<&str>) -> String {
    let (host, reason) = (code(host), legible(reason));
    let mut text = say!(to, "{host} was not reached: {reason}", host, reason);
    if let Some(command) = allow {
        // Some programs keep what begins with a slash to themselves.
        let command =
            command.strip_prefix('/').map_or(command.to_owned(), |rest| format!("!{rest}"));
        text.push_str("\n\n");
        text.push_str(&say!(to, "To allow it, write {command}.", command = code(&command)));
    }
    text
}

fn notices(row: i64, text: &str, limit: &Limit<'_>) -> Vec<Part> {
    let pieces = split(text, limit).into_iter().filter(|piece| !piece.is_blank());
    let part = |(number, piece): (usize, super::split::Piece<'_>)| Part {
        key: format!("o{row}/{number}"),
        says: Says::notice(piece.markdown()),
    };
    pieces.enumerate().map(part).collect()
}

/// A question in one message if it fits; else what is asked comes first, verbatim and whole, and the question
/// itself has the end of it.
fn question(row: i64, ask: &Ask, limit: &Limit<'_>, to: Language) -> Vec<Part> {
    let measure = |text: &str| (limit.measure)(text);
    let mut ask = ask.clone();
    let mut before = Vec::new();
    let around = |ask: &Ask| {
        let sources: usize = ask.sources.iter().map(|source| measure(source) + 4).sum();
        measure(&ask.title) + measure(&ask.reason) + sources + QUESTION_FRAME.min(limit.longest / 4)
    };
    if around(&ask) > limit.longest / 2 {
        let sources = std::mem::take(&mut ask.sources).join("\n");
        let reason = std::mem::take(&mut ask.reason);
        before.push(format!("{}\n{reason}\n{sources}", ask.title));
        ask.title = ask.title.chars().take(limit.longest / 8).collect();
    }
    let room = limit.longest.saturating_sub(around(&ask)).max(limit.longest / 4);
    if measure(&ask.text) > room {
        let smaller = Limit { longest: room, measure: limit.measure };
        let mut pieces = split_verbatim(&ask.text, &smaller);
        ask.text = pieces.pop().unwrap_or_default();
        before.extend(pieces);
    }
    let mut parts: Vec<Part> = Vec::new();
    for text in before {
        let says = say!(to, "{id} asks, and this belongs to the question:", id = ask.approval);
        let says = format!("{says}\n\n");
        let added = measure(&says) + measure(&marks_around(&text)) * 2 + 3;
        let longest = limit.longest.saturating_sub(added).max(limit.longest / 4);
        for piece in split_verbatim(&text, &Limit { longest, measure: limit.measure }) {
            let markdown = format!("{says}{}", fenced(&piece));
            parts.push(Part {
                key: format!("o{row}/{}", parts.len()),
                says: Says::notice(markdown),
            });
        }
    }
    parts.push(Part { key: question_key(row), says: Says::Question(Box::new(ask)) });
    parts
}

/// Pieces of a text that is not Markdown.
fn split_verbatim(text: &str, limit: &Limit<'_>) -> Vec<String> {
    split(text, limit).into_iter().map(|piece| piece.text.to_owned()).collect()
}

/// A text as a block of code that nothing in it can end.
fn fenced(text: &str) -> String {
    let marks = marks_around(text);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{marks}\n{text}{end}{marks}")
}

fn marks_around(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

fn file_part(row: &OutboxItem, file: &SendFile, largest_file: u64, to: Language) -> Vec<Part> {
    let key = format!("o{}/0", row.id);
    let artifact = file.url.as_deref().and_then(|url| url.rsplit('/').next());
    let says = match artifact {
        Some(artifact) if file.size <= largest_file => {
            Says::File { artifact: artifact.to_owned(), file: file.clone() }
        }
        Some(_) => Says::notice(say!(
            to,
            "{name} ({size}) is larger than the {most} that can be sent here. It can be downloaded from {chat} on the web page.",
            name = code(&file.name),
            size = size(file.size),
            most = size(largest_file),
            chat = row.chat
        )),
        None => Says::notice(file_is_gone(file, to)),
    };
    vec![Part { key, says }]
}

/// What is said in the place of a file that is not there any more.
pub(super) fn file_is_gone(file: &SendFile, to: Language) -> String {
    say!(to, "{name} was to be sent, but can't be opened any more.", name = code(&file.name))
}

/// A text as code, on one line, with nothing hidden in it.
pub(super) fn code(text: &str) -> String {
    let shown = legible(text).replace('`', "'").replace(['\n', '\r'], " ");
    format!("`{shown}`")
}

/// A size as people read it.
fn size(bytes: u64) -> String {
    const MEGABYTE: u64 = 1 << 20;
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..MEGABYTE => format!("{} kB", bytes / 1024),
        _ => format!("{}.{} MB", bytes / MEGABYTE, bytes % MEGABYTE * 10 / MEGABYTE),
    }
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
