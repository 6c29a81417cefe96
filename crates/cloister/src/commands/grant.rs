//! `cloister grant`: what people allowed for longer than once.

use axum::http::Method;
use cloister_policy::legible;
use cloister_protocol::UserName;
use cloister_protocol::admin::{GrantDetail, GrantView};

use super::Context;
use crate::args::Grant;
use crate::output::{CliError, table};

pub(super) async fn run(context: Context, command: Grant) -> Result<(), CliError> {
    let client = context.client().await?;
    match command {
        Grant::List { user } => {
            let user = client.user(user.user.as_ref()).await?;
            let grants: Vec<GrantView> = client.get(&path(&user)).await?;
            context.output.result(&grants, || list(&user, &grants))
        }
        Grant::Show { user, grant } => {
            let user = client.user(user.user.as_ref()).await?;
            let detail: GrantDetail = client.get(&format!("{}/{grant}", path(&user))).await?;
            context.output.result(&detail, || show(&detail))
        }
        Grant::Revoke { user, grant } => {
            let user = client.user(user.user.as_ref()).await?;
            let path = format!("{}/{grant}", path(&user));
            let gone: serde_json::Value = client.call(Method::DELETE, &path, None::<&()>).await?;
            context.output.result(&gone, || format!("G{grant} is revoked: the next time is asked"))
        }
    }
}

fn path(user: &UserName) -> String {
    format!("/admin/v1/users/{user}/grants")
}

fn list(user: &UserName, grants: &[GrantView]) -> String {
    if grants.is_empty() {
        return format!("{user} allowed nothing for longer than once.");
    }
    let rows: Vec<Vec<String>> = grants
        .iter()
        .map(|grant| {
            vec![
                format!("G{}", grant.id),
                grant.reaches(),
                grant.given_by.clone(),
                grant.since.clone(),
                legible(&grant.describes).replace('\n', " "),
            ]
        })
        .collect();
    table(&["GRANT", "REACH", "GIVEN BY", "SINCE", "COVERS"], &rows)
}

fn show(detail: &GrantDetail) -> String {
    let GrantDetail { grant, title, text } = detail;
    let task = grant.task.map(|task| format!(" ({task})")).unwrap_or_default();
    let mut lines = vec![
        format!("G{}: {}{task}", grant.id, grant.reaches()),
        format!("covers: {}", legible(&grant.describes)),
        format!(
            "given by {} since {}, with the answer to {}",
            grant.given_by, grant.since, grant.approval
        ),
        format!("asked was: {}", legible(title).replace('\n', " ")),
    ];
    lines.extend(legible(text).lines().map(|line| format!("  | {line}")));
    lines.push(format!("`cloister grant revoke G{}` takes it back", grant.id));
    lines.join("\n")
}
