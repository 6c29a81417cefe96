//! The steps of one turn or task, and what follows from them. Pure: the same steps always lead to the
//! same next move, which is what makes a crash harmless.

use cloister_protocol::WorkKind;
use cloister_protocol::link::{Call, CallStatus, Outcome, Step};
use serde_json::{Map, Value};

use crate::model::ChatMessage;
use crate::text;
use crate::tools::WEB_SEARCH;

/// What of an output or argument that is too old to be kept whole is still told.
const OLD_BYTES: usize = 200;

#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    steps: Vec<Step>,
}

/// The next move.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    AskModel,
    /// Run a call for the first time.
    Start(Call),
    /// A call was under way when an earlier attempt ended.
    Resume(Call),
    Done,
}

/// Where a call was asked for: the same after any crash, so ids are made from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallPlace {
    /// The position of the answer among all steps.
    pub(crate) answer: usize,
    /// The position of the call in that answer.
    pub(crate) index: usize,
}

impl Ledger {
    pub(crate) fn new(steps: Vec<Step>) -> Self {
        Self { steps }
    }

    pub(crate) fn push(&mut self, step: Step) {
        self.steps.push(step);
    }

    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    pub(crate) fn next(&self) -> Next {
        let Some((after, calls)) = self.last_answer() else { return Next::AskModel };
        if calls.is_empty() {
            return Next::Done;
        }
        let later = self.steps.get(after..).unwrap_or_default();
        for call in calls {
            let ended =
                later.iter().any(|s| matches!(s, Step::Result { call: id, .. } if *id == call.id));
            if ended {
                continue;
            }
            let begun =
                later.iter().any(|s| matches!(s, Step::Call { call: id } if *id == call.id));
            return if begun { Next::Resume(call.clone()) } else { Next::Start(call.clone()) };
        }
        Next::AskModel
    }

    /// The calls of the last answer and the position of the step after it.
    fn last_answer(&self) -> Option<(usize, &[Call])> {
        self.steps.iter().enumerate().rev().find_map(|(at, step)| match step {
            Step::Answer { calls, .. } => Some((at + 1, calls.as_slice())),
            Step::Call { .. } | Step::Result { .. } => None,
        })
    }

    /// The same with a result for every call: of a turn that is over, what has none will get none.
    pub(crate) fn closed(mut self) -> Self {
        let missing: Vec<(String, bool)> = self
            .calls()
            .filter(|call| self.outcome_of(&call.id).is_none())
            .map(|call| (call.id.clone(), self.has_begun(&call.id)))
            .collect();
        for (call, begun) in missing {
            let (status, output) = if begun {
                (CallStatus::Unknown, "outcome unknown: the turn ended while this ran")
            } else {
                (CallStatus::Refused, "not run: the turn ended before")
            };
            let result = Step::Result {
                call: call.clone(),
                outcome: Outcome { status, output: output.to_owned() },
            };
            // Right behind its answer: what was said later comes after it.
            let asked = self.place_of(&call).map_or(self.steps.len(), |place| place.answer + 1);
            let after =
                self.steps.iter().skip(asked).position(|s| matches!(s, Step::Answer { .. }));
            let at = after.map_or(self.steps.len(), |after| asked + after);
            self.steps.insert(at, result);
        }
        self
    }

