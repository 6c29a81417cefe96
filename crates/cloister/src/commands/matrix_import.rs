//! `cloister matrix import`: who is whose, from a file of fixed routes as `matrix-agents.yaml`.
//!
//! Each Matrix account becomes the account of a user who is named as its agent was. What is linked stays as
//! it is: an account of somebody else is a conflict, and is said, never taken over.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use cloister_protocol::admin::{AccountName, NewUser, PersonView, UserView};
use cloister_protocol::{ErrorCode, UserName};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::Context;
use crate::client::Client;
use crate::output::CliError;

/// No such file is longer.
const MAX_BYTES: u64 = 4 << 20;
const SURFACE: &str = "matrix";

/// The file. What is not named here is said to be ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Routes {
    user_agents: BTreeMap<String, String>,
    agents: Vec<Agent>,
    #[serde(flatten)]
    other: BTreeMap<String, IgnoredAny>,
}

#[derive(Debug, Deserialize)]
struct Agent {
    id: String,
    #[serde(flatten)]
    other: BTreeMap<String, IgnoredAny>,
}

/// What an import did, or would do.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Report {
    dry_run: bool,
    /// Users that were made.
    made: Vec<UserName>,
    linked: Vec<Link>,
    already: Vec<Link>,
    conflicts: Vec<Conflict>,
    /// What of the file means nothing here, and why.
    ignored: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Link {
    id: String,
    user: UserName,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Conflict {
    id: String,
    why: String,
}

/// What is linked already: whose each account is, and which users there are.
#[derive(Debug, Default)]
struct KnownAccounts {
    users: BTreeSet<UserName>,
    accounts: BTreeMap<String, UserName>,
}

/// Links every account that a file names. The same file again changes nothing. Conflicts are told by the exit
/// code as well.
pub(super) async fn import(
    context: &Context,
    file: &Path,
    dry_run: bool,
) -> Result<ExitCode, CliError> {
    let routes = parse(&read(file)?, file)?;
    let client = context.client().await?;
    let mut report = plan(routes, &known(&client).await?);
    report.dry_run = dry_run;
    if !dry_run {
        carry_out(&client, &mut report).await?;
    }
    context.output.result(&report, || words(&report))?;
    Ok(if report.conflicts.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn read(file: &Path) -> Result<String, CliError> {
    let failed = || format!("{} could not be read", file.display());
    let mut text = String::new();
    let source = std::fs::File::open(file).map_err(CliError::io(failed()))?;
    source.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(CliError::io(failed()))?;
    if text.len() as u64 > MAX_BYTES {
        let message = format!("{} has more than {MAX_BYTES} bytes", file.display());
        return Err(CliError::new(ErrorCode::TooLarge, message));
    }
    Ok(text)
}

fn parse(text: &str, file: &Path) -> Result<Routes, CliError> {
    let fix = "expected `user_agents:` with a Matrix id and the id of its agent on each line, such as \
               \"@ada:example.org\": agent-0";
    let routes: Routes = serde_saphyr::from_str(text).map_err(|error| {
        // The first line says it; those below show the text of the file again.
        let said = error.to_string();
        let said = said.lines().next().unwrap_or_default().trim_start_matches("error: ");
        let message = format!("{} can't be read as routes: {said}", file.display());
        CliError::new(ErrorCode::BadRequest, message).fix(fix)
    })?;
    if routes.user_agents.is_empty() {
        let message = format!("{} names no account of anybody", file.display());
        return Err(CliError::new(ErrorCode::BadRequest, message).fix(fix));
    }
    Ok(routes)
}

async fn known(client: &Client) -> Result<KnownAccounts, CliError> {
    let users: Vec<UserView> = client.get("/admin/v1/users").await?;
    let mut known = KnownAccounts::default();
    for user in users {
        let path = format!("/admin/v1/users/{}/person", user.name);
        let person: PersonView = client.get(&path).await?;
        let on_matrix = person.identities.into_iter().filter(|known| known.surface == SURFACE);
        known.accounts.extend(on_matrix.map(|identity| (identity.id, user.name.clone())));
        known.users.insert(user.name);
    }
    Ok(known)
}

/// What is to be done, before anything is.
fn plan(routes: Routes, known: &KnownAccounts) -> Report {
    let mut report = Report { ignored: ignored(&routes), ..Report::default() };
    for (id, agent) in routes.user_agents {
        let user: UserName = match checked(&id, &agent) {
            Ok(user) => user,
            Err(why) => {
                report.conflicts.push(Conflict { id, why });
                continue;
            }
        };
        match known.accounts.get(&id) {
            Some(owner) if *owner == user => report.already.push(Link { id, user }),
            Some(owner) => {
                let why = format!(
                    "it is {owner}'s, and the file says {user}; \
                     `cloister user unlink {owner} --surface {SURFACE} --id {id}` makes it free"
                );
                report.conflicts.push(Conflict { id, why });
            }
            None => {
                if !known.users.contains(&user) && !report.made.contains(&user) {
                    report.made.push(user.clone());
                }
                report.linked.push(Link { id, user });
            }
        }
    }
    report
}

fn checked(id: &str, agent: &str) -> Result<UserName, String> {
    let (name, server) =
        id.strip_prefix('@').and_then(|rest| rest.split_once(':')).unwrap_or_default();
    let plain = id.len() <= 255 && id.chars().all(|c| c.is_ascii_graphic());
    if name.is_empty() || server.is_empty() || !plain {
        return Err("it is no Matrix id, such as @ada:example.org".to_owned());
    }
    agent.parse().map_err(|error| format!("its agent can't name a user: {error}"))
}

/// What of the file means nothing here.
fn ignored(routes: &Routes) -> Vec<String> {
    let mut ignored: Vec<String> =
        routes.other.keys().map(|key| format!("{key}: not known")).collect();
    let routed: BTreeSet<&str> = routes.user_agents.values().map(String::as_str).collect();
    for agent in &routes.agents {
        let id = &agent.id;
        if !routed.contains(id.as_str()) {
            ignored.push(format!("agents {id}: no account is routed to it, no user is made"));
        }
        for field in agent.other.keys() {
            let why = match field.as_str() {
                "base_url" => "agents run here, in cells of their own; there is no address to dial",
                "workspace_path" => "a workspace is made; its files are not copied from there",
                "label" => "a user is called by their name; the agent's name is in SOUL.md",
                _ => "not known",
            };
            ignored.push(format!("agents {id} {field}: {why}"));
        }
    }
    ignored
}

/// Makes the users and links the accounts. What somebody else linked meanwhile becomes a conflict.
async fn carry_out(client: &Client, report: &mut Report) -> Result<(), CliError> {
    for name in &report.made {
        let new = NewUser {
            name: name.clone(),
            quota_mb: None,
            executors: None,
            daily_usd: None,
            task_usd: None,
        };
        let made: Result<UserView, CliError> = client.post("/admin/v1/users", &new).await;
        match made {
            Ok(_) => {}
            Err(error) if error.body.code == ErrorCode::Conflict => {}
            Err(error) => return Err(error),
        }
    }
    for link in std::mem::take(&mut report.linked) {
        let account =
            AccountName { surface: SURFACE.to_owned(), id: link.id.clone(), display_name: None };
        let path = format!("/admin/v1/users/{}/identities", link.user);
        let linked: Result<PersonView, CliError> = client.post(&path, &account).await;
        match linked {
            Ok(_) => report.linked.push(link),
            Err(error) => {
                let why = error.body.message;
                report.conflicts.push(Conflict { id: link.id, why });
            }
        }
    }
    Ok(())
}

fn words(report: &Report) -> String {
    let would = if report.dry_run { "would be " } else { "" };
    let mut lines = Vec::new();
    lines.extend(report.made.iter().map(|user| format!("{would}made: user {user}")));
    lines.extend(
        report.linked.iter().map(|link| format!("{would}linked: {} to {}", link.id, link.user)),
    );
    lines.extend(
        report.already.iter().map(|link| format!("already: {} is {}'s", link.id, link.user)),
    );
    lines.extend(report.conflicts.iter().map(|at| format!("conflict: {}: {}", at.id, at.why)));
    lines.extend(report.ignored.iter().map(|what| format!("ignored: {what}")));
    lines.push(format!(
        "{} {would}linked, {} already, {} in conflict, {} ignored",
        report.linked.len(),
        report.already.len(),
        report.conflicts.len(),
        report.ignored.len()
    ));
    lines.join("\n")
}

#[cfg(test)]
#[path = "matrix_import_tests.rs"]
mod tests;
