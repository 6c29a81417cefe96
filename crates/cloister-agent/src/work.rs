//! The one loop of coordinator and executor: ask the model, journal, act, journal, until it is done.

use std::future::Future;

use cloister_protocol::link::{Call, Outcome, Step};

use crate::guard::{self, LoopLimits, Looping};
use crate::ledger::{CallPlace, Ledger, Next};
use crate::model::ModelAnswer;

/// Whether a call runs for the first time, or an earlier attempt ended while it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    First,
    Again,
}

/// Why the loop ended without a last answer.
#[derive(Debug)]
pub(crate) enum Halt<S> {
    Looping(Looping),
    Stopped(S),
}

impl<S> From<S> for Halt<S> {
    fn from(stop: S) -> Self {
        Self::Stopped(stop)
    }
}

/// What the loop needs from whoever runs it.
pub(crate) trait Work {
    /// Why it can't go on.
    type Stop: Send;

    /// Asks the model, showing its text as it comes.
    fn ask(
        &mut self,
        ledger: &Ledger,
    ) -> impl Future<Output = Result<ModelAnswer, Self::Stop>> + Send;

    /// Makes a step durable; it takes effect only after this.
    fn record(
        &mut self,
        at: usize,
        step: &Step,
    ) -> impl Future<Output = Result<(), Self::Stop>> + Send;

    /// A call that is refused before it is even tried.
    fn refuse(&self, ledger: &Ledger, call: &Call) -> Option<Outcome>;

    fn act(
        &mut self,
        call: &Call,
        place: CallPlace,
        attempt: Attempt,
    ) -> impl Future<Output = Result<Outcome, Self::Stop>> + Send;
}

/// Runs from wherever the ledger stands until the model has given its last answer.
pub(crate) async fn run<W: Work + Send>(
    work: &mut W,
    ledger: &mut Ledger,
    limits: LoopLimits,
) -> Result<(), Halt<W::Stop>> {
    loop {
        match ledger.next() {
            Next::Done => return Ok(()),
            Next::AskModel => {
                let looping = guard::check_repeats(ledger, limits)
                    .or_else(|| guard::check_steps(ledger, limits));
                if let Some(looping) = looping {
                    return Err(Halt::Looping(looping));
                }
                let ModelAnswer { text, mut calls, .. } = work.ask(ledger).await?;
                if limits.one_call {
                    calls.truncate(1);
                }
                let calls = ledger.with_fresh_ids(calls);
                append(work, ledger, Step::Answer { text, calls }).await?;
            }
            Next::Start(call) => {
                if let Some(looping) = guard::check_repeats(ledger, limits) {
                    return Err(Halt::Looping(looping));
                }
                let outcome = match work.refuse(ledger, &call) {
                    Some(refused) => refused,
                    None => {
                        append(work, ledger, Step::Call { call: call.id.clone() }).await?;
                        act(work, ledger, &call, Attempt::First).await?
                    }
                };
                append(work, ledger, Step::Result { call: call.id, outcome }).await?;
            }
            Next::Resume(call) => {
                let outcome = act(work, ledger, &call, Attempt::Again).await?;
                append(work, ledger, Step::Result { call: call.id, outcome }).await?;
            }
        }
    }
}

async fn append<W: Work + Send>(
    work: &mut W,
    ledger: &mut Ledger,
    step: Step,
) -> Result<(), W::Stop> {
    work.record(ledger.len(), &step).await?;
    ledger.push(step);
    Ok(())
}

async fn act<W: Work + Send>(
    work: &mut W,
    ledger: &Ledger,
    call: &Call,
    attempt: Attempt,
) -> Result<Outcome, W::Stop> {
    // A call that is to run was asked for by some answer of this ledger.
    let place = ledger.place_of(&call.id).unwrap_or(CallPlace { answer: 0, index: 0 });
    work.act(call, place, attempt).await
}
