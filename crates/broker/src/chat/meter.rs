//! What a call may cost is held before it and settled after it.

use std::time::Duration;

use axum::http::StatusCode;
use cloister_control::books::{
    BudgetKind, Entry, Model, NewCall, OverBudget, Reservation, Settlement,
};
use cloister_control::ports::Principal;
use cloister_control::{Books, Metrics, Unanswered};
use cloister_protocol::{ErrorCode, Language, Level, Usage, with_causes};
use tokio::time::sleep;

use super::call::{language_of, runs_platform};
use super::events::Progress;
use super::request::ChatRequest;
use crate::prices::prices_of;
use crate::refusal::Refusal;

/// An answer shorter than this is not worth asking for.
const LEAST_ANSWER_TOKENS: u64 = 256;
/// How long a call waits for others to be settled before it is refused or cut short.
const SETTLING: Duration = Duration::from_millis(100);
/// How often a smaller reservation is tried while other calls take what is left.
const FITTING_ROUNDS: u32 = 4;

/// One attempt's held money and the answer length it pays for.
pub(crate) struct Lease {
    reservation: Reservation,
    pub(crate) max_tokens: u64,
    prompt_price: i64,
    completion_price: i64,
    prompt_estimate: u64,
    prompt_most: u64,
}

/// How far an attempt came; decides what it costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    /// No provider took the request, or it refused it.
    Nobody,
    /// It was sent and may be charged, though nothing came back.
    Sent,
    /// An answer began.
    Answering,
}

impl Lease {
    /// Holds the most that the call can cost, with a shorter answer if only that fits.
    pub(crate) async fn take(
        books: &Books,
        metrics: &Metrics,
        who: Principal,
        level: Level,
        model: &Model,
        request: &ChatRequest,
    ) -> Result<Self, Refusal> {
        let image_tokens = prices_of(&model.model).image_tokens;
        let prompt_most = request.prompt_tokens_at_most(image_tokens);
        let prompt_cost = cost(prompt_most, model.prompt_price);
        let most = u64::from(model.max_output_tokens);
        let mut max_tokens = request.max_tokens.unwrap_or(most).clamp(1, most.max(1));
        let mut refused = None;
        let call = NewCall {
            user: who.user,
            task: who.task,
            level,
            model: &model.name,
            own: model.is_own(),
            entry: call_entry(who, level, model, request),
        };
        for round in 0..FITTING_ROUNDS {
            let amount = prompt_cost.saturating_add(cost(max_tokens, model.completion_price));
            let answer = books
                .reserve(&call, amount)
                .await
                .map_err(|e| Refusal::internal("reserve the cost of a model call", &e))?;
            let over = match answer {
                Ok(reservation) => {
                    return Ok(Self {
                        reservation,
                        max_tokens,
                        prompt_price: model.prompt_price,
                        completion_price: model.completion_price,
                        prompt_estimate: request.prompt_tokens_estimate(image_tokens),
                        prompt_most,
                    });
                }
                Err(over) => over,
            };
            refused = Some(over);
            if round == 0 && over.reserved > 0 {
                sleep(SETTLING).await;
                continue;
            }
            match fitting(&over, prompt_cost, model.completion_price) {
                Some(fits) if fits >= LEAST_ANSWER_TOKENS && fits < max_tokens => max_tokens = fits,
                _ => break,
            }
        }
        Err(match refused {
            Some(over) => {
                metrics.over_budget(match over.kind {
                    BudgetKind::Day => "day",
                    BudgetKind::Task(_) => "task",
                });
                over_budget(books, who, &over).await
            }
            None => Refusal::busy("too many calls share what is left of the budget"),
        })
    }

    /// Books what the attempt really used, and returns it.
    pub(crate) async fn settle(
        self,
        books: &Books,
        reached: Reached,
        progress: &Progress,
    ) -> Settlement {
        let usage = self.used(reached, progress);
        let settlement = Settlement {
            usage: usage.unwrap_or_default(),
            cost: usage.map_or(0, |usage| self.cost_of(usage)),
            // No more was kept than there is.
            cached_tokens: usage.map_or(0, |usage| progress.cached_tokens.min(usage.prompt_tokens)),
        };
        let result = match usage {
            Some(_) => books.settle(self.reservation, settlement).await,
            None => books.release(self.reservation).await,
        };
        if let Err(error) = result {
            // The reservation stays held, and is settled in full at the next start.
            tracing::error!(error = with_causes(&error), "a model call could not be settled");
        }
        settlement
    }

