//! `cloister user`.

use axum::http::Method;
use cloister_protocol::admin::{NewUser, UserChange, UserView};

use super::Context;
use crate::args::User;
use crate::output::{CliError, table};

pub(super) async fn run(context: Context, command: User) -> Result<(), CliError> {
    let client = context.client().await?;
    let user: UserView = match command {
        User::List => {
            let users: Vec<UserView> = client.get("/admin/v1/users").await?;
            return context.output.result(&users, || list(&users));
        }
        User::Add { name, limits } => {
            let new = NewUser {
                name,
                quota_mb: limits.quota_mb,
                executors: limits.executors,
                daily_usd: None,
                task_usd: None,
            };
            client.post("/admin/v1/users", &new).await?
        }
        User::Show { name } => client.get(&format!("/admin/v1/users/{name}")).await?,
        User::Set { name, limits } => {
            let change = UserChange {
                quota_mb: limits.quota_mb,
                executors: limits.executors,
                ..UserChange::default()
            };
            client.call(Method::PATCH, &format!("/admin/v1/users/{name}"), Some(&change)).await?
        }
    };
    context.output.result(&user, || list(std::slice::from_ref(&user)))
}

fn list(users: &[UserView]) -> String {
    let rows: Vec<Vec<String>> = users
        .iter()
        .map(|user| {
            let over = if user.over_quota { " (over)" } else { "" };
            vec![
                user.name.to_string(),
                user.workspace.to_string(),
                format!("{} MB{over}", user.quota_mb),
                user.executors.to_string(),
                format!("${:.2}/day", user.daily_usd),
            ]
        })
        .collect();
    table(&["USER", "WORKSPACE", "QUOTA", "EXECUTORS", "BUDGET"], &rows)
}
