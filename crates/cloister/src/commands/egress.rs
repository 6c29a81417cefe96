//! `cloister egress`: where a user's tasks may go.

use axum::http::Method;
use cloister_protocol::UserName;
use cloister_protocol::admin::{EgressChange, EgressUsageView, EgressView};

use super::Context;
use crate::args::Egress;
use crate::client::Client;
use crate::output::{CliError, table};

pub(super) async fn run(context: Context, command: Egress) -> Result<(), CliError> {
    let client = context.client().await?;
    match command {
        Egress::List { user } => {
            let user = client.user(user.user.as_ref()).await?;
            let view: EgressView = client.get(&path(&user)).await?;
            context.output.result(&view, || rules(&user, &view))
        }
        Egress::Allow { user, rules: wanted } => {
            let user = client.user(user.user.as_ref()).await?;
            let view = change(&client, &user, wanted, Vec::new()).await?;
            context.output.result(&view, || rules(&user, &view))
        }
        Egress::Rm { user, rules: unwanted } => {
            let user = client.user(user.user.as_ref()).await?;
            let view = change(&client, &user, Vec::new(), unwanted).await?;
            context.output.result(&view, || rules(&user, &view))
        }
        Egress::Usage { user } => {
            let user = client.user(user.user.as_ref()).await?;
            let usage: Vec<EgressUsageView> = client.get(&format!("{}/usage", path(&user))).await?;
            context.output.result(&usage, || usage_table(&usage))
        }
    }
}

async fn change(
    client: &Client,
    user: &UserName,
    allow: Vec<String>,
    forbid: Vec<String>,
) -> Result<EgressView, CliError> {
    client.call(Method::PATCH, &path(user), Some(&EgressChange { allow, forbid })).await
}

fn path(user: &UserName) -> String {
    format!("/admin/v1/users/{user}/egress")
}

fn rules(user: &UserName, view: &EgressView) -> String {
    if view.rules.is_empty() {
        return format!(
            "Tasks of {user} reach nothing outside. `cloister egress allow HOST` changes that."
        );
    }
    let rows: Vec<Vec<String>> = view
        .rules
        .iter()
        .map(|rule| {
            let broken = rule.broken.as_ref().map(|why| format!("BROKEN, denies all: {why}"));
            vec![
                rule.rule.clone(),
                rule.added_by.clone(),
                rule.added_at.clone(),
                broken.unwrap_or_default(),
            ]
        })
        .collect();
    table(&["RULE", "ALLOWED BY", "SINCE", ""], &rows)
}

fn usage_table(usage: &[EgressUsageView]) -> String {
    let rows: Vec<Vec<String>> = usage
        .iter()
        .map(|row| {
            vec![
                row.day.clone(),
                row.host.clone(),
                row.requests.to_string(),
                row.bytes_out.to_string(),
                row.bytes_in.to_string(),
            ]
        })
        .collect();
    table(&["DAY", "HOST", "REQUESTS", "BYTES OUT", "BYTES IN"], &rows)
}
