//! `cloister user`.

use axum::http::Method;
use cloister_protocol::UserName;
use cloister_protocol::admin::{
    AccountName, IdentityView, NewUser, PersonView, RetentionView, RoleView, UnusedFile,
    UserChange, UserView,
};
use serde::Serialize;

use super::{Context, export};
use crate::args::{AccountOf, User};
use crate::client::Client;
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
        User::Show { name } => return show(&context, &client, &name).await,
        User::Retention { name } => {
            let found: RetentionView =
                client.get(&format!("/admin/v1/users/{name}/retention")).await?;
            return context.output.result(&found, || retention(&found));
        }
        User::Link(account) => return link(&context, &client, account, "").await,
        User::Unlink(account) => return link(&context, &client, account, "/unlink").await,
        User::Logout { name } => {
            let path = format!("/admin/v1/users/{name}/sessions/end");
            let ended: serde_json::Value = client.post(&path, &serde_json::json!({})).await?;
            let words =
                || format!("{} sessions and login links of {name} are ended", ended["ended"]);
            return context.output.result(&ended, words);
        }
        User::Export { name, out } => return export::export(&context, &client, &name, &out).await,
        User::Erase { name, yes, why } => {
            return export::erase(&context, &client, &name, yes, why).await;
        }
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

/// What is put away next, and what was.
fn retention(found: &RetentionView) -> String {
    let line = |file: &UnusedFile| {
        let since = match (&file.since, file.id) {
            (Some(since), Some(id)) => format!(", put away {since}, number {id}"),
            _ => String::new(),
        };
        format!("  {} {} ({} bytes{since})", file.chat, file.path, file.size)
    };
    let mut lines = vec![format!("would be put away now: {} files", found.next.len())];
    lines.extend(found.next.iter().map(line));
    lines.push(format!("put away: {} files", found.put_away.len()));
    lines.extend(found.put_away.iter().map(line));
    lines.join("\n")
}

/// A user with who they are to the policies.
#[derive(Serialize)]
struct ShownUser {
    #[serde(flatten)]
    user: UserView,
    roles: Vec<RoleView>,
    identities: Vec<IdentityView>,
}

async fn show(context: &Context, client: &Client, name: &UserName) -> Result<(), CliError> {
    let user: UserView = client.get(&format!("/admin/v1/users/{name}")).await?;
    let person: PersonView = client.get(&format!("/admin/v1/users/{name}/person")).await?;
    let words = format!("{}\n\n{}", list(std::slice::from_ref(&user)), self::person(&person));
    let shown = ShownUser { user, roles: person.roles, identities: person.identities };
    context.output.result(&shown, || words)
}

async fn link(
    context: &Context,
    client: &Client,
    account: AccountOf,
    or: &str,
) -> Result<(), CliError> {
    let AccountOf { name, surface, id } = account;
    let named = AccountName { surface, id, display_name: None };
    let path = format!("/admin/v1/users/{name}/identities{or}");
    let person: PersonView = client.post(&path, &named).await?;
    context.output.result(&person, || self::person(&person))
}

/// A person's roles and identities.
pub(super) fn person(person: &PersonView) -> String {
    let roles = super::role::roles(&person.roles);
    if person.identities.is_empty() {
        return format!("{roles}\n\nNo identities are linked: they come in over the web alone.");
    }
    let rows = person.identities.iter().map(|identity| {
        vec![
            identity.surface.clone(),
            identity.id.clone(),
            identity.display_name.clone(),
            identity.linked_by.clone(),
            identity.linked_at.clone(),
        ]
    });
    let heads = ["SURFACE", "ID", "CALLED", "LINKED BY", "SINCE"];
    format!("{roles}\n\n{}", table(&heads, &rows.collect::<Vec<_>>()))
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
