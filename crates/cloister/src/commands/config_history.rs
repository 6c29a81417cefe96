//! `cloister config`: the versions of the configuration, and going back to one.

use cloister_protocol::admin::{
    ConfigChange, ConfigDiff, ConfigRollback, ConfigRolledBack, UserView,
};
use cloister_protocol::{ErrorCode, UserName, WorkspaceId};

use super::Context;
use crate::args::Config;
use crate::client::Client;
use crate::output::{CliError, table};

const ALL: &str = "ALL";

pub(super) async fn run(context: Context, command: Config) -> Result<(), CliError> {
    let client = context.client().await?;
    match command {
        Config::Log { path, user, last } => {
            let base = base(&client, user.user, path.as_deref()).await?;
            let count = last.map(|count| ("count", count.to_string()));
            let query = query([path.map(|path| ("path", path)), count]);
            let log: Vec<ConfigChange> = client.get(&format!("{base}/log{query}")).await?;
            context.output.result(&log, || listed(&log))
        }
        Config::Diff { from, to, path, user } => {
            let base = base(&client, user.user, path.as_deref()).await?;
            let given =
                [Some(("from", from)), to.map(|to| ("to", to)), path.map(|path| ("path", path))];
            let diff: ConfigDiff = client.get(&format!("{base}/diff{}", query(given))).await?;
            context.output.result(&diff, || {
                let ConfigDiff { from, to, text } = &diff;
                if text.is_empty() {
                    format!("{from} and {to} are the same.")
                } else {
                    text.clone()
                }
            })
        }
        Config::Rollback { path, version, user } => {
            let path = (path != ALL).then_some(path);
            let base = base(&client, user.user, path.as_deref()).await?;
            let asked = ConfigRollback { path, version };
            let done: ConfigRolledBack = client.post(&format!("{base}/rollback"), &asked).await?;
            context.output.result(&done, || put_back(&done))
        }
    }
}

/// Whose history is meant: a user's, by name or by the workspace that a path starts with, or the
/// platform's.
async fn base(
    client: &Client,
    user: Option<UserName>,
    path: Option<&str>,
) -> Result<String, CliError> {
    let first = path.and_then(|path| path.split('/').next());
    let workspace: Option<WorkspaceId> = first.and_then(|first| first.parse().ok());
    let user = match (user, workspace) {
        (Some(user), _) => Some(user),
        (None, Some(workspace)) => {
            let users: Vec<UserView> = client.get("/admin/v1/users").await?;
            let owner = users.into_iter().find(|user| user.workspace == workspace);
            let missing = || {
                let message = format!("there is no workspace {workspace}");
                CliError::new(ErrorCode::NotFound, message)
            };
            Some(owner.ok_or_else(missing)?.name)
        }
        (None, None) => None,
    };
    Ok(match user {
        Some(user) => format!("/admin/v1/users/{user}/config"),
        None => "/admin/v1/config".to_owned(),
    })
}

/// What follows a path, with everything that has a meaning there made harmless.
fn query<const N: usize>(given: [Option<(&str, String)>; N]) -> String {
    let mut text = String::new();
    for (name, value) in given.into_iter().flatten() {
        text.push(if text.is_empty() { '?' } else { '&' });
        text.push_str(name);
        text.push('=');
        for byte in value.bytes() {
            if byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte) {
                text.push(char::from(byte));
            } else {
                text.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    text
}

fn listed(log: &[ConfigChange]) -> String {
    if log.is_empty() {
        return "No version of this is known yet.".to_owned();
    }
    let rows: Vec<Vec<String>> = log
        .iter()
        .map(|change| {
            let ConfigChange { version, at, author, why, paths } = change;
            vec![version.clone(), at.clone(), author.clone(), paths.join(" "), why.clone()]
        })
        .collect();
    table(&["VERSION", "AT", "BY", "WHAT", "WHY"], &rows)
}

fn put_back(done: &ConfigRolledBack) -> String {
    let Some(version) = &done.version else {
        return "It is as it was: nothing was changed.".to_owned();
    };
    let note = done.note.as_ref().map(|note| format!("\n{note}.")).unwrap_or_default();
    format!("Put back: {}. This is version {version}.{note}", done.paths.join(", "))
}
