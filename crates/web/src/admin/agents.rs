//! The agents of a person or community: made, named, said who they are, removed and taken back.

use axum::extract::State as Extract;
use cloister_control::{KnownAgent, NewAgent};
use cloister_policy::engine::WorkspaceCall;
use cloister_protocol::WorkspaceId;
use cloister_protocol::admin::{AgentChange, AgentDetail, AgentView, NewAgent as WantedAgent};

use super::Admin;
use super::authorise::Asker;
use super::route::{About, Route};
use crate::reply::{Answer, Body, Failure, Path, json};

pub(super) fn routes() -> Vec<Route> {
    let (all, one) = ("/admin/v1/users/{user}/agents", "/admin/v1/users/{user}/agents/{agent}");
    vec![
        Route::get(all, About::Workspace(WorkspaceCall::ListChats), list),
        Route::post(all, About::Workspace(WorkspaceCall::ChangeIdentity), add),
        Route::get(one, About::Workspace(WorkspaceCall::ReadIdentity), show),
        Route::patch(one, About::Workspace(WorkspaceCall::ChangeIdentity), change),
    ]
}

async fn view(
    admin: &Admin,
    workspace: WorkspaceId,
    agent: KnownAgent,
) -> Result<AgentView, Failure> {
    let agents = admin.control.chats().agents();
    Ok(AgentView {
        id: agent.id,
        folder: agents.folder(agent.id),
        chats: agents.chats(workspace, agent.id).await?,
        name: agent.name,
        removed: agent.removed,
    })
}

async fn detail(
    admin: &Admin,
    workspace: WorkspaceId,
    agent: KnownAgent,
) -> Result<AgentDetail, Failure> {
    let (manner, seen) = admin.control.config().soul(workspace, agent.id)?;
    Ok(AgentDetail { agent: view(admin, workspace, agent).await?, manner, seen })
}

/// Also those that were removed.
async fn list(Extract(admin): Extract<Admin>, Path(name): Path<String>) -> Answer<Vec<AgentView>> {
    let user = super::user(&admin, &name).await?;
    let mut views = Vec::new();
    for agent in admin.control.chats().agents().all(user.workspace).await? {
        views.push(view(&admin, user.workspace, agent).await?);
    }
    json(views)
}

async fn add(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(name): Path<String>,
    Body(wanted): Body<WantedAgent>,
) -> Answer<AgentDetail> {
    let user = super::user(&admin, &name).await?;
    let new = NewAgent { name: &wanted.name, manner: wanted.manner.as_deref().unwrap_or_default() };
    let agents = admin.control.chats().agents();
    let made = agents.add(asker.actor(), user.workspace, new, None).await?;
    json(detail(&admin, user.workspace, made).await?)
}

async fn show(
    Extract(admin): Extract<Admin>,
    Path((name, agent)): Path<(String, String)>,
) -> Answer<AgentDetail> {
    let user = super::user(&admin, &name).await?;
    let agent = admin.control.chats().agents().find_ever(user.workspace, &agent).await?;
    json(detail(&admin, user.workspace, agent).await?)
}

async fn change(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path((name, agent)): Path<(String, String)>,
    Body(change): Body<AgentChange>,
) -> Answer<AgentDetail> {
    let user = super::user(&admin, &name).await?;
    let (workspace, actor) = (user.workspace, asker.actor());
    let mut known = admin.control.chats().agents().find_ever(workspace, &agent).await?;
    let agents = admin.control.chats().agents();
    if change.removed == Some(false) && known.removed {
        known = agents.restore(actor, workspace, &known.id.to_string(), None).await?;
    }
    if let Some(manner) = &change.manner {
        let (config, seen) = (admin.control.config(), change.seen.as_deref());
        let whose = (workspace, known.id);
        config.change_soul(actor, whose, &known.name, (manner, seen)).await?;
    }
    if let Some(name) = &change.name
        && *name != known.name
    {
        known = agents.rename(actor, (workspace, known.id), name, None).await?;
    }
    if change.removed == Some(true) && !known.removed {
        agents.remove(actor, (workspace, known.id), None).await?;
        known.removed = true;
    }
    json(detail(&admin, workspace, known).await?)
}
