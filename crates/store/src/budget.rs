//! Budgets: what a model call may cost is reserved before it and settled after it.
//!
//! At a limit a person is asked for more (`raises`); until they answer, it holds.
//!
//! A limit holds because the check and the reservation are one statement: whatever runs in parallel, settled cost plus open reservations never pass the day's limit of a user, nor the limit
//! of a task or of any task above it. Money is in nano-dollars.

use std::fmt;

use cloister_protocol::{Level, TaskId, Usage, UserId};

use crate::audit::{self, ChainEnd, end_of_chain, write_entry};
use crate::beside::Deed;
use crate::db::{Follows, Outlives};
use crate::error::{StoreError, Tried, corrupt, not_found};
use crate::readers::Reader;
use crate::tasks::Tasks;

/// An amount of money as people read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dollars(pub i64);

impl fmt::Display for Dollars {
    /// Whole cents, and as many further digits (up to millionths) as the amount has.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        // Rounded up, so that a cost is never shown as nothing.
        let millionths = self.0.unsigned_abs().div_ceil(1_000);
        let (whole, rest) = (millionths / 1_000_000, millionths % 1_000_000);
        let digits = format!("{rest:06}");
        let shown = digits.trim_end_matches('0');
        write!(f, "{sign}${whole}.{shown:0<2}")
    }
}

/// Which limit a call would pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetKind {
    /// The user's limit of a UTC day.
    Day,
    /// The limit of the call's task, or of a task above it.
    Task(TaskId),
}

/// A reservation that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverBudget {
    pub kind: BudgetKind,
    pub limit: i64,
    pub spent: i64,
    /// What calls under way may still cost.
    pub reserved: i64,
    pub wanted: i64,
}

impl OverBudget {
    /// The most that a call could have reserved.
    pub fn available(&self) -> i64 {
        self.limit.saturating_sub(self.spent).saturating_sub(self.reserved).max(0)
    }
}

impl fmt::Display for OverBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = Dollars(self.limit);
        match self.kind {
            BudgetKind::Day => write!(f, "the budget of {limit} for today does not allow this")?,
            BudgetKind::Task(task) => write!(f, "the budget of {limit} of task {task} is used up")?,
        }
        write!(f, ": {} spent", Dollars(self.spent))?;
        if self.reserved > 0 {
            write!(f, ", {} held for calls under way", Dollars(self.reserved))?;
        }
        write!(f, ", up to {} wanted", Dollars(self.wanted))
    }
}

/// Money that is held for one model call. Settle it or release it; a reservation that outlives its
/// control plane is settled at its full amount.
#[derive(Debug)]
#[must_use = "money stays held until it is settled or released"]
pub struct Reservation {
    id: i64,
    amount: i64,
}

impl Reservation {
    pub fn amount(&self) -> i64 {
        self.amount
    }
}

/// What a call really used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settlement {
    pub usage: Usage,
    pub cost: i64,
    /// Prompt tokens that the provider says it had kept and did not read anew.
    pub cached_tokens: u64,
}

/// A limit and what is left of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct BudgetState {
    pub limit: i64,
    pub spent: i64,
    pub reserved: i64,
}

impl BudgetState {
    fn refuse(&self, kind: BudgetKind, wanted: i64) -> Option<OverBudget> {
        let Self { limit, spent, reserved } = *self;
        let after = spent.saturating_add(reserved).saturating_add(wanted);
        // What is free never passes a limit, not even one that was lowered below what is spent.
        (wanted > 0 && after > limit).then_some(OverBudget { kind, limit, spent, reserved, wanted })
    }
}

/// What one user's level used of one model on one day.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct UsageRow {
    pub user: UserId,
    pub day: String,
    pub level: String,
    pub model: String,
    pub calls: u64,
    pub usage: Usage,
    pub cost: i64,
    /// Prompt tokens that the provider had kept.
    pub cached_tokens: u64,
}

/// A model call that is about to be made.
#[derive(Clone, Debug)]
pub struct NewCall<'a> {
    pub user: UserId,
    pub task: Option<TaskId>,
    pub level: Level,
    pub model: &'a str,
    /// The person pays for it themselves: no limit of theirs here is about it.
    pub own: bool,
    /// What the audit trail has of it: no entry, no call.
    pub entry: audit::Entry,
}

