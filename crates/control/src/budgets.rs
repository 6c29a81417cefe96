//! Budgets as people see them.

use cloister_protocol::UserName;
use cloister_store::users::User;

use crate::control::Control;
use crate::error::ControlError;
use crate::options::nano_to_usd;

impl Control {
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
