//! A past turn as the model sees it: what was asked, what the model itself said and did, and how it ended if that was
//! not with an answer. Pure.
//!
//! Promises: nobody's words but the model's own are shown as the model's: what a person was told when no model could
//! answer is not; a call is never shown without its result.

use cloister_protocol::ErrorCode;
use cloister_protocol::link::Cause;

use super::told;
use crate::journal::PastTurn;
use crate::ledger::Ledger;
use crate::model::{ChatMessage, Content, Part};

/// Turns that follow each other, as messages. What must be said before the next message of the person waits for it,
/// so that person and model take turns: some models know nothing else.
#[derive(Debug, Default)]
pub(super) struct Past {
    messages: Vec<ChatMessage>,
    waiting: Vec<String>,
}

impl Past {
    pub(super) fn add(&mut self, turn: &PastTurn) {
        if matches!(turn.cause, Cause::Clear) {
            return;
        }
        let said = said(turn);
        self.ask(told(&turn.cause), said, note(turn));
    }

    /// A turn of which only a part is shown.
    pub(super) fn add_shortened(&mut self, asked: String, answered: String, note: Option<&str>) {
        let said =
            if answered.is_empty() { Vec::new() } else { vec![ChatMessage::assistant(answered)] };
        self.ask(asked, said, note);
    }

    fn ask(&mut self, asked: String, said: Vec<ChatMessage>, note: Option<&str>) {
        self.waiting.push(asked);
        if !said.is_empty() {
            let asked = std::mem::take(&mut self.waiting).join("\n\n");
            self.messages.push(ChatMessage::user(asked));
            self.messages.extend(said);
        }
        self.waiting.extend(note.map(str::to_owned));
    }

    /// All of it, with what is asked now.
    pub(super) fn before(mut self, now: ChatMessage) -> Vec<ChatMessage> {
        let now = if self.waiting.is_empty() {
            now
        } else {
            self.waiting.push(String::new());
            behind(&self.waiting.join("\n\n"), now)
        };
        self.messages.push(now);
        self.messages
    }
}

fn behind(first: &str, now: ChatMessage) -> ChatMessage {
    match now {
        ChatMessage::User { content: Content::Text(text) } => {
            ChatMessage::user(format!("{first}{text}"))
        }
        ChatMessage::User { content: Content::Parts(mut parts) } => {
            match parts.first_mut() {
                Some(Part::Text { text }) => text.insert_str(0, first),
                _ => parts.insert(0, Part::Text { text: first.to_owned() }),
            }
            ChatMessage::User { content: Content::Parts(parts) }
        }
        other => other,
    }
}

/// What the model said and did.
fn said(turn: &PastTurn) -> Vec<ChatMessage> {
    if turn.steps.is_empty() {
        let words = if turn.error.is_none() { turn.text.as_str() } else { "" };
        return if words.is_empty() { Vec::new() } else { vec![ChatMessage::assistant(words)] };
    }
    Ledger::new(turn.steps.clone()).closed().messages(usize::MAX)
}

/// The model's words alone.
pub(crate) fn words(turn: &PastTurn) -> String {
    if turn.steps.is_empty() && turn.error.is_none() {
        return turn.text.clone();
    }
    let ledger = Ledger::new(turn.steps.clone());
    let texts: Vec<&str> = ledger.texts().filter(|text| !text.is_empty()).collect();
    texts.join("\n\n")
}

/// How a turn ended that has no answer, or not a whole one.
pub(crate) fn note(turn: &PastTurn) -> Option<&'static str> {
    let broken = turn.steps.is_empty();
    Some(match turn.error? {
        ErrorCode::Continued if broken => {
            "[Note: the person wrote on before you had answered. Answer all of it.]"
        }
        ErrorCode::Continued => {
            "[Note: the person wrote the following while you were at it; you stopped where you see. If it changes what they \
             want, follow it; else go on from there without repeating yourself, and answer this as well.]"
        }
        ErrorCode::Cancelled => "[Note: the person stopped this. Leave it unless they ask again.]",
        ErrorCode::LoopStopped => "[Note: this was stopped because you went round in circles.]",
        _ => {
            "[Note: this could not be answered to its end, for a technical reason that the person was told.]"
        }
    })
}