/// Inserts a reservation if every limit allows it. One statement, for the atomicity and because it
/// is on the way of every answer; on the same way is read where the audit chain ends.
const RESERVE: &str = concat!(
    "\
    WITH RECURSIVE \
      line (id, parent_id, budget, spent) AS ( \
        SELECT id, parent_id, budget, spent FROM tasks WHERE id = ?2 \
        UNION ALL \
        SELECT t.id, t.parent_id, t.budget, t.spent FROM tasks t JOIN line ON t.id = line.parent_id), \
      held (id, amount) AS ( \
        SELECT task_id, amount FROM reservations \
        WHERE ?2 IS NOT NULL AND user_id = ?1 AND task_id IS NOT NULL AND own = 0 \
        UNION ALL \
        SELECT t.parent_id, held.amount FROM tasks t JOIN held ON t.id = held.id \
        WHERE t.parent_id IS NOT NULL) \
    INSERT INTO reservations (user_id, task_id, day, level, model, amount, created_at, own) \
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 \
    WHERE EXISTS (SELECT 1 FROM users WHERE id = ?1) \
      AND (?2 IS NULL OR EXISTS (SELECT 1 FROM line)) \
      AND (?6 = 0 OR ?8 = 1 OR ( \
        (SELECT daily_budget FROM users WHERE id = ?1) \
          + (SELECT COALESCE(SUM(amount), 0) FROM budget_extra WHERE user_id = ?1 AND day = ?3) >= ?6 \
          + (SELECT COALESCE(SUM(cost), 0) FROM usage WHERE user_id = ?1 AND day = ?3) \
          + (SELECT COALESCE(SUM(amount), 0) FROM reservations \
              WHERE user_id = ?1 AND day = ?3 AND own = 0) \
        AND NOT EXISTS ( \
          SELECT 1 FROM line WHERE spent + ?6 \
            + (SELECT COALESCE(SUM(amount), 0) FROM held WHERE held.id = line.id) > budget))) \
    RETURNING id, NULL, NULL; ",
    end_of_chain!("?9"),
);

/// Turns reservations into usage, and into what their tasks and those above them have spent; done before, it does
/// nothing. They are rows of JSON: `Settled`.
macro_rules! settle {
    ($calls:literal) => {
        concat!(
            "WITH call AS (",
            settle!(rows $calls),
            ") \
             INSERT INTO usage (user_id, day, level, model, calls, prompt_tokens, completion_tokens, cost, \
                 cached_tokens) \
               SELECT user_id, day, level, model, 1, prompt, completion, cost, cached \
               FROM call JOIN reservations r ON r.id = call.held WHERE own = 0 \
               ON CONFLICT (user_id, day, level, model) DO UPDATE SET calls = calls + 1, \
               prompt_tokens = prompt_tokens + excluded.prompt_tokens, \
               completion_tokens = completion_tokens + excluded.completion_tokens, cost = cost + excluded.cost, \
               cached_tokens = cached_tokens + excluded.cached_tokens; \
             WITH call AS (",
            settle!(rows $calls),
            ") \
             INSERT INTO own_usage (user_id, day, level, model, calls, prompt_tokens, completion_tokens, cost, \
                 cached_tokens) \
               SELECT user_id, day, level, model, 1, prompt, completion, cost, cached \
               FROM call JOIN reservations r ON r.id = call.held WHERE own <> 0 \
               ON CONFLICT (user_id, day, level, model) DO UPDATE SET calls = calls + 1, \
               prompt_tokens = prompt_tokens + excluded.prompt_tokens, \
               completion_tokens = completion_tokens + excluded.completion_tokens, cost = cost + excluded.cost, \
               cached_tokens = cached_tokens + excluded.cached_tokens; \
             WITH RECURSIVE call AS (",
            settle!(rows $calls),
            "), line (id, parent_id, cost) AS ( \
                 SELECT t.id, t.parent_id, call.cost FROM call JOIN reservations r ON r.id = call.held \
                   JOIN tasks t ON t.id = r.task_id WHERE r.own = 0 \
                 UNION ALL \
                 SELECT t.id, t.parent_id, line.cost FROM tasks t JOIN line ON t.id = line.parent_id) \
               UPDATE tasks SET spent = spent + (SELECT sum(cost) FROM line WHERE line.id = tasks.id) \
               WHERE id IN (SELECT id FROM line); \
             DELETE FROM reservations WHERE id IN (SELECT json_extract(value, '$[0]') FROM json_each(",
            $calls,
            "))"
        )
    };
    (rows $calls:literal) => {
        concat!(
            "SELECT json_extract(value, '$[0]') AS held, json_extract(value, '$[1]') AS prompt, \
             json_extract(value, '$[2]') AS completion, json_extract(value, '$[3]') AS cost, \
             json_extract(value, '$[4]') AS cached FROM json_each(",
            $calls,
            ")"
        )
    };
}
pub(crate) use settle;

