//! `cloister workspace` and `cloister context`: where people meet their agents, and what may be used there.

use axum::http::Method;
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{ContextChange, ContextView, NameList, NewWorkspace, WorkspaceView};

use super::Context;
use crate::args::{self, ContextOf, In};
use crate::client::Client;
use crate::output::{CliError, table};

pub(super) async fn workspace(context: Context, command: args::Workspace) -> Result<(), CliError> {
    let client = context.client().await?;
    let shown: WorkspaceView = match command {
        args::Workspace::List => {
            let all: Vec<WorkspaceView> = client.get("/admin/v1/workspaces").await?;
            return context.output.result(&all, || workspaces(&all));
        }
        args::Workspace::Add { name } => {
            client.post("/admin/v1/workspaces", &NewWorkspace { name }).await?
        }
        args::Workspace::Show { workspace } => {
            client.get(&format!("/admin/v1/workspaces/{}", segment(&workspace)?)).await?
        }
    };
    context.output.result(&shown, || workspaces(std::slice::from_ref(&shown)))
}

fn workspaces(all: &[WorkspaceView]) -> String {
    let rows = all.iter().map(|w| vec![w.id.to_string(), w.kind.clone(), w.name.to_string()]);
    table(&["WORKSPACE", "KIND", "NAME"], &rows.collect::<Vec<_>>())
}

pub(super) async fn run(context: Context, command: args::Context) -> Result<(), CliError> {
    let client = context.client().await?;
    let shown: ContextView = match command {
        args::Context::List { place } => {
            let path = path(&client, &place, None).await?;
            let all: Vec<ContextView> = client.get(&path).await?;
            return context.output.result(&all, || contexts(&all));
        }
        args::Context::Show { name, place } => {
            client.get(&path(&client, &place, Some(&name)).await?).await?
        }
        args::Context::Rm { name, place } => {
            let path = path(&client, &place, Some(&name)).await?;
            let removed: serde_json::Value =
                client.call(Method::DELETE, &path, None::<&()>).await?;
            return context.output.result(&removed, || format!("{name} is removed"));
        }
        args::Context::Add(of) => put(&client, of, true).await?,
        args::Context::Set(of) => put(&client, of, false).await?,
    };
    context.output.result(&shown, || one(&shown))
}

async fn put(client: &Client, of: ContextOf, new: bool) -> Result<ContextView, CliError> {
    let path = path(client, &of.place, Some(&of.name)).await?;
    let prompt = match (of.prompt, of.prompt_file) {
        (Some(prompt), _) => Some(prompt),
        (None, Some(file)) => {
            let failed = format!("{} could not be read", file.display());
            Some(std::fs::read_to_string(file).map_err(CliError::io(failed))?)
        }
        (None, None) => None,
    };
    let change = ContextChange {
        inherits: of.inherits,
        prompt,
        tools: of.tools.as_deref().map(list),
        models: of.models.as_deref().map(list),
        skills: of.skills.as_deref().map(list),
        surface: of.surface,
        conversation: of.conversation,
        new,
    };
    client.call(Method::PUT, &path, Some(&change)).await
}

fn list(text: &str) -> NameList {
    match text {
        "all" => NameList::All,
        "none" => NameList::Only(Vec::new()),
        names => {
            let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
            NameList::Only(names.map(str::to_owned).collect())
        }
    }
}

async fn path(client: &Client, place: &In, context: Option<&str>) -> Result<String, CliError> {
    let workspace = match &place.workspace {
        Some(workspace) => segment(workspace)?.to_owned(),
        None => client.user(None).await?.to_string(),
    };
    let contexts = format!("/admin/v1/workspaces/{workspace}/contexts");
    match context {
        Some(name) => Ok(format!("{contexts}/{}", segment(name)?)),
        None => Ok(contexts),
    }
}

/// A name that is one part of a path.
fn segment(name: &str) -> Result<&str, CliError> {
    let fits =
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    if fits && name != "." && name != ".." {
        return Ok(name);
    }
    let message = format!("{name:?} is not a name: expected letters, digits, '-', '_' or '.'");
    Err(CliError::new(ErrorCode::BadRequest, message))
}

fn names(list: Option<&Vec<String>>) -> String {
    match list {
        None => "all".to_owned(),
        Some(names) if names.is_empty() => "none".to_owned(),
        Some(names) => names.join(", "),
    }
}

fn contexts(all: &[ContextView]) -> String {
    if all.is_empty() {
        return "No contexts: every chat may use everything. `cloister context add NAME` makes one."
            .to_owned();
    }
    let rows = all.iter().map(|context| {
        let there = context.surface.iter().chain(&context.conversation).cloned();
        vec![
            context.name.clone(),
            context.inherits.clone(),
            names(context.effective.tools.as_ref()),
            names(context.effective.models.as_ref()),
            there.collect::<Vec<_>>().join(" "),
            context.chat.map(|chat| chat.to_string()).unwrap_or_default(),
        ]
    });
    let heads = ["CONTEXT", "INSIDE", "TOOLS", "MODELS", "CONVERSATION", "CHAT"];
    table(&heads, &rows.collect::<Vec<_>>())
}

fn one(context: &ContextView) -> String {
    let line = |what: &str, own: Option<&Vec<String>>, effective: Option<&Vec<String>>| {
        format!("{what}: {} (in the end: {})", names(own), names(effective))
    };
    let effective = &context.effective;
    let mut lines = vec![
        format!("{}, inside {}", context.name, context.inherits),
        line("tools", context.tools.as_ref(), effective.tools.as_ref()),
        line("models", context.models.as_ref(), effective.models.as_ref()),
        line("skills", context.skills.as_ref(), effective.skills.as_ref()),
    ];
    if let (Some(surface), Some(conversation)) = (&context.surface, &context.conversation) {
        let chat = context.chat.map(|chat| format!(", chat {chat}")).unwrap_or_default();
        lines.push(format!("conversation: {conversation} on {surface}{chat}"));
    }
    if !context.prompt.is_empty() {
        lines.push(format!("prompt: {}", context.prompt));
    }
    lines.join("\n")
}
