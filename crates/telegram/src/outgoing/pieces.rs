//! A text in several messages: those that are there are not sent again when the rest is tried again.

use std::collections::{HashMap, VecDeque};

use cloister_protocol::surface::SendError;

use super::pace::What;
use super::send::{MessagePlace, Said};
use super::text::Text;
use super::{Sending, locked};

/// As many messages are remembered.
const MAX_SENT: usize = 1_024;

/// Messages that are there, by the place, the key and the number of the piece.
#[derive(Debug, Default)]
pub(super) struct Sent {
    messages: HashMap<(MessagePlace, String, usize), i32>,
    order: VecDeque<(MessagePlace, String, usize)>,
}

impl Sent {
    pub(super) fn has(&self, place: &MessagePlace, key: &str, number: usize) -> bool {
        self.get(place, key, number).is_some()
    }

    fn get(&self, place: &MessagePlace, key: &str, number: usize) -> Option<i32> {
        self.messages.get(&(*place, key.to_owned(), number)).copied()
    }

    pub(super) fn keep(&mut self, place: &MessagePlace, key: &str, number: usize, message: i32) {
        let name = (*place, key.to_owned(), number);
        if self.messages.insert(name.clone(), message).is_none() {
            self.order.push_back(name);
        }
        while self.order.len() > MAX_SENT {
            if let Some(oldest) = self.order.pop_front() {
                self.messages.remove(&oldest);
            }
        }
    }

    fn forget(&mut self, place: &MessagePlace, key: &str) {
        self.messages.retain(|(at, of, _), _| at != place || of != key);
        self.order.retain(|(at, of, _)| at != place || of != key);
    }
}

/// The first and the last message of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) first: i32,
    pub(super) last: i32,
}

impl Sending {
    /// Posts the pieces of a text in order; what it answers stands at the first, what can be pressed below the
    /// last.
    pub(super) async fn post_pieces(
        &self,
        place: MessagePlace,
        key: &str,
        pieces: &[Text],
        mut said: Said,
        what: What,
    ) -> Result<Ends, SendError> {
        let mut ends: Option<Ends> = None;
        // An unfinished answer is one message; the rest comes with its end.
        let pieces =
            if what == What::Unfinished { pieces.get(..1).unwrap_or(pieces) } else { pieces };
        for (number, piece) in pieces.iter().enumerate() {
            let before = locked(&self.bot.sending.sent).get(&place, key, number);
            let message = match before {
                Some(message) => message,
                None => {
                    let is_last = number + 1 == pieces.len();
                    let here = Said {
                        reply_to: said.reply_to.filter(|_| number == 0),
                        keyboard: if is_last { said.keyboard.take() } else { None },
                    };
                    let message = self.post_text(place, (piece, here), what).await?;
                    if !is_last {
                        locked(&self.bot.sending.sent).keep(&place, key, number, message);
                    }
                    message
                }
            };
            let first = ends.map_or(message, |ends| ends.first);
            ends = Some(Ends { first, last: message });
        }
        if pieces.len() > 1 {
            locked(&self.bot.sending.sent).forget(&place, key);
        }
        ends.ok_or_else(|| SendError::Refused("there is nothing to be seen in it".to_owned()))
    }
}

#[cfg(test)]
#[path = "pieces_tests.rs"]
mod tests;
