//! Stops a model that goes round in circles. Pure.

use std::collections::HashMap;

use cloister_protocol::link::Call;
use cloister_protocol::{Phrases, filled};
use serde_json::Value;

use crate::ledger::Ledger;
use crate::text;

/// The same thing this often is a loop.
const MAX_REPEATS: usize = 4;

/// What counts as the same thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Asking for the same call with the same arguments.
    Call,
    /// The same call with the same result: work that changes something is no loop.
    CallAndResult,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct LoopLimits {
    pub(crate) model_calls: usize,
    pub(crate) repeat: Repeat,
    /// Of the calls of one answer only the first is made: the model sees what came of it before it goes on.
    pub(crate) one_call: bool,
}

/// Why the loop was stopped.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Looping {
    Repeated { call: String },
    TooManySteps { steps: usize },
}

impl Looping {
    pub(crate) fn told(&self, phrases: &Phrases) -> String {
        match self {
            Self::Repeated { call } => {
                let times = MAX_REPEATS.to_string();
                filled(&phrases.repeated, &[("times", &times), ("call", call)])
            }
            Self::TooManySteps { steps } => {
                filled(&phrases.too_many_steps, &[("steps", &steps.to_string())])
            }
        }
    }
}

/// A call is wanted: is it the one too many?
pub(crate) fn check_repeats(ledger: &Ledger, limits: LoopLimits) -> Option<Looping> {
    let mut seen: HashMap<(String, Option<&str>), usize> = HashMap::new();
    for call in ledger.calls() {
        let result = match limits.repeat {
            Repeat::Call => None,
            Repeat::CallAndResult => match ledger.outcome_of(&call.id) {
                Some(outcome) => Some(outcome.output.as_str()),
                None => continue,
            },
        };
        let times = seen.entry((canonical(call), result)).or_default();
        *times += 1;
        if *times >= MAX_REPEATS {
            let call = text::shorten(&canonical(call), 200);
            return Some(Looping::Repeated { call });
        }
    }
    None
}

/// The call that was made just before is this one: nothing can have changed since.
pub(crate) fn is_just_done(ledger: &Ledger, call: &Call) -> bool {
    let before = ledger.calls().take_while(|other| other.id != call.id).last();
    before.is_some_and(|before| canonical(before) == canonical(call))
}

/// The model is to be asked: once too often?
pub(crate) fn check_steps(ledger: &Ledger, limits: LoopLimits) -> Option<Looping> {
    let steps = ledger.answers();
    (steps >= limits.model_calls).then_some(Looping::TooManySteps { steps })
}

/// Name and arguments, so that spaces and the order of keys make no difference.
fn canonical(call: &Call) -> String {
    let arguments = serde_json::from_str(&call.arguments).map_or_else(
        |_not_json: serde_json::Error| call.arguments.clone(),
        |value: Value| sorted(value).to_string(),
    );
    format!("{} {arguments}", call.name)
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> =
                map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
