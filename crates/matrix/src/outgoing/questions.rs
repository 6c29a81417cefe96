//! A question that only people may answer: what exactly is asked, to the letter and in full, and how to answer.
//!
//! Nothing in what is asked is Markdown or HTML, so that no text can dress up as something else, and nothing
//! hides. What would not fit into one message was told before it.

use std::fmt::Write as _;
use std::time::Duration;

use cloister_kit::asking;
use cloister_policy::legible;
use cloister_protocol::surface::{Recipient, SendError};
use cloister_protocol::{Answer, Ask, Language, with_causes};
use cloister_words::say;
use matrix_sdk::Room;
use matrix_sdk::ruma::OwnedEventId;
use matrix_sdk::ruma::events::reaction::ReactionEventContent;
use matrix_sdk::ruma::events::relation::Annotation;

use super::Sending;
use super::html::push_text;
use super::messages::{Written, json_bytes};
use super::send::Act;
use cloister_protocol::surface::options::Reactions;

/// How much of a title, a reason or a source is shown; the exact text is whole.
const MAX_LINE: usize = 500;
const MAX_SOURCES: usize = 20;
/// As much of both forms as fits into an event of 64 KiB, encrypted.
const MAX_BYTES: usize = 44 << 10;
/// How long a person's one-tap answers may hold up what comes after them.
const REACTIONS_WAIT: Duration = Duration::from_secs(20);

/// The reaction that stands for an answer.
const fn reaction_of(answer: Answer) -> &'static str {
    match answer {
        Answer::Allow => "👍",
        Answer::AllowForTask => "🔁",
        Answer::AllowAlways => "♾️",
        Answer::Deny => "👎",
        Answer::DenyAndStop => "🛑",
    }
}

/// The answer that a reaction stands for, whatever its colour.
pub(crate) fn answer_of(reaction: &str) -> Option<Answer> {
    let bare = |text: &str| -> String {
        let decoration =
            |c: &char| matches!(c, '\u{FE0E}' | '\u{FE0F}' | '\u{1F3FB}'..='\u{1F3FF}');
        text.trim().chars().filter(|c| !decoration(c)).collect()
    };
    let meant = bare(reaction);
    Answer::ALL.into_iter().find(|answer| bare(reaction_of(*answer)) == meant)
}

/// Which reactions count as answers. Clients send them in the clear, so that a homeserver could write one in a
/// person's name where it can write no message: such a one allows nothing for longer than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    pub(crate) reactions: Reactions,
    /// The room is encrypted, and the reaction is not.
    pub(crate) in_the_clear: bool,
}

impl Touch {
    pub(crate) const fn counts(self, answer: Answer) -> bool {
        match (self.reactions, answer) {
            (Reactions::Off, _) => false,
            (Reactions::Answer, Answer::Allow | Answer::Deny | Answer::DenyAndStop) => true,
            (Reactions::Answer, Answer::AllowForTask | Answer::AllowAlways) => !self.in_the_clear,
        }
    }

    /// Why one does not count, and what does.
    pub(crate) const fn why_not(self) -> &'static str {
        match self.reactions {
            Reactions::Off => "Reactions are no answers here. Write `!yes` or `!no`.",
            Reactions::Answer => {
                "A reaction is not encrypted: your homeserver could write one. It can allow this once and no \
                 longer; for more, write what stands below the question."
            }
        }
    }
}

/// What can be typed for an answer.
fn command(ask: &Ask, answer: Answer) -> String {
    let id = ask.approval;
    match answer {
        Answer::Allow => format!("!approve {id}"),
        Answer::AllowForTask => format!("!approve {id} task"),
        Answer::AllowAlways => format!("!approve {id} always"),
        Answer::Deny => format!("!deny {id}"),
        Answer::DenyAndStop => format!("!deny {id} stop"),
    }
}

/// A question, or how it was answered and by whom.
pub(super) fn write(
    to: Language,
    ask: &Ask,
    settled: Option<&(Answer, String)>,
    touch: Touch,
) -> Written {
    let mut out = Both::default();
    out.heading(&format!("{}: {}", ask.approval, cut(&ask.title)));
    let class = Some(cut(&ask.class)).filter(|class| !class.is_empty());
    let why = [Some(cut(&ask.reason)), class.map(|class| format!("({class})"))];
    let why = why.into_iter().flatten().collect::<Vec<_>>().join(" ");
    if !why.trim().is_empty() {
        out.line(why.trim());
    }
    if !ask.text.is_empty() {
        out.exact(&ask.text);
    }
    for source in ask.sources.iter().take(MAX_SOURCES) {
        out.line(&asking::because_read(to, &cut(source)));
    }
    if ask.sources.len() > MAX_SOURCES {
        out.line(&asking::and_more(to, ask.sources.len() - MAX_SOURCES));
    }
    match settled {
        Some((answer, by)) => {
            let mark = if answer.is_allowing() { "✅" } else { "⛔" };
            out.heading(&format!("{mark} {}", asking::deed(to, &cut(by), *answer)));
        }
        None => out.how_to_answer(to, ask, touch),
    }
    out.finish()
}