/// A reservation, the tokens of the prompt and of the answer, what they cost, and how much of the prompt was kept.
pub(crate) type Settled = (i64, i64, i64, i64, i64);

/// How often a reservation is tried again that was refused and would fit a moment later.
const RESERVE_ROUNDS: u32 = 4;

impl Tasks {
    /// Holds `amount` for one call and records the call, or says which limit it would pass.
    pub async fn reserve(
        &self,
        call: &NewCall<'_>,
        amount: i64,
    ) -> Result<Result<Reservation, OverBudget>, StoreError> {
        let NewCall { user, task, level, model, own, entry } = call;
        let (user, task) = (*user, *task);
        let amount = amount.max(0);
        let day = self.store.clock.today();
        let workspace = entry.workspace();
        let workspace = workspace.ok_or_else(|| corrupt("entry of a call", "of no workspace"))?;
        for _ in 0..RESERVE_ROUNDS {
            let now = self.store.clock.now_ms();
            let reserve = sqlx::query(RESERVE)
                .bind(user.number())
                .bind(task.map(TaskId::number))
                .bind(day.clone())
                .bind(level.as_str())
                .bind((*model).to_owned())
                .bind(amount)
                .bind(now)
                .bind(i64::from(*own))
                .bind(workspace.number());
            let entry = entry.clone();
            // A call that a power cut makes forgotten is made again, by the same turn.
            let reserved = self.store.write_turn(
                (Outlives::Kills, "reserve the cost of a call"),
                reserve,
                move |mut rows: Vec<ChainEnd>| {
                    let end = rows.pop().ok_or_else(|| not_found("workspace", workspace))?;
                    let Some(&(id, _, _)) = rows.first() else { return Ok((Follows::Undo, None)) };
                    let entry = audit::next_entry(sqlx::query(write_entry!()), end, now, entry)?;
                    Ok((Follows::Last(entry), Some(Reservation { id, amount })))
                },
            );
            if let Some(reservation) = reserved.await? {
                return Ok(Ok(reservation));
            }
            // Nothing to say if other calls have just given back what was missing: it fits now.
            if let Some(over) = self.why_refused(user, task, &day, amount).await? {
                return Ok(Err(over));
            }
        }
        let BudgetState { limit, spent, reserved } = self.budget_state(user).await?;
        Ok(Err(OverBudget { kind: BudgetKind::Day, limit, spent, reserved, wanted: amount }))
    }

    async fn why_refused(
        &self,
        user: UserId,
        task: Option<TaskId>,
        day: &str,
        amount: i64,
    ) -> Result<Option<OverBudget>, StoreError> {
        let state = day_state(self.store.reader(), user, day).await?;
        if let Some(over) = state.refuse(BudgetKind::Day, amount) {
            return Ok(Some(over));
        }
        let Some(task) = task else { return Ok(None) };
        let states = task_states(self.store.reader(), user, task).await?;
        let refuse =
            |(id, state): &(TaskId, BudgetState)| state.refuse(BudgetKind::Task(*id), amount);
        Ok(states.iter().find_map(refuse))
    }

    /// Turns a reservation into usage.
    pub async fn settle(
        &self,
        reservation: Reservation,
        settlement: Settlement,
    ) -> Result<(), StoreError> {
        let what = "settle a call";
        let deed = Deed::Settled(settled(reservation.id, settlement));
        if settlement.cost > reservation.amount {
            return self.store.beside.note_at_once(deed, what).await;
        }
        // Nobody waits for it, and until then the whole amount is held.
        self.store.beside.note(deed, what).await
    }

