//! The steps of an attempt: journaled before they take effect, and a call only with what let it through.

use cloister_policy::Decision;
use cloister_protocol::Level;
use cloister_protocol::link::{CallStatus, Outcome, Step};
use cloister_store::audit::Entry;
use cloister_store::grants::{Passing, Recorded};
use cloister_store::ledger::{Called, Journaled, SaidStep};

use super::{Attempt, Over};
use crate::error::Fault;
use crate::gates::CallGate;
use crate::tasks::TaskError;

impl Attempt<'_> {
    /// Puts a step into the ledger; or says why the attempt is over.
    pub(super) async fn journal(
        &mut self,
        seq: u32,
        step: Step,
    ) -> Result<Option<Over>, TaskError> {
        let at = usize::try_from(seq).unwrap_or(usize::MAX);
        let known = self.ledger.get(at).is_some_and(|there| *there == step);
        if !known && !self.room.fits(&step) {
            self.control.metrics().loop_stopped("steps");
            let reason = "it was stopped: it put more into its ledger than a task may".to_owned();
            return Ok(Some(Over::Refused(reason)));
        }
        let Some(said) = SaidStep::of(&step) else {
            return match step {
                // SaidStep again after a lost connection: it has passed already.
                Step::Call { .. } if known => Ok(None),
                Step::Call { call } => self.make_call(seq, call).await,
                Step::Answer { .. } | Step::Result { .. } => Ok(None),
            };
        };
        let (ran, asked) =
            (matches!(step, Step::Result { .. }), matches!(step, Step::Answer { .. }));
        if asked && !known && self.is_out_of_steps() {
            self.control.metrics().loop_stopped("steps");
            let reason = "it was stopped: it asked the model as often as a task may".to_owned();
            return Ok(Some(Over::Refused(reason)));
        }
        let stored =
            self.control.store().tasks().append_said(self.task.id, seq, said, Vec::new()).await?;
        if let Some(over) = self.stored(seq, step, stored) {
            return Ok(Some(over));
        }
        if asked && !self.warned {
            self.warned = self.control.tasks().warn_of_task_budget(self.task).await?;
        }
        if ran && self.control.gates().take_unanswered(self.task.id) {
            // Something that this call wanted waits for a person, and so does the task from here on.
            let waits = self.control.store().approvals().park(self.task.id).await?;
            return Ok(Some(if waits { Over::Parked } else { Over::Again }));
        }
        Ok(None)
    }

    /// Whether the model was asked as often as a task may; an honest executor does not ask again.
    fn is_out_of_steps(&self) -> bool {
        let answers = self.ledger.iter().filter(|step| matches!(step, Step::Answer { .. })).count();
        let most = usize::try_from(self.control.work().max_steps).unwrap_or(usize::MAX).max(1);
        answers >= most
    }

    /// What follows from a step that was to be journaled.
    fn stored(&mut self, seq: u32, step: Step, stored: Journaled) -> Option<Over> {
        match stored {
            Journaled::Stored => {}
            Journaled::GrantEnded => return Some(Over::Again),
            Journaled::Conflict => {
                return Some(Over::Refused("its steps do not follow the ledger".to_owned()));
            }
        }
        self.show_step(&step);
        if usize::try_from(seq).is_ok_and(|seq| seq == self.ledger.len()) {
            self.room.take(&step);
            self.ledger.push(step);
        }
        None
    }

    async fn append_call(
        &mut self,
        seq: u32,
        call: String,
        passing: Passing,
    ) -> Result<Result<Option<Recorded>, Over>, Fault> {
        let tasks = self.control.store().tasks();
        let (recorded, stored) = match tasks.append_call(self.task.id, seq, &call, passing).await? {
            Called::New(recorded) => (Some(recorded), Journaled::Stored),
            Called::Known => (None, Journaled::Stored),
            Called::Conflict => (None, Journaled::Conflict),
            Called::GrantEnded => (None, Journaled::GrantEnded),
        };
        Ok(match self.stored(seq, Step::Call { call }, stored) {
            Some(over) => Err(over),
            None => Ok(recorded),
        })
    }

    async fn append_result(
        &mut self,
        seq: u32,
        (call, outcome): (String, Outcome),
        noted: Vec<Entry>,
    ) -> Result<Over, Fault> {
        let step = Step::Result { call, outcome };
        if let Some(said) = SaidStep::of(&step) {
            let tasks = self.control.store().tasks();
            let stored = tasks.append_said(self.task.id, seq, said, noted).await?;
            if let Some(over) = self.stored(seq, step, stored) {
                return Ok(over);
            }
        }
        // The executor believes that it may run: only one that starts from the ledger knows.
        Ok(Over::Again)
    }

    /// Lets a call through; or says why the attempt is over.
    async fn make_call(&mut self, seq: u32, call: String) -> Result<Option<Over>, TaskError> {
        let Some(known) = self.call(&call).cloned() else {
            let reason = "a call was made that no answer of the model has".to_owned();
            return Ok(Some(Over::Refused(reason)));
        };
        let allowed = cloister_policy::may_call(Level::Executor, &known.name, self.plan_pending);
        if let Decision::Deny { reason } = allowed {
            return Ok(Some(Over::Refused(format!("a step was refused: {reason}"))));
        }
        if let Some(found) = cloister_policy::looping(&self.ledger) {
            self.control.metrics().loop_stopped("calls");
            return Ok(Some(Over::Refused(found.to_string())));
        }
        match self.control.gates().gate_call(self.task.id, &known).await? {
            CallGate::Run(passing) => Ok(self.append_call(seq, call, passing).await?.err()),
            CallGate::Wait => Ok(Some(Over::Parked)),
            CallGate::Stopped => Ok(Some(Over::Stopped)),
            CallGate::Delete { files, passing } => {
                Ok(self.delete_sent(seq, call, files, passing).await.map(Some)?)
            }
            CallGate::Refuse { reason, noted } => {
                let outcome = Outcome { status: CallStatus::Refused, output: reason };
                Ok(self.append_result(seq, (call, outcome), noted).await.map(Some)?)
            }
        }
    }

    /// Deletes what people sent, as they allowed it: in the ledger before and after, like any call.
    async fn delete_sent(
        &mut self,
        seq: u32,
        call: String,
        files: Vec<String>,
        passing: Passing,
    ) -> Result<Over, Fault> {
        let recorded = match self.append_call(seq, call.clone(), passing).await? {
            Ok(Some(recorded)) => recorded,
            // Journaled by another attempt: whoever starts from the ledger finds it there.
            Ok(None) => return Ok(Over::Again),
            Err(over) => return Ok(over),
        };
        let (outcome, noted) = self.control.gates().delete_sent(self.task, files, recorded).await?;
        self.append_result(seq.saturating_add(1), (call, outcome), noted).await
    }
}