fn cut(text: &str) -> String {
    let mut short: String = text.chars().take(MAX_LINE).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// Both forms of a message at once.
#[derive(Default)]
struct Both {
    body: String,
    html: String,
}

impl Both {
    fn heading(&mut self, text: &str) {
        self.html.push_str("<p><strong>");
        push_text(&mut self.html, text);
        self.html.push_str("</strong></p>");
        self.plain_line(text);
    }

    fn line(&mut self, text: &str) {
        self.html.push_str("<p>");
        push_text(&mut self.html, text);
        self.html.push_str("</p>");
        self.plain_line(text);
    }

    fn exact(&mut self, text: &str) {
        self.html.push_str("<pre><code>");
        push_text(&mut self.html, text);
        self.html.push_str("</code></pre>");
        // Behind a mark, a line of it can't pass for one of ours.
        for line in legible(text).trim_end_matches('\n').split('\n') {
            self.body.push_str("| ");
            self.body.push_str(line);
            self.body.push('\n');
        }
    }

    fn how_to_answer(&mut self, to: Language, ask: &Ask, touch: Touch) {
        if ask.people > 1 {
            self.line(&asking::takes_people(to, ask.people));
        }
        let any = ask.offered.iter().any(|answer| touch.counts(*answer));
        let how = if any { say!(to, "React, or write:") } else { say!(to, "Write:") };
        self.line(&how);
        self.html.push_str("<ul>");
        for answer in &ask.offered {
            let mut words = asking::meaning(to, *answer);
            if touch.counts(*answer) {
                words = format!("{} {words}", reaction_of(*answer));
            }
            let command = command(ask, *answer);
            self.html.push_str("<li>");
            push_text(&mut self.html, &words);
            // Writing to a string does not fail.
            write!(self.html, ": <code>{command}</code></li>").ok();
            self.plain_line(&format!("{words}: {command}"));
        }
        self.html.push_str("</ul>");
    }

    /// A line of ours; whatever is quoted in it stays on it.
    fn plain_line(&mut self, text: &str) {
        self.body.push_str(&legible(text).replace('\n', " "));
        self.body.push('\n');
    }

    fn finish(self) -> Written {
        let body = self.body.trim_end().to_owned();
        let fits = json_bytes(&body) + json_bytes(&self.html) <= MAX_BYTES;
        Written { body, html: fits.then_some(self.html) }
    }
}

impl Sending {
    /// Asks, and puts the answers there to be tapped.
    pub(super) async fn post_question(
        &self,
        room: &Room,
        to: &Recipient,
        key: &str,
        (ask, settled): (&Ask, Option<&(Answer, String)>),
    ) -> Result<OwnedEventId, SendError> {
        let touch = self.touch_in(room).await?;
        let asked = write(to.language, ask, settled, touch).text(self.previews_in(room).await?);
        let event = self.post_message(room, to, (key, &ask.digest), asked).await?;
        if settled.is_none() {
            let mut counting = ask.offered.clone();
            counting.retain(|answer| touch.counts(*answer));
            let offering = self.offer(room, to, (key, &event), &counting);
            if tokio::time::timeout(REACTIONS_WAIT, offering).await.is_err() {
                tracing::debug!("not every answer could be put there to be tapped");
            }
        }
        Ok(event)
    }

    /// Which reactions count in a room, as clients send them.
    pub(super) async fn touch_in(&self, room: &Room) -> Result<Touch, SendError> {
        let in_the_clear = self.bot.encryption().seals(room).await?;
        Ok(Touch { reactions: self.bot.options.reactions, in_the_clear })
    }

    /// Reacts with every answer that can be given. People can still write theirs if it fails.
    async fn offer(
        &self,
        room: &Room,
        to: &Recipient,
        (key, event): (&str, &OwnedEventId),
        answers: &[Answer],
    ) {
        for answer in answers {
            let with = reaction_of(*answer);
            loop {
                let transaction = self.transaction(to, Act::React(with), key, event.as_str());
                let annotation = Annotation::new(event.clone(), with.to_owned());
                let content = ReactionEventContent::new(annotation);
                match self.send(room, transaction, content).await {
                    Ok(_event) => break,
                    Err(SendError::Wait(time)) => tokio::time::sleep(time).await,
                    Err(error) => {
                        tracing::debug!(
                            error = with_causes(&error),
                            "an answer could not be put there to be tapped"
                        );
                        return;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "questions_tests.rs"]
mod tests;