    fn has_begun(&self, id: &str) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Call { call } if call == id))
    }

    pub(crate) fn place_of(&self, id: &str) -> Option<CallPlace> {
        self.steps.iter().enumerate().find_map(|(answer, step)| match step {
            Step::Answer { calls, .. } => {
                let index = calls.iter().position(|call| call.id == id)?;
                Some(CallPlace { answer, index })
            }
            Step::Call { .. } | Step::Result { .. } => None,
        })
    }

    /// Models reuse call ids; the ledger does not.
    pub(crate) fn with_fresh_ids(&self, calls: Vec<Call>) -> Vec<Call> {
        let mut fresh: Vec<Call> = Vec::with_capacity(calls.len());
        for mut call in calls {
            let wanted = text::head(&call.id, 100).to_owned();
            let taken = |id: &str, fresh: &[Call]| {
                self.place_of(id).is_some() || fresh.iter().any(|other| other.id == id)
            };
            call.id.clone_from(&wanted);
            let mut number = 2u32;
            while taken(&call.id, &fresh) {
                call.id = format!("{wanted}-{number}");
                number += 1;
            }
            fresh.push(call);
        }
        fresh
    }

    /// The kind of work that this is, where it is not what the level always does: what was searched for is to be
    /// read and put together.
    pub(crate) fn kind(&self) -> Option<WorkKind> {
        self.calls().any(|call| call.name == WEB_SEARCH).then_some(WorkKind::Research)
    }

    /// How often the model was asked.
    pub(crate) fn answers(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step, Step::Answer { .. })).count()
    }

    pub(crate) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.steps.iter().flat_map(|step| match step {
            Step::Answer { calls, .. } => calls.as_slice(),
            Step::Call { .. } | Step::Result { .. } => &[],
        })
    }

    pub(crate) fn outcome_of(&self, id: &str) -> Option<&Outcome> {
        self.steps.iter().find_map(|step| match step {
            Step::Result { call, outcome } if call == id => Some(outcome),
            Step::Result { .. } | Step::Answer { .. } | Step::Call { .. } => None,
        })
    }

    /// Whether a call of this tool has succeeded.
    pub(crate) fn succeeded(&self, tool: &str) -> bool {
        self.done_of(tool).next().is_some()
    }

    /// The calls of this tool that have succeeded.
    pub(crate) fn done_of(&self, tool: &str) -> impl Iterator<Item = &Call> {
        self.calls().filter(move |call| {
            let ok = |outcome: &Outcome| outcome.status == CallStatus::Ok;
            call.name == tool && self.outcome_of(&call.id).is_some_and(ok)
        })
    }

    /// What was said to the person, answer by answer.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().filter_map(|step| match step {
            Step::Answer { text, .. } => Some(text.as_str()),
            Step::Call { .. } | Step::Result { .. } => None,
        })
    }

    /// The steps as the model sees them. Once arguments and outputs add up to more than `bytes`, the oldest are
    /// shortened: many at a time, so that what the model reads first stays the same for several steps.
    pub(crate) fn messages(&self, bytes: usize) -> Vec<ChatMessage> {
        let half = (bytes / 2).max(OLD_BYTES);
        let over = self.steps.iter().map(size).sum::<usize>().saturating_sub(bytes);
        let cut = over.div_ceil(half).saturating_mul(half);
        let newest = self.steps.iter().rposition(|step| matches!(step, Step::Result { .. }));
        let mut before = 0usize;
        let mut messages: Vec<ChatMessage> = Vec::with_capacity(self.steps.len());
        for (at, step) in self.steps.iter().enumerate() {
            let keep = match before < cut {
                // What came just now is never all but gone.
                true if newest == Some(at) => half,
                true => OLD_BYTES,
                false => usize::MAX,
            };
            before = before.saturating_add(size(step));
            match step {
                Step::Answer { text, calls } if keep < usize::MAX => {
                    let calls: Vec<Call> = calls.iter().map(|call| in_short(call, keep)).collect();
                    messages.push(ChatMessage::answer(text, &calls));
                }
                Step::Answer { text, calls } => messages.push(ChatMessage::answer(text, calls)),
                Step::Result { call, outcome } => {
                    messages.push(ChatMessage::tool(call, told(outcome, keep)));
                }
                Step::Call { .. } => {}
            }
        }
        messages
    }
}

/// How much of the window a step takes beside its words.
fn size(step: &Step) -> usize {
    match step {
        Step::Answer { calls, .. } => calls.iter().map(|call| call.arguments.len()).sum(),
        Step::Result { outcome, .. } => outcome.output.len(),
        Step::Call { .. } => 0,
    }
}

/// A call with its long arguments shortened.
fn in_short(call: &Call, keep: usize) -> Call {
    let Ok(Value::Object(arguments)) = serde_json::from_str(&call.arguments) else {
        return call.clone();
    };
    let short = |value: Value| match value {
        Value::String(long) => Value::String(text::shorten(&long, keep)),
        other => other,
    };
    let arguments: Map<String, Value> =
        arguments.into_iter().map(|(name, value)| (name, short(value))).collect();
    Call { arguments: Value::Object(arguments).to_string(), ..call.clone() }
}

fn told(outcome: &Outcome, keep: usize) -> String {
    let output = text::shorten(&outcome.output, keep);
    match outcome.status {
        CallStatus::Ok | CallStatus::Unknown => output,
        CallStatus::Failed => format!("failed: {output}"),
        CallStatus::Refused => format!("refused: {output}"),
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
