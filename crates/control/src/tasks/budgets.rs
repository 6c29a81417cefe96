//! Budgets as people see them: where they stand, and the question for more at a limit.
//!
//! A limit holds until somebody has raised it: a task that runs into one waits with its ledger, and a turn
//! says so. A task's own limit is raised by whom it works for, a day's by whoever may change budgets.

use cloister_policy::Class;
use cloister_policy::gate::{Reading, visible};
use cloister_protocol::{Answer, ChatId, Language, TaskId, UserName, WorkspaceId};
use cloister_store::Actor;
use cloister_store::approvals::{Approval, ApprovalKind, ApprovalState, NewApproval};
use cloister_store::raises::Raise;
use cloister_store::tasks::Task;
use cloister_store::users::User;
use cloister_store::{BudgetKind, Dollars, OverBudget};
use cloister_words::say;
use sha2::{Digest, Sha256};

use crate::error::Fault;
use crate::options::nano_to_usd;
use crate::ports::{More, Principal};
use crate::tasks::Tasks;

/// The share of a daily budget at which the person is warned.
const WARN_PERCENT: i64 = 80;

impl Tasks {
    /// Tells the person, once a day, that the budget is nearly used up.
    pub(crate) async fn warn_of_budget(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<(), Fault> {
        let user = self.control.store().users().user_of(workspace).await?;
        let state = self.control.store().tasks().budget_state(user.id).await?;
        if state.spent == 0 || state.spent < state.limit / 100 * WARN_PERCENT {
            return Ok(());
        }
        let to = self.control.people().languages().language_of(user.id).await?;
        let text = say!(
            to,
            "{budget}. At the limit nothing more is spent; whoever runs this machine can raise it.",
            budget = self.budget_line(&user, to).await?
        );
        let key = format!("budget-{}-{}", self.control.store().clock.today(), state.limit);
        self.control.notices().tell_once(workspace, chat, &key, text).await
    }

    /// Tells whom a task works for, once for each limit, that it is nearly used up.
    pub(crate) async fn warn_of_task_budget(&self, task: &Task) -> Result<bool, Fault> {
        let owner = self.control.store().users().user_of(task.workspace).await?.id;
        let state = self.control.store().tasks().task_budget_state(owner, task.id).await?;
        if state.spent == 0 || state.spent < state.limit / 100 * WARN_PERCENT {
            return Ok(false);
        }
        let to = self.control.people().languages().language_of(task.person).await?;
        let text = say!(
            to,
            "Task {task} has spent {spent} of its {limit}. At the limit you are asked for more.",
            task = task.id,
            spent = Dollars(state.spent),
            limit = Dollars(state.limit)
        );
        let key = format!("budget-{}-{}", task.id, state.limit);
        self.control.notices().tell_once(task.workspace, task.chat, &key, text).await?;
        Ok(true)
    }

    /// A model call would pass a limit. Asks people for more, once for that limit; a task waits.
    pub(crate) async fn out_of_budget(&self, who: Principal, over: OverBudget) -> More {
        match self.ask_for_more(who, &over).await {
            Ok(approval) if approval.state == ApprovalState::Pending => {
                if let Some(running) = who.task.and_then(|task| self.parked_of(task)) {
                    running.cancel();
                }
                More::Asked(approval.id)
            }
            Ok(approval) => More::Refused(approval.id),
            Err(error) => {
                tracing::error!(workspace = %who.workspace, error = error.chain(), "nobody could be asked for more");
                More::Nobody
            }
        }
    }

    fn parked_of(&self, task: TaskId) -> Option<tokio_util::sync::CancellationToken> {
        self.control.inner.tasks.running().get(&task).map(|running| running.parked.clone())
    }

    async fn ask_for_more(&self, who: Principal, over: &OverBudget) -> Result<Approval, Fault> {
        let owner = self.control.store().users().user_of(who.workspace).await?;
        let task = match who.task {
            Some(task) => Some(self.control.store().tasks().task(task).await?),
            None => None,
        };
        // As much again as one task may cost, and enough for the call that was refused.
        let by = owner.limits.task_budget.max(over.wanted);
        let day = self.control.store().clock.today();
        let (raise, asked) = match (over.kind, &task) {
            (BudgetKind::Task(limit), Some(task)) => {
                (Raise::Task { task: task.id, by }, for_task(task, limit, over, by))
            }
            (BudgetKind::Day, _) | (BudgetKind::Task(_), None) => {
                let asked = for_day(&owner, &day, over, by);
                (Raise::Day { day, by }, asked)
            }
        };
        let of_task = matches!(raise, Raise::Task { .. });
        let new = NewApproval {
            workspace: who.workspace,
            chat: who.chat,
            task: task.as_ref().map(|task| task.id).filter(|_| of_task),
            user: task.as_ref().filter(|_| of_task).map_or(owner.id, |task| task.person),
            kind: ApprovalKind::Effect,
            digest: asked.digest,
            class: Class::Middle.as_str().to_owned(),
            reason: over.to_string(),
            sources: Vec::new(),
            people: 1,
            offered: asked.offered,
            title: asked.title,
            text: asked.text,
            describes: String::new(),
            template: None,
            host: None,
            call: None,
            proposal: None,
            raise: Some(raise),
            park: false,
        };
        let asked =
            self.control.store().tasks().ask_for_more(new, task.map(|task| task.id)).await?;
        if let Some(told) = asked.told {
            self.control.hub().say_stored(told);
            if !of_task && let Err(error) = self.tell_keepers(&owner, over, &asked.approval).await {
                tracing::error!(
                    error = error.chain(),
                    "nobody was told that a day's budget is used up"
                );
            }
        }
        Ok(asked.approval)
    }

    /// Who runs the platform hears that somebody's day is used up, and how to give more.
    async fn tell_keepers(
        &self,
        owner: &User,
        over: &OverBudget,
        approval: &Approval,
    ) -> Result<(), Fault> {
        let text = format!(
            "{} has used up today's budget ({} of {}). `cloister task approve {} --user {}` gives more for today.",
            owner.name,
            Dollars(over.spent),
            Dollars(over.limit),
            approval.id,
            owner.name
        );
        for keeper in self.control.notices().keepers().await? {
            if keeper.id != owner.id {
                let key = format!("more-{}", approval.id);
                self.control.notices().tell_in_first_chat(&keeper, &key, text.clone()).await?;
            }
        }
        Ok(())
    }

    /// At the start, and when a day is over: who waited for more of it has the new one.
    pub(crate) async fn begin_day(&self, day: &mut String) {
        let today = self.control.store().clock.today();
        if *day == today {
            return;
        }
        match self.control.store().tasks().end_past_days().await {
            Ok(_ended) => *day = today,
            Err(error) => {
                let error = Fault::from(error);
                tracing::error!(error = error.chain(), "the questions of a past day still wait");
            }
        }
    }

    /// One line: what was spent today of what.
    pub(crate) async fn budget_line(&self, user: &User, to: Language) -> Result<String, Fault> {
        let state = self.control.store().tasks().budget_state(user.id).await?;
        let limit = |nano| Dollars(nano).to_string().replace('$', "");
        let mut line = say!(
            to,
            "${spent} of ${daily} spent today, ${task} per task",
            spent = format!("{:.4}", nano_to_usd(state.spent)),
            daily = limit(user.limits.daily_budget),
            task = limit(user.limits.task_budget)
        );
        let own = self.control.store().tasks().own_spent_today(Some(user.id)).await?;
        if own > 0 {
            let own = Dollars(own);
            line.push_str(&say!(to, "; {own} with models of your own, apart from that", own));
        }
        Ok(line)
    }

    /// Sets a user's budgets, in nano-dollars; what is not given stays.
    pub async fn set_budget(
        &self,
        actor: &Actor,
        name: &UserName,
        daily: Option<i64>,
        per_task: Option<i64>,
    ) -> Result<User, Fault> {
        let mut limits = self.control.store().users().user(name).await?.limits;
        limits.daily_budget = daily.unwrap_or(limits.daily_budget);
        limits.task_budget = per_task.unwrap_or(limits.task_budget);
        Ok(self.control.store().users().set_limits(actor, name, limits).await?)
    }
}

/// A question for more.
struct ForMore {
    title: String,
    text: String,
    /// Of the limit that is reached, not of who ran into it when, nor of how much their call would have cost.
    digest: String,
    offered: Vec<Answer>,
}

fn for_task(task: &Task, limit: TaskId, over: &OverBudget, by: i64) -> ForMore {
    let text = format!(
        "task: {} ({})\nspent: {} of {}\nthe next call: up to {}\nif you allow it: {} more for this task, \
         within what you may spend today\nif you do not: it ends with what it has\n",
        task.id,
        visible(&task.title, Reading::Prose).replace('\n', " "),
        Dollars(over.spent),
        Dollars(over.limit),
        Dollars(over.wanted),
        Dollars(by),
    );
    ForMore {
        title: format!("Spend up to {} more on task {}?", Dollars(by), task.id),
        text,
        digest: digest(&format!("budget of task {limit} {}", over.limit)),
        offered: vec![Answer::Allow, Answer::Deny, Answer::DenyAndStop],
    }
}

/// Says nothing of what was worked on: who may change budgets need not be who may read that.
fn for_day(owner: &User, day: &str, over: &OverBudget, by: i64) -> ForMore {
    let text = format!(
        "whose: {}\nspent today: {} of {}\nthe next call: up to {}\nif it is allowed: {} more until the day \
         ends (UTC)\nif it is not: nothing more is spent today\nwho answers: whoever may change budgets\n",
        owner.name,
        Dollars(over.spent),
        Dollars(over.limit),
        Dollars(over.wanted),
        Dollars(by),
    );
    ForMore {
        title: format!("Spend up to {} more today?", Dollars(by)),
        text,
        digest: digest(&format!("budget of {} on {day} {}", owner.id, over.limit)),
        offered: vec![Answer::Allow, Answer::Deny],
    }
}

fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
