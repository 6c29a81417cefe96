//! A model's answer on its way to a cell, without the values of secrets: also where a value comes in
//! pieces, a few letters to an event.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use cloister_vault::SecretName;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::call::Piece;
use super::events::data_lines;
use crate::secrets::{Mask, Masker, Shelf};

/// The texts of an answer that come in pieces.
const TEXTS: [&str; 4] = ["content", "reasoning", "reasoning_content", "refusal"];
/// What answers have at most of choices and calls; more are masked event by event alone.
const MOST: u64 = 128;

/// Which text of an answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Field {
    Text { choice: u64, name: &'static str },
    Arguments { choice: u64, call: u64 },
}

impl Field {
    fn choice(&self) -> u64 {
        match self {
            Self::Text { choice, .. } | Self::Arguments { choice, .. } => *choice,
        }
    }
}

/// The pieces of an answer, without what the cell must not see.
pub(crate) struct MaskedPieces {
    pieces: mpsc::Receiver<Piece>,
    masked: MaskedAnswer,
    shelf: Arc<Shelf>,
}

impl MaskedPieces {
    pub(crate) fn new(pieces: mpsc::Receiver<Piece>, mask: Arc<Mask>, shelf: Arc<Shelf>) -> Self {
        Self { pieces, masked: MaskedAnswer::new(mask), shelf }
    }

    pub(crate) async fn recv(&mut self) -> Option<Piece> {
        let piece = match self.pieces.recv().await? {
            Piece::Events(events) => Piece::Events(self.masked.events(events)),
            waiting @ Piece::Waiting { .. } => waiting,
            Piece::Restart => {
                self.masked.restart();
                Piece::Restart
            }
            Piece::Failed(refusal) => Piece::Failed(refusal),
        };
        self.shelf.note(self.masked.new_hits(), "what a model answered").await;
        Some(piece)
    }
}

/// Masks one answer as it comes.
struct MaskedAnswer {
    mask: Arc<Mask>,
    fields: BTreeMap<Field, Masker>,
    hits: Vec<SecretName>,
}

impl MaskedAnswer {
    fn new(mask: Arc<Mask>) -> Self {
        Self { mask, fields: BTreeMap::new(), hits: Vec::new() }
    }

    /// Another attempt begins; what came before is void.
    fn restart(&mut self) {
        self.fields.clear();
    }

    /// A run of whole events, as it may be shown.
    fn events(&mut self, events: Bytes) -> Bytes {
        if self.mask.is_empty() {
            return events;
        }
        let mut shown = BytesMut::with_capacity(events.len());
        for data in data_lines(&events) {
            let event = match serde_json::from_slice::<Value>(data) {
                Ok(mut event) => {
                    self.in_event(&mut event);
                    event.to_string()
                }
                Err(_the_end_mark) => {
                    for rest in self.rests() {
                        add_event(&mut shown, &self.whole(&rest.to_string()));
                    }
                    String::from_utf8_lossy(data).into_owned()
                }
            };
            add_event(&mut shown, &self.whole(&event));
        }
        shown.freeze()
    }

    /// The secrets that were masked since this was last asked.
    fn new_hits(&mut self) -> Vec<SecretName> {
        let mut hits = std::mem::take(&mut self.hits);
        hits.extend(self.fields.values_mut().flat_map(Masker::new_hits));
        hits
    }

    fn in_event(&mut self, event: &mut Value) {
        let choices = event.get_mut("choices").and_then(Value::as_array_mut);
        for choice in choices.into_iter().flatten() {
            let number = choice.get("index").and_then(Value::as_u64).unwrap_or(0).min(MOST);
            let ends = choice.get("finish_reason").is_some_and(|reason| !reason.is_null());
            if let Some(delta) = choice.get_mut("delta") {
                self.in_delta(number, delta);
                if ends {
                    self.end_texts(number, delta);
                }
            }
        }
    }

    fn in_delta(&mut self, choice: u64, delta: &mut Value) {
        for name in TEXTS {
            if let Some(text) = delta.get_mut(name) {
                self.in_text(Field::Text { choice, name }, text);
            }
        }
        let calls = delta.get_mut("tool_calls").and_then(Value::as_array_mut);
        for call in calls.into_iter().flatten() {
            let number = call.get("index").and_then(Value::as_u64).unwrap_or(0).min(MOST);
            if let Some(arguments) = call.pointer_mut("/function/arguments") {
                self.in_text(Field::Arguments { choice, call: number }, arguments);
            }
        }
    }

    fn in_text(&mut self, field: Field, text: &mut Value) {
        let Some(piece) = text.as_str().map(|text| Bytes::copy_from_slice(text.as_bytes())) else {
            return;
        };
        let new = || Masker::new(Arc::clone(&self.mask));
        let shown = self.fields.entry(field).or_insert_with(new).push(piece);
        *text = Value::from(String::from_utf8_lossy(&shown));
    }

    /// Adds what was held back of a choice's texts to its last event.
    fn end_texts(&mut self, choice: u64, delta: &mut Value) {
        for (field, masker) in self.fields.iter_mut().filter(|(field, _)| field.choice() == choice)
        {
            let rest = masker.finish();
            if rest.is_empty() {
                continue;
            }
            let rest = String::from_utf8_lossy(&rest);
            match field {
                Field::Text { name, .. } => {
                    let before = delta.get(*name).and_then(Value::as_str).unwrap_or_default();
                    delta[*name] = Value::from(format!("{before}{rest}"));
                }
                Field::Arguments { call, .. } => {
                    let more = json!({"index": call, "function": {"arguments": rest}});
                    match delta.get_mut("tool_calls").and_then(Value::as_array_mut) {
                        Some(calls) => calls.push(more),
                        None => delta["tool_calls"] = json!([more]),
                    }
                }
            }
        }
    }

    /// What is still held back when the answer ends without saying so.
    fn rests(&mut self) -> Vec<Value> {
        let choices: Vec<u64> = self.fields.keys().map(Field::choice).collect();
        let mut rests = Vec::new();
        for choice in choices {
            let mut delta = json!({});
            self.end_texts(choice, &mut delta);
            if delta.as_object().is_some_and(|delta| !delta.is_empty()) {
                rests.push(json!({"choices": [{"index": choice, "delta": delta}]}));
            }
        }
        rests
    }

    /// One event, for whatever else is in it.
    fn whole(&mut self, event: &str) -> Bytes {
        let mut masker = Masker::new(Arc::clone(&self.mask));
        let begin = masker.push(Bytes::copy_from_slice(event.as_bytes()));
        let shown = [begin, masker.finish()].concat();
        self.hits.extend(masker.new_hits());
        shown.into()
    }
}

fn add_event(to: &mut BytesMut, event: &[u8]) {
    to.extend_from_slice(b"data: ");
    to.extend_from_slice(event);
    to.extend_from_slice(b"\n\n");
}

#[cfg(test)]
#[path = "masked_tests.rs"]
mod tests;
