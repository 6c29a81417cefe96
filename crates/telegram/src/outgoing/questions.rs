//! A question that only people may answer: what exactly is asked, to the letter and in full, and how to answer.
//!
//! Nothing in what is asked is Markdown, so that no text can dress up as something else, and nothing hides. What
//! would not fit into one message was told before it.

use cloister_kit::asking;
use cloister_policy::legible;
use cloister_protocol::surface::{Button, Press, Recipient, SendError};
use cloister_protocol::{Answer, Ask, Language};
use cloister_words::say;

use super::pace::What;
use super::send::{MessagePlace, Said};
use super::text::{Kind, Text};
use super::{Sending, pieces_of, reply_to};

/// How much of a title, a reason or a source is shown; the exact text is whole.
const MAX_LINE: usize = 500;
const MAX_SOURCES: usize = 20;

/// The sign that stands for an answer.
const fn sign_of(answer: Answer) -> &'static str {
    match answer {
        Answer::Allow => "👍",
        Answer::AllowForTask => "🔁",
        Answer::AllowAlways => "♾️",
        Answer::Deny => "👎",
        Answer::DenyAndStop => "🛑",
    }
}

/// What can be typed for an answer.
fn command(ask: &Ask, answer: Answer) -> String {
    let id = ask.approval;
    match answer {
        Answer::Allow => format!("/approve {id}"),
        Answer::AllowForTask => format!("/approve {id} task"),
        Answer::AllowAlways => format!("/approve {id} always"),
        Answer::Deny => format!("/deny {id}"),
        Answer::DenyAndStop => format!("/deny {id} stop"),
    }
}

/// What can be pressed: exactly what is offered.
fn buttons(to: Language, ask: &Ask) -> Vec<Button> {
    let button = |answer: &Answer| Button {
        label: format!("{} {}", sign_of(*answer), asking::meaning(to, *answer)),
        press: Press::Answer { approval: ask.approval, answer: *answer },
    };
    ask.offered.iter().map(button).collect()
}

/// A question, or how it was answered and by whom.
pub(super) fn write(to: Language, ask: &Ask, settled: Option<&(Answer, String)>) -> Text {
    let mut out = Text::default();
    line(&mut out, &format!("{}: {}", ask.approval, cut(&ask.title)), Some(Kind::Bold));
    let class = Some(cut(&ask.class)).filter(|class| !class.is_empty());
    let why = [Some(cut(&ask.reason)), class.map(|class| format!("({class})"))];
    let why = why.into_iter().flatten().collect::<Vec<_>>().join(" ");
    if !why.trim().is_empty() {
        line(&mut out, why.trim(), None);
    }
    if !ask.text.trim().is_empty() {
        out.push(legible(&ask.text).trim_end_matches('\n'), Some(Kind::Pre(None)));
        out.push("\n", None);
    }
    for source in ask.sources.iter().take(MAX_SOURCES) {
        line(&mut out, &asking::because_read(to, &cut(source)), None);
    }
    if ask.sources.len() > MAX_SOURCES {
        line(&mut out, &asking::and_more(to, ask.sources.len() - MAX_SOURCES), None);
    }
    match settled {
        Some((answer, by)) => {
            let mark = if answer.is_allowing() { "✅" } else { "⛔" };
            let deed = asking::deed(to, &cut(by), *answer);
            line(&mut out, &format!("{mark} {deed}"), Some(Kind::Bold));
        }
        None => how_to_answer(to, &mut out, ask),
    }
    out.trimmed()
}

fn how_to_answer(to: Language, out: &mut Text, ask: &Ask) {
    if ask.people > 1 {
        line(out, &asking::takes_people(to, ask.people), None);
    }
    line(out, &say!(to, "Press, or write:"), None);
    for answer in &ask.offered {
        out.push(&format!("{} {}: ", sign_of(*answer), asking::meaning(to, *answer)), None);
        // As code it is copied as a whole when it is touched, and not sent by half.
        out.push(&command(ask, *answer), Some(Kind::Code));
        out.push("\n", None);
    }
}

/// A line of ours; whatever is quoted in it stays on it.
fn line(out: &mut Text, text: &str, kind: Option<Kind>) {
    out.push(&legible(text).replace('\n', " "), kind);
    out.push("\n", None);
}

fn cut(text: &str) -> String {
    let mut short: String = text.chars().take(MAX_LINE).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

impl Sending {
    /// Asks. The message that can be answered is the last, if it takes several.
    pub(super) async fn post_question(
        &self,
        to: &Recipient,
        (place, key): (MessagePlace, &str),
        (ask, settled): (&Ask, Option<&(Answer, String)>),
    ) -> Result<i32, SendError> {
        let pieces = pieces_of(&write(to.language, ask, settled));
        let offered = if settled.is_none() { buttons(to.language, ask) } else { Vec::new() };
        let keyboard = self.keyboard(&to.conversation, &offered).await;
        let said = Said { reply_to: reply_to(to, key), keyboard };
        Ok(self.post_pieces(place, key, &pieces, said, What::Message).await?.last)
    }

    /// Shows how a question stands. One that is settled has nothing to press any more.
    pub(super) async fn edit_question(
        &self,
        to: &Recipient,
        (place, message): (MessagePlace, i32),
        (ask, settled): (&Ask, Option<&(Answer, String)>),
    ) -> Result<(), SendError> {
        let pieces = pieces_of(&write(to.language, ask, settled));
        let Some(last) = pieces.last() else { return Ok(()) };
        let offered = if settled.is_none() { buttons(to.language, ask) } else { Vec::new() };
        let keyboard = self.keyboard(&to.conversation, &offered).await;
        self.edit_text(place, message, (last, keyboard), What::Message).await
    }
}

#[cfg(test)]
#[path = "questions_tests.rs"]
mod tests;