    /// Whether the attempt cost no more than was held for it: a provider may count more than we thought possible.
    pub(crate) fn held_enough(&self, reached: Reached, progress: &Progress) -> bool {
        let cost = self.used(reached, progress).map_or(0, |usage| self.cost_of(usage));
        cost <= self.reservation.amount()
    }

    fn used(&self, reached: Reached, progress: &Progress) -> Option<Usage> {
        match reached {
            Reached::Nobody => None,
            Reached::Sent => {
                Some(Usage { prompt_tokens: self.prompt_estimate, completion_tokens: 0 })
            }
            Reached::Answering => Some(self.usage_of(progress)),
        }
    }

    /// What the provider reports, if its answer is whole; else at least what can be seen.
    fn usage_of(&self, progress: &Progress) -> Usage {
        let seen = Usage {
            prompt_tokens: self.prompt_estimate,
            completion_tokens: progress.completion_tokens_estimate().min(self.max_tokens),
        };
        let reported = progress.usage.map(|reported| Usage {
            prompt_tokens: reported.prompt_tokens.min(plausible(self.prompt_most)),
            completion_tokens: reported.completion_tokens.min(plausible(self.max_tokens)),
        });
        match reported {
            Some(reported) if progress.finished => reported,
            Some(reported) => Usage {
                prompt_tokens: reported.prompt_tokens.max(seen.prompt_tokens),
                completion_tokens: reported.completion_tokens.max(seen.completion_tokens),
            },
            None => seen,
        }
    }

    fn cost_of(&self, usage: Usage) -> i64 {
        cost(usage.prompt_tokens, self.prompt_price)
            .saturating_add(cost(usage.completion_tokens, self.completion_price))
    }
}

/// As many tokens a provider may report where so many were sent or paid for at most: it may count what it adds, and
/// what was thought, but not anything at all.
fn plausible(most: u64) -> u64 {
    most.saturating_mul(2).saturating_add(4096)
}

/// The call as the audit trail has it: what the model is shown, so that it can be proved.
fn call_entry(who: Principal, level: Level, model: &Model, request: &ChatRequest) -> Entry {
    let subject = who.task.map_or_else(|| "coordinator".to_owned(), |task| task.to_string());
    let detail = format!("{level} {}: shown {}", model.name, request.print());
    Entry::of_cell((who.workspace, who.task), "model.call", subject).with(detail)
}

fn cost(tokens: u64, price: i64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX).saturating_mul(price.max(0))
}

/// How many tokens of an answer what is left would pay for.
fn fitting(over: &OverBudget, prompt_cost: i64, completion_price: i64) -> Option<u64> {
    let left = over.available().checked_sub(prompt_cost).filter(|left| *left > 0)?;
    left.checked_div(completion_price).map(i64::unsigned_abs)
}

async fn over_budget(books: &Books, who: Principal, over: &OverBudget) -> Refusal {
    let name = match books.owner_of(who.workspace).await {
        Ok(user) => user.name.to_string(),
        Err(error) => {
            tracing::warn!(error = with_causes(&error), workspace = %who.workspace, "the name of a user was not found");
            "NAME".to_owned()
        }
    };
    let to = language_of(books, who).await;
    let fix = match (over.kind, runs_platform(books, who).await) {
        (BudgetKind::Day, true) => {
            format!(
                "Raise it with `cloister budget set {name} --daily USD`, or wait for tomorrow (UTC)."
            )
        }
        (BudgetKind::Task(_), true) => {
            format!(
                "Raise it for new tasks with `cloister budget set {name} --task USD`, then ask again."
            )
        }
        (BudgetKind::Day, false) => Unanswered::DaySpent.fix(to),
        (BudgetKind::Task(_), false) => Unanswered::TaskSpent.fix(to),
    };
    let message = match (to, over.kind) {
        // With all its numbers; they are in `/budget` for everybody.
        (Language::En, _) => over.to_string(),
        (_, BudgetKind::Day) => Unanswered::DaySpent.message(to),
        (_, BudgetKind::Task(_)) => Unanswered::TaskSpent.message(to),
    };
    Refusal::new(StatusCode::PAYMENT_REQUIRED, ErrorCode::OverBudget, message)
        .fix(fix)
        .at_limit(*over)
}
