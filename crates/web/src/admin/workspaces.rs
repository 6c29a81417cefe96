//! Workspaces of people and communities, and the contexts in them.

use axum::extract::State as Extract;
use cloister_control::ControlError;
use cloister_control::rows::{AccountKind, Context, User};
use cloister_policy::engine::{ContextCall, ContextLists, Names, PlatformCall, WorkspaceCall};
use cloister_protocol::admin::{
    ContextChange, ContextLimits, ContextView, NewWorkspace, WorkspaceView,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::Admin;
use super::authorise::Asker;
use super::route::{About, Route};
use crate::reply::{Answer, Body, Failure, Path, json};

pub(super) fn routes() -> Vec<Route> {
    let (all, one) = ("/admin/v1/workspaces", "/admin/v1/workspaces/{workspace}");
    let contexts = "/admin/v1/workspaces/{workspace}/contexts";
    let context = "/admin/v1/workspaces/{workspace}/contexts/{context}";
    vec![
        Route::get(all, About::Platform(PlatformCall::ListUsers), list),
        Route::post(all, About::Platform(PlatformCall::CreateUser), add),
        Route::get(one, About::Workspace(WorkspaceCall::ShowUser), show),
        Route::get(contexts, About::Workspace(WorkspaceCall::ListContexts), list_contexts),
        Route::get(context, About::Context(ContextCall::Read), show_context),
        Route::put(context, About::Context(ContextCall::Change), change_context),
        Route::delete(context, About::Context(ContextCall::Change), remove_context),
    ]
}

fn view(account: User) -> WorkspaceView {
    let kind = match account.kind {
        AccountKind::Person => "private",
        AccountKind::Community => "community",
    };
    WorkspaceView { id: account.workspace, kind: kind.to_owned(), name: account.name }
}

async fn list(Extract(admin): Extract<Admin>) -> Answer<Vec<WorkspaceView>> {
    json(admin.control.accounts().all().await?.into_iter().map(view).collect())
}

async fn add(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Body(new): Body<NewWorkspace>,
) -> Answer<WorkspaceView> {
    json(view(admin.control.people().add_community(asker.actor(), &new.name).await?))
}

async fn show(Extract(admin): Extract<Admin>, Path(name): Path<String>) -> Answer<WorkspaceView> {
    json(view(workspace(&admin, &name).await?))
}

async fn workspace(admin: &Admin, name: &str) -> Result<User, Failure> {
    let found = admin.control.people().find_workspace(name).await?;
    found.ok_or_else(|| ControlError::not_found("workspace", name).into())
}

fn limits(lists: ContextLists) -> ContextLimits {
    let names = |names: Names| match names {
        Names::All => None,
        Names::Only(names) => Some(names.into_iter().collect()),
    };
    ContextLimits {
        tools: names(lists.tools),
        models: names(lists.models),
        skills: names(lists.skills),
    }
}

async fn context_view(admin: &Admin, context: Context) -> Result<ContextView, Failure> {
    let effective =
        admin.control.contexts().lists_of_context(context.workspace, &context.name).await?;
    let (surface, conversation) =
        context.conversation.map(|there| (there.surface, there.id)).unzip();
    Ok(ContextView {
        name: context.name,
        inherits: context.inherits,
        prompt: context.prompt,
        tools: context.lists.tools,
        models: context.lists.models,
        skills: context.lists.skills,
        surface,
        conversation,
        chat: context.chat,
        effective: limits(effective),
    })
}

async fn list_contexts(
    Extract(admin): Extract<Admin>,
    Path(name): Path<String>,
) -> Answer<Vec<ContextView>> {
    let workspace = workspace(&admin, &name).await?.workspace;
    let mut views = Vec::new();
    for context in admin.control.contexts().of(workspace).await? {
        views.push(context_view(&admin, context).await?);
    }
    json(views)
}

async fn show_context(
    Extract(admin): Extract<Admin>,
    Path((name, context)): Path<(String, String)>,
) -> Answer<ContextView> {
    let workspace = workspace(&admin, &name).await?.workspace;
    let contexts = admin.control.contexts().of(workspace).await?;
    let found = contexts.into_iter().find(|found| found.name == context);
    let found = found.ok_or_else(|| ControlError::not_found("context", context))?;
    json(context_view(&admin, found).await?)
}

async fn change_context(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path((name, context)): Path<(String, String)>,
    Body(change): Body<ContextChange>,
) -> Answer<ContextView> {
    let workspace = workspace(&admin, &name).await?.workspace;
    let changed =
        admin.control.contexts().change_context(asker.actor(), workspace, &context, change).await?;
    json(context_view(&admin, changed).await?)
}

#[derive(Serialize, JsonSchema)]
struct Removed {
    removed: String,
}

async fn remove_context(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path((name, context)): Path<(String, String)>,
) -> Answer<Removed> {
    let workspace = workspace(&admin, &name).await?.workspace;
    admin.control.contexts().remove_context(asker.actor(), workspace, &context).await?;
    json(Removed { removed: context })
}
