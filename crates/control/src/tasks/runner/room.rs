//! How much one task may put into its ledger. All of that is kept: in memory as long as it runs, in the database
//! for good, with an entry in the audit trail for each step. An honest executor stays far below.

use cloister_protocol::link::Step;

/// What may be kept for each time that the model may be asked: its answer, its calls, what came of them.
const BYTES_PER_ANSWER: usize = 1 << 20;
/// What a step counts for besides what it says.
const BYTES_PER_STEP: usize = 4 << 10;
/// The calls of one answer. An honest agent takes half as many.
const MOST_CALLS: usize = 64;

/// The room in the ledger of one task.
#[derive(Debug)]
pub(super) struct LedgerRoom {
    left: usize,
}

impl LedgerRoom {
    /// What this ledger leaves where the model may be asked so often.
    pub(super) fn beside(ledger: &[Step], answers: u32) -> Self {
        let answers = usize::try_from(answers).unwrap_or(usize::MAX).max(1);
        let mut room = Self { left: answers.saturating_mul(BYTES_PER_ANSWER) };
        ledger.iter().for_each(|step| room.take(step));
        room
    }

    pub(super) fn fits(&self, step: &Step) -> bool {
        let few = match step {
            Step::Answer { calls, .. } => calls.len() <= MOST_CALLS,
            Step::Call { .. } | Step::Result { .. } => true,
        };
        few && weight(step) <= self.left
    }

    pub(super) fn take(&mut self, step: &Step) {
        self.left = self.left.saturating_sub(weight(step));
    }
}

fn weight(step: &Step) -> usize {
    let said = match step {
        Step::Answer { text, calls } => {
            let calls = calls.iter();
            text.len()
                + calls
                    .map(|call| call.id.len() + call.name.len() + call.arguments.len())
                    .sum::<usize>()
        }
        Step::Call { call } => call.len(),
        Step::Result { call, outcome } => call.len() + outcome.output.len(),
    };
    said.saturating_add(BYTES_PER_STEP)
}

#[cfg(test)]
#[path = "room_tests.rs"]
mod tests;
