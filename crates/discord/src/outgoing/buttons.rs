//! What can be pressed below a message: rows of buttons, each with a token that the control plane made.

use cloister_kit::{PlaneError, asking};
use cloister_protocol::surface::{Button, Conversation, MintButtons, Press, SendError};
use cloister_protocol::{Answer, Ask, ErrorCode, Language};
use serde_json::{Value, json};

use super::Sending;
use super::text::{cut, one_line};

const IN_A_ROW: usize = 5;
const ROWS: usize = 5;
const LONGEST_LABEL: usize = 80;

/// How a button looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Plain = 2,
    Good = 3,
    Dangerous = 4,
}

/// The buttons that answer a question, as many as it offers.
pub(super) fn answers(to: Language, ask: &Ask) -> Vec<Button> {
    let button = |answer: &Answer| Button {
        label: capitalised(&asking::meaning(to, *answer)),
        press: Press::Answer { approval: ask.approval, answer: *answer },
    };
    ask.offered.iter().map(button).collect()
}

const fn look(press: &Press) -> Look {
    match press {
        Press::Answer { answer: Answer::Allow, .. } => Look::Good,
        Press::Answer { answer: Answer::Deny | Answer::DenyAndStop, .. } => Look::Dangerous,
        Press::Answer { answer: Answer::AllowForTask | Answer::AllowAlways, .. }
        | Press::Command(_) => Look::Plain,
    }
}

fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

/// Rows of buttons; more than fit are left out, for every one of them can be typed as well.
pub(super) fn rows(buttons: &[Button], tokens: &[String]) -> Vec<Value> {
    let shown: Vec<Value> = buttons
        .iter()
        .zip(tokens)
        .take(IN_A_ROW * ROWS)
        .map(|(button, token)| {
            let label = match one_line(&button.label) {
                label if label.is_empty() => "…".to_owned(),
                label => cut(&label, LONGEST_LABEL),
            };
            let style = look(&button.press) as u8;
            json!({ "type": 2, "style": style, "label": label, "custom_id": token })
        })
        .collect();
    shown.chunks(IN_A_ROW).map(|row| json!({ "type": 1, "components": row })).collect()
}

impl Sending {
    /// Rows for buttons in a conversation. Where the control plane makes none, the message goes without: what they
    /// do can be typed.
    pub(super) async fn rows(
        &self,
        conversation: &Conversation,
        buttons: &[Button],
    ) -> Result<Vec<Value>, SendError> {
        let buttons = buttons.get(..buttons.len().min(IN_A_ROW * ROWS)).unwrap_or_default();
        if buttons.is_empty() {
            return Ok(Vec::new());
        }
        let presses: Vec<Press> = buttons.iter().map(|button| button.press.clone()).collect();
        match self.bot.plane.call(MintButtons { conversation: conversation.id, presses }).await {
            Ok(tokens) => Ok(rows(buttons, &tokens)),
            Err(error) if is_ours(&error) => {
                Err(SendError::Unreachable(format!("no button could be kept: {error}")))
            }
            Err(error) => {
                tracing::warn!(error = error.chain(), "a message goes without its buttons");
                Ok(Vec::new())
            }
        }
    }
}

/// Whether buttons could not be kept for a reason that says nothing about them.
fn is_ours(error: &PlaneError) -> bool {
    error.may_pass() || error.code() == ErrorCode::Internal
}

#[cfg(test)]
#[path = "buttons_tests.rs"]
mod tests;
