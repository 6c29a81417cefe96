//! Budgets as people see them.

use cloister_protocol::{AgentFrame, ChatId, Update, UserName, WorkspaceId};
use cloister_store::users::User;

use crate::control::Control;
use crate::error::ControlError;
use crate::options::nano_to_usd;

/// The share of a daily budget at which the person is warned.
const WARN_PERCENT: i64 = 80;

impl Control {
    /// Tells the person, once a day, that the budget is nearly used up.
    pub(crate) async fn warn_of_budget(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<(), ControlError> {
        let user = self.store().user_of(workspace).await?;
        let state = self.store().budget_state(user.id).await?;
        if state.spent == 0 || state.spent < state.limit / 100 * WARN_PERCENT {
            return Ok(());
        }
        let text = format!(
            "{}. At the limit nothing more is spent; `cloister budget set {} --daily USD` raises it.",
            self.budget_line(&user).await?,
            user.name
        );
        let key = format!("budget-{}-{}", self.store().clock.today(), state.limit);
        self.tell_once(workspace, chat, &key, text).await
    }

    /// Tells a person something, once per key.
    pub(crate) async fn tell_once(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        key: &str,
        text: String,
    ) -> Result<(), ControlError> {
        let frame = AgentFrame::Update(Update::Notice { text });
        if let Some(item) = self.store().notify((workspace, chat), key, &frame).await? {
            self.hub().say_stored(item);
        }
        Ok(())
    }

    /// One line: what was spent today of what.
    pub(crate) async fn budget_line(&self, user: &User) -> Result<String, ControlError> {
        let state = self.store().budget_state(user.id).await?;
        Ok(format!(
            "${:.4} of ${:.2} spent today, ${:.2} per task",
            nano_to_usd(state.spent),
            nano_to_usd(user.limits.daily_budget),
            nano_to_usd(user.limits.task_budget),
        ))
    }

    /// Sets a user's budgets, in nano-dollars; what is not given stays.
    pub async fn set_budget(
        &self,
        name: &UserName,
        daily: Option<i64>,
        per_task: Option<i64>,
    ) -> Result<User, ControlError> {
        let mut limits = self.store().user(name).await?.limits;
        limits.daily_budget = daily.unwrap_or(limits.daily_budget);
        limits.task_budget = per_task.unwrap_or(limits.task_budget);
        Ok(self.store().set_limits(name, limits).await?)
    }
}
