//! What can be pressed below a message.
//!
//! What a button does is kept by the control plane; what Telegram is told is a token that says nothing.

use super::Sending;
use crate::session::methods::{Keyboard, KeyboardButton};
use cloister_policy::legible;
use cloister_protocol::surface::{Button, Conversation, MOST_BUTTONS, MintButtons, Press};
use cloister_protocol::with_causes;

const MAX_ROWS: usize = 8;
const MAX_IN_A_ROW: usize = 8;
/// How many characters stand beside one another on a phone; more only where there would be too many rows.
const WIDTHS: [usize; 4] = [26, 52, 104, usize::MAX];
const MAX_LABEL: usize = 60;
/// Telegram takes no more of it.
const MAX_DATA: usize = 64;

impl Sending {
    /// The buttons of a message. Without them everything can still be written, so nothing waits for them.
    pub(super) async fn keyboard(
        &self,
        conversation: &Conversation,
        buttons: &[Button],
    ) -> Option<Keyboard> {
        let buttons = buttons.get(..buttons.len().min(MOST_BUTTONS))?;
        if buttons.is_empty() {
            return None;
        }
        let presses: Vec<Press> = buttons.iter().map(|button| button.press.clone()).collect();
        let mint = MintButtons { conversation: conversation.id, presses };
        let tokens = match self.bot.plane.call(mint).await {
            Ok(tokens) => tokens,
            Err(error) => {
                let conversation = conversation.id.number();
                tracing::warn!(
                    error = with_causes(&error),
                    conversation,
                    "a message goes without its buttons"
                );
                return None;
            }
        };
        let labels = buttons.iter().map(|button| button.label.as_str());
        markup(labels.zip(tokens))
    }
}

fn markup<'a>(buttons: impl Iterator<Item = (&'a str, String)>) -> Option<Keyboard> {
    let buttons: Vec<KeyboardButton> = buttons
        .filter(|(_, token)| !token.is_empty() && token.len() <= MAX_DATA)
        .map(|(label, token)| KeyboardButton { text: shown(label), callback_data: token })
        .collect();
    let mut rows = rows(buttons);
    rows.truncate(MAX_ROWS);
    (!rows.is_empty()).then_some(Keyboard { inline_keyboard: rows })
}

/// A label on one line, with nothing hidden in it and never empty.
fn shown(label: &str) -> String {
    let label = legible(label.trim()).replace('\n', " ");
    let mut short: String = label.chars().take(MAX_LABEL).collect();
    if short.len() < label.len() {
        short.push('…');
    }
    if short.trim().is_empty() { "…".to_owned() } else { short }
}

fn rows(buttons: Vec<KeyboardButton>) -> Vec<Vec<KeyboardButton>> {
    let mut best = Vec::new();
    for width in WIDTHS {
        best = rows_of(&buttons, width);
        if best.len() <= MAX_ROWS {
            break;
        }
    }
    best
}

fn rows_of(buttons: &[KeyboardButton], width: usize) -> Vec<Vec<KeyboardButton>> {
    let mut rows: Vec<Vec<KeyboardButton>> = Vec::new();
    let mut used = usize::MAX;
    for button in buttons {
        let length = button.text.chars().count() + 2;
        match rows.last_mut() {
            Some(row) if row.len() < MAX_IN_A_ROW && used.saturating_add(length) <= width => {
                row.push(button.clone());
                used += length;
            }
            Some(_) | None => {
                rows.push(vec![button.clone()]);
                used = length;
            }
        }
    }
    rows
}

#[cfg(test)]
#[path = "keyboard_tests.rs"]
mod tests;