    /// Gives a reservation back: its call never reached a provider.
    pub async fn release(&self, reservation: Reservation) -> Result<(), StoreError> {
        let release = sqlx::query("DELETE FROM reservations WHERE id = ?").bind(reservation.id);
        self.store.write_one((Outlives::Kills, "release a reservation"), release).await
    }

    /// Settles, at their full amount, the reservations that a killed control plane left behind.
    /// For the start, before the first call. Returns how many there were.
    pub async fn settle_leftovers(&self) -> Result<usize, StoreError> {
        let mut tx = self.store.begin().await?;
        let held: Vec<(i64, i64)> =
            sqlx::query_as("SELECT id, amount FROM reservations ORDER BY id")
                .fetch_all(&mut *tx)
                .await
                .tried("list reservations")?;
        let full = |cost| Settlement { usage: Usage::default(), cost, cached_tokens: 0 };
        let all: Vec<Settled> =
            held.iter().map(|(id, amount)| settled(*id, full(*amount))).collect();
        let all = serde_json::to_string(&all).map_err(|e| corrupt("reservations", e))?;
        tx.commit_after(sqlx::query(settle!("?1")).bind(all))
            .await
            .tried("settle the reservations of an earlier run")?;
        Ok(held.len())
    }

    /// Where a user stands today.
    pub async fn budget_state(&self, user: UserId) -> Result<BudgetState, StoreError> {
        day_state(self.store.reader(), user, &self.store.clock.today()).await
    }

    /// Where a task stands; what its sub-tasks spend is in it.
    pub async fn task_budget_state(
        &self,
        user: UserId,
        task: TaskId,
    ) -> Result<BudgetState, StoreError> {
        let states = task_states(self.store.reader(), user, task).await?;
        let own = states.into_iter().find(|(id, _)| *id == task);
        own.map(|(_, state)| state).ok_or_else(|| not_found("task", task))
    }

    /// Usage since a day (`2026-01-31`; all of it without one), of one user or of all.
    pub async fn usage(
        &self,
        user: Option<UserId>,
        since: Option<&str>,
    ) -> Result<Vec<UsageRow>, StoreError> {
        self.read_usage(
            "SELECT user_id, day, level, model, calls, prompt_tokens, completion_tokens, cost, cached_tokens \
             FROM usage WHERE (?1 IS NULL OR user_id = ?1) AND day >= ?2 \
             ORDER BY day, user_id, level, model",
            (user, since),
        )
        .await
    }

    /// The same of models that people connected, and pay for, themselves.
    pub async fn own_usage(
        &self,
        user: Option<UserId>,
        since: Option<&str>,
    ) -> Result<Vec<UsageRow>, StoreError> {
        self.read_usage(
            "SELECT user_id, day, level, model, calls, prompt_tokens, completion_tokens, cost, cached_tokens \
             FROM own_usage WHERE (?1 IS NULL OR user_id = ?1) AND day >= ?2 \
             ORDER BY day, user_id, level, model",
            (user, since),
        )
        .await
    }

    /// What was used today of models that people pay for themselves, in nano-dollars.
    pub async fn own_spent_today(&self, user: Option<UserId>) -> Result<i64, StoreError> {
        let rows = self.own_usage(user, Some(&self.store.clock.today())).await?;
        Ok(rows.iter().map(|row| row.cost).sum())
    }

    /// What a model of everybody's was shown since a day, and how much of that its provider had kept: in tokens.
    pub async fn kept_of_prompts(
        &self,
        model: &str,
        since: &str,
    ) -> Result<(u64, u64), StoreError> {
        let sums: (i64, i64) = sqlx::query_as(
            "SELECT COALESCE(SUM(prompt_tokens), 0), COALESCE(SUM(cached_tokens), 0) \
             FROM usage WHERE model = ? AND day >= ?",
        )
        .bind(model)
        .bind(since)
        .fetch_one(self.store.reader())
        .await
        .tried("read what a provider had kept")?;
        Ok((sums.0.unsigned_abs(), sums.1.unsigned_abs()))
    }

