//! `cloister budget`.

use axum::http::Method;
use cloister_protocol::admin::{BudgetView, UsageView, UserChange, UserView};

use super::Context;
use crate::args::Budget;
use crate::output::{CliError, table};

pub(super) async fn run(context: Context, command: Budget) -> Result<(), CliError> {
    let client = context.client().await?;
    let name = match command {
        Budget::Show { user } => client.user(user.user.as_ref()).await?,
        Budget::Set { name, daily, task } => {
            let change = UserChange { daily_usd: daily, task_usd: task, ..UserChange::default() };
            let path = format!("/admin/v1/users/{name}");
            let user: UserView = client.call(Method::PATCH, &path, Some(&change)).await?;
            user.name
        }
    };
    let budget: BudgetView = client.get(&format!("/admin/v1/users/{name}/budget")).await?;
    context.output.result(&budget, || show(&budget))
}

fn show(budget: &BudgetView) -> String {
    let head = format!(
        "{}: ${:.4} of ${:.2} spent today (${:.4} held for calls under way), ${:.2} per task\n",
        budget.user, budget.spent_usd, budget.daily_usd, budget.reserved_usd, budget.task_usd
    );
    let mut text = format!("{head}{}", usage(&budget.usage));
    if !budget.own_usage.is_empty() {
        text.push_str(&format!(
            "\nwith models of their own, in no budget here: ${:.4} today\n{}",
            budget.own_spent_usd,
            usage(&budget.own_usage)
        ));
    }
    text
}

fn usage(usage: &[UsageView]) -> String {
    let rows: Vec<Vec<String>> = usage
        .iter()
        .map(|row| {
            vec![
                row.day.clone(),
                row.level.clone(),
                row.model.clone(),
                row.calls.to_string(),
                row.prompt_tokens.to_string(),
                row.cached_tokens.to_string(),
                row.completion_tokens.to_string(),
                format!("${:.4}", row.usd),
            ]
        })
        .collect();
    let heads = ["DAY", "LEVEL", "MODEL", "CALLS", "TOKENS IN", "KEPT", "TOKENS OUT", "COST"];
    table(&heads, &rows)
}
