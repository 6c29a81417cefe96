//! A question that only people may answer: what exactly is asked, to the letter and in full, and how to answer.
//!
//! Nothing in what is asked is markup, so that no text can dress up as something else, and nothing hides. What
//! would not fit into one message was told before it; what can't be shown whole can't be allowed with one press.

use cloister_kit::asking;
use cloister_protocol::surface::Button;
use cloister_protocol::{Answer, Ask, Language};
use cloister_words::say;

use super::buttons;
use super::message::{Frame, LONGEST_IN_FRAME, Message};
use super::text::{cut, escaped, length, one_line, verbatim};

const MAX_TITLE: usize = 250;
const MAX_WHY: usize = 500;
const MAX_SOURCES: usize = 700;
const MAX_NAME: usize = 100;

const GREEN: u32 = 0x2D_8A_4E;
const AMBER: u32 = 0xC9_8A_1B;
const RED: u32 = 0xC0_39_2B;
const GREY: u32 = 0x80_84_8E;

/// A question, and what can be pressed below it; or how it was answered and by whom.
pub(super) fn write(
    to: Language,
    ask: &Ask,
    settled: Option<&(Answer, String)>,
) -> (Message, Vec<Button>) {
    let exact = if ask.text.trim().is_empty() { String::new() } else { verbatim(&ask.text) };
    let whole = length(&exact) <= LONGEST_IN_FRAME;
    let text = if whole {
        exact
    } else {
        let id = ask.approval;
        say!(to, "What {id} asks is too long to be shown here. It is on the web page.", id)
    };
    let frame = Frame {
        title: cut(&escaped(&one_line(&ask.title)), MAX_TITLE),
        text,
        fields: vec![
            (say!(to, "Risk"), escaped(&one_line(&ask.class))),
            (say!(to, "Why it is asked"), cut(&escaped(&one_line(&ask.reason)), MAX_WHY)),
            (say!(to, "Because this task has read"), sources(to, ask)),
        ],
        footer: if settled.is_none() { how_to_answer(to, ask) } else { String::new() },
        colour: colour(ask, settled.map(|(answer, _)| *answer)),
    };
    let content = match settled {
        Some((answer, by)) => {
            let mark = if answer.is_allowing() { "✅" } else { "⛔" };
            let by = cut(&escaped(&one_line(by)), MAX_NAME);
            format!("{mark} {}: {}", ask.approval, asking::deed(to, &by, *answer))
        }
        None => say!(to, "**{id}** waits for an answer.", id = ask.approval),
    };
    let buttons = match settled {
        Some(_) => Vec::new(),
        None => offered(to, ask, whole),
    };
    (Message { content, frame: Some(frame), rows: Vec::new() }, buttons)
}

/// What nobody could read is not allowed with one press.
fn offered(to: Language, ask: &Ask, whole: bool) -> Vec<Button> {
    let mut shown = ask.clone();
    if !whole {
        shown.offered.retain(|answer| !answer.is_allowing());
    }
    buttons::answers(to, &shown)
}

fn sources(to: Language, ask: &Ask) -> String {
    let mut lines = String::new();
    for (number, source) in ask.sources.iter().enumerate() {
        let line = format!("\\- {}\n", cut(&escaped(&one_line(source)), MAX_SOURCES / 3));
        if length(&lines) + length(&line) > MAX_SOURCES {
            lines.push_str(&asking::and_more(to, ask.sources.len() - number));
            break;
        }
        lines.push_str(&line);
    }
    lines.trim_end().to_owned()
}

/// What can be typed instead of pressing. A footer knows no markup.
fn how_to_answer(to: Language, ask: &Ask) -> String {
    let id = ask.approval;
    let mut words = String::new();
    if ask.people > 1 {
        words.push_str(&asking::takes_people(to, ask.people));
        words.push(' ');
    }
    let typed = ask.offered.iter().map(|answer| match answer {
        Answer::Allow => format!("/approve {id}"),
        Answer::AllowForTask => format!("/approve {id} task"),
        Answer::AllowAlways => format!("/approve {id} always"),
        Answer::Deny => format!("/deny {id}"),
        Answer::DenyAndStop => format!("/deny {id} stop"),
    });
    let typed = typed.collect::<Vec<_>>().join(" · ");
    words.push_str(&say!(to, "Press a button, or write {typed}", typed));
    words
}

fn colour(ask: &Ask, settled: Option<Answer>) -> u32 {
    match (settled, ask.class.as_str()) {
        (Some(answer), _) if answer.is_allowing() => GREEN,
        (Some(_), _) => GREY,
        (None, "destructive") => RED,
        (None, "safe") => GREEN,
        (None, _) => AMBER,
    }
}

#[cfg(test)]
#[path = "questions_tests.rs"]
mod tests;