    async fn read_usage(
        &self,
        query: &'static str,
        (user, since): (Option<UserId>, Option<&str>),
    ) -> Result<Vec<UsageRow>, StoreError> {
        let rows: Vec<UsageDbRow> = sqlx::query_as(query)
            .bind(user.map(UserId::number))
            .bind(since.unwrap_or(""))
            .fetch_all(self.store.reader())
            .await
            .tried("read the usage")?;
        Ok(rows.into_iter().map(UsageDbRow::into_usage).collect())
    }
}

struct UsageDbRow {
    user_id: u32,
    day: String,
    level: String,
    model: String,
    calls: i64,
    prompt_tokens: i64,
    completion_tokens: i64,
    cost: i64,
    cached_tokens: i64,
}

from_row!(UsageDbRow {
    user_id,
    day,
    level,
    model,
    calls,
    prompt_tokens,
    completion_tokens,
    cost,
    cached_tokens,
});

impl UsageDbRow {
    fn into_usage(self) -> UsageRow {
        UsageRow {
            user: UserId::from_number(self.user_id),
            day: self.day,
            level: self.level,
            model: self.model,
            calls: self.calls.unsigned_abs(),
            usage: Usage {
                prompt_tokens: self.prompt_tokens.unsigned_abs(),
                completion_tokens: self.completion_tokens.unsigned_abs(),
            },
            cost: self.cost,
            cached_tokens: self.cached_tokens.unsigned_abs(),
        }
    }
}

async fn day_state(reader: Reader<'_>, user: UserId, day: &str) -> Result<BudgetState, StoreError> {
    let row: Option<(i64, i64, i64)> = sqlx::query_as(
        "SELECT u.daily_budget \
           + (SELECT COALESCE(SUM(amount), 0) FROM budget_extra WHERE user_id = u.id AND day = ?2), \
         (SELECT COALESCE(SUM(cost), 0) FROM usage WHERE user_id = u.id AND day = ?2), \
         (SELECT COALESCE(SUM(amount), 0) FROM reservations \
            WHERE user_id = u.id AND day = ?2 AND own = 0) \
         FROM users u WHERE u.id = ?1",
    )
    .bind(user.number())
    .bind(day)
    .fetch_optional(reader)
    .await
    .tried("read the budget of a user")?;
    let (limit, spent, reserved) = row.ok_or_else(|| not_found("user", user))?;
    Ok(BudgetState { limit, spent, reserved })
}

/// The task and every task above it, each with what it and the tasks below it hold.
async fn task_states(
    reader: Reader<'_>,
    user: UserId,
    task: TaskId,
) -> Result<Vec<(TaskId, BudgetState)>, StoreError> {
    let rows: Vec<(u32, i64, i64, i64)> = sqlx::query_as(
        "WITH RECURSIVE \
           line (id, parent_id, budget, spent) AS ( \
             SELECT id, parent_id, budget, spent FROM tasks WHERE id = ?2 \
             UNION ALL \
             SELECT t.id, t.parent_id, t.budget, t.spent FROM tasks t JOIN line ON t.id = line.parent_id), \
           held (id, amount) AS ( \
             SELECT task_id, amount FROM reservations \
             WHERE user_id = ?1 AND task_id IS NOT NULL AND own = 0 \
             UNION ALL \
             SELECT t.parent_id, held.amount FROM tasks t JOIN held ON t.id = held.id \
             WHERE t.parent_id IS NOT NULL) \
         SELECT id, budget, spent, \
           (SELECT COALESCE(SUM(amount), 0) FROM held WHERE held.id = line.id) FROM line",
    )
    .bind(user.number())
    .bind(task.number())
    .fetch_all(reader)
    .await
    .tried("read the budget of a task")?;
    if rows.is_empty() {
        return Err(not_found("task", task));
    }
    let state = |(id, limit, spent, reserved)| {
        (TaskId::from_number(id), BudgetState { limit, spent, reserved })
    };
    Ok(rows.into_iter().map(state).collect())
}

fn settled(id: i64, settlement: Settlement) -> Settled {
    let tokens = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let Settlement { usage, cost, cached_tokens } = settlement;
    let (prompt, completion) = (tokens(usage.prompt_tokens), tokens(usage.completion_tokens));
    (id, prompt, completion, cost.max(0), tokens(cached_tokens))
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
