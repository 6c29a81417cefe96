//! `cloister agent`: several agents of one person.

use axum::http::Method;
use cloister_protocol::admin::{
    AgentChange, AgentDetail, AgentView, ChatChange, ChatView, NewAgent,
};
use cloister_protocol::{AgentId, ChatId, ErrorCode, UserName};

use super::Context;
use crate::args::{Agent, ForUser, Manner};
use crate::client::Client;
use crate::output::{CliError, table};

pub(super) async fn run(context: Context, command: Agent) -> Result<(), CliError> {
    let client = context.client().await?;
    let shown: AgentDetail = match command {
        Agent::List { user } => {
            let all: Vec<AgentView> = client.get(&path(&client, &user).await?).await?;
            return context.output.result(&all, || list(&all));
        }
        Agent::Add { name, user, manner } => {
            let new = NewAgent { name, manner: text(manner)? };
            client.post(&path(&client, &user).await?, &new).await?
        }
        Agent::Show { agent, user } => {
            let one = one(&client, &user, &agent, Among::All).await?;
            client.get(&one).await?
        }
        Agent::Set { agent, user, manner } => {
            let Some(manner) = text(manner)? else {
                let message = "say who it is, with --manner or --manner-file";
                return Err(CliError::new(ErrorCode::BadRequest, message));
            };
            let one = one(&client, &user, &agent, Among::There).await?;
            let manner = Some(manner);
            change(&client, &one, AgentChange { manner, ..AgentChange::default() }).await?
        }
        Agent::Rename { agent, name, user } => {
            let one = one(&client, &user, &agent, Among::There).await?;
            let name = Some(name);
            change(&client, &one, AgentChange { name, ..AgentChange::default() }).await?
        }
        Agent::Rm { agent, user, undo } => {
            let among = if undo { Among::Removed } else { Among::There };
            let one = one(&client, &user, &agent, among).await?;
            let removed = Some(!undo);
            change(&client, &one, AgentChange { removed, ..AgentChange::default() }).await?
        }
    };
    context.output.result(&shown, || detail(&shown))
}

/// The newest chat with an agent, or a new one.
pub(super) async fn newest_chat(
    client: &Client,
    user: &UserName,
    said: &str,
) -> Result<ChatId, CliError> {
    let all: Vec<AgentView> = client.get(&format!("/admin/v1/users/{user}/agents")).await?;
    let id = meant(&all, said, Among::There).ok_or_else(|| no_agent(said))?;
    let its = all.into_iter().find(|agent| agent.id == id);
    match its.and_then(|agent| agent.chats.last().copied()) {
        Some(chat) => Ok(chat),
        None => {
            let new = ChatChange { agent: Some(id.to_string()), ..ChatChange::default() };
            let made: ChatView =
                client.post(&format!("/admin/v1/users/{user}/chats"), &new).await?;
            Ok(made.id)
        }
    }
}

async fn path(client: &Client, user: &ForUser) -> Result<String, CliError> {
    Ok(format!("/admin/v1/users/{}/agents", client.user(user.user.as_ref()).await?))
}

fn no_agent(said: &str) -> CliError {
    let message = format!("there is no agent {said:?}");
    CliError::new(ErrorCode::NotFound, message).fix("`cloister agent list` lists them")
}

async fn change(client: &Client, one: &str, change: AgentChange) -> Result<AgentDetail, CliError> {
    client.call(Method::PATCH, one, Some(&change)).await
}

/// Among which agents one is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Among {
    There,
    Removed,
    All,
}

/// The path of the agent that is meant: names are of any script, ids are part of any address.
async fn one(
    client: &Client,
    user: &ForUser,
    said: &str,
    among: Among,
) -> Result<String, CliError> {
    let path = path(client, user).await?;
    let all: Vec<AgentView> = client.get(&path).await?;
    let id = meant(&all, said, among).ok_or_else(|| no_agent(said))?;
    Ok(format!("{path}/{id}"))
}

fn meant(all: &[AgentView], said: &str, among: Among) -> Option<AgentId> {
    let folded = |name: &str| -> String {
        name.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
    };
    let is_meant = |agent: &&AgentView| {
        let named = !agent.name.is_empty() && folded(&agent.name) == folded(said.trim());
        named || said.trim().to_lowercase() == agent.id.to_string()
    };
    let there = all.iter().filter(|agent| !agent.removed && among != Among::Removed);
    let removed = all.iter().rev().filter(|agent| agent.removed && among != Among::There);
    there.chain(removed).find(is_meant).map(|agent| agent.id)
}

fn text(manner: Manner) -> Result<Option<String>, CliError> {
    match (manner.manner, manner.manner_file) {
        (Some(text), _) => Ok(Some(text)),
        (None, Some(file)) => {
            let failed = format!("{} could not be read", file.display());
            Ok(Some(std::fs::read_to_string(file).map_err(CliError::io(failed))?))
        }
        (None, None) => Ok(None),
    }
}

fn name(agent: &AgentView) -> &str {
    if agent.name.is_empty() { "(no name yet)" } else { &agent.name }
}

fn chats(agent: &AgentView) -> String {
    agent.chats.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn list(all: &[AgentView]) -> String {
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|agent| {
            let state = if agent.removed { "removed" } else { "" };
            vec![agent.id.to_string(), name(agent).to_owned(), chats(agent), state.to_owned()]
        })
        .collect();
    table(&["AGENT", "NAME", "CHATS", ""], &rows)
}

fn detail(shown: &AgentDetail) -> String {
    let AgentDetail { agent, manner, .. } = shown;
    let removed = if agent.removed {
        ", removed: `cloister agent rm --undo` takes it back, with its chats; its files are there"
    } else {
        ""
    };
    let mut lines = vec![format!("{} {}{removed}", agent.id, name(agent))];
    if !agent.chats.is_empty() {
        lines.push(format!("chats: {}", chats(agent)));
    }
    let folder = if agent.folder.is_empty() { "the workspace's own" } else { &agent.folder };
    lines.push(format!("files: {folder}"));
    if !manner.is_empty() {
        lines.push(manner.clone());
    }
    lines.join("\n")
}
