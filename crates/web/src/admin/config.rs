//! The history of the configuration: of the platform, and of each workspace.

use axum::extract::State as Extract;
use cloister_control::Actor;
use cloister_control::{ConfigScope, RolledBack, Version};
use cloister_policy::engine::{PlatformCall, WorkspaceCall};
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{
    ConfigChange, ConfigDiff, ConfigQuery, ConfigRollback, ConfigRolledBack,
};

use super::authorise::Asker;
use super::route::{About, Route};
use super::{Admin, time};
use crate::reply::{Answer, Body, Failure, Path, Query, json};

const USUAL_COUNT: usize = 30;
const MOST: usize = 1000;

pub(super) fn routes() -> Vec<Route> {
    let (read, back) = (PlatformCall::ReadSettings, PlatformCall::RollbackSettings);
    let (read_own, back_own) = (WorkspaceCall::ReadIdentity, WorkspaceCall::RollbackSettings);
    let own = About::Workspace(read_own);
    vec![
        Route::get("/admin/v1/config/log", About::Platform(read), log),
        Route::get("/admin/v1/config/diff", About::Platform(read), diff),
        Route::post("/admin/v1/config/rollback", About::Platform(back), rollback),
        Route::get("/admin/v1/users/{user}/config/log", own, log_of),
        Route::get("/admin/v1/users/{user}/config/diff", own, diff_of),
        Route::post(
            "/admin/v1/users/{user}/config/rollback",
            About::Workspace(back_own),
            rollback_of,
        ),
    ]
}

fn change(version: Version) -> ConfigChange {
    let Version { id, author, at, why, paths } = version;
    ConfigChange { version: id, at: time(at.saturating_mul(1000)), author, why, paths }
}

async fn logged(
    admin: &Admin,
    scope: ConfigScope,
    query: &ConfigQuery,
) -> Answer<Vec<ConfigChange>> {
    let count = query.count.unwrap_or(USUAL_COUNT).clamp(1, MOST);
    let versions =
        admin.control.config().config_log(Some(scope), query.path.as_deref(), count).await?;
    json(versions.into_iter().map(change).collect())
}

async fn differing(admin: &Admin, scope: ConfigScope, query: &ConfigQuery) -> Answer<ConfigDiff> {
    let from = query.from.as_deref().ok_or_else(|| {
        Failure::new(ErrorCode::BadRequest, "say from which version: ?from=VERSION")
    })?;
    let (path, to) = (query.path.as_deref(), query.to.as_deref());
    let (from, to, text) = admin.control.config().config_diff(Some(scope), path, from, to).await?;
    json(ConfigDiff { from, to, text })
}

async fn put_back(
    admin: &Admin,
    actor: &Actor,
    scope: ConfigScope,
    asked: &ConfigRollback,
) -> Answer<ConfigRolledBack> {
    let path = asked.path.as_deref();
    let done = admin.control.config().config_rollback(actor, scope, path, &asked.version).await?;
    let RolledBack { version, paths } = done;
    let at_start = paths.iter().any(|path| path == "cloister.toml");
    let note = at_start.then(|| "cloister.toml takes effect at the next start".to_owned());
    json(ConfigRolledBack { version, paths, note })
}

async fn log(
    Extract(admin): Extract<Admin>,
    Query(query): Query<ConfigQuery>,
) -> Answer<Vec<ConfigChange>> {
    logged(&admin, ConfigScope::Platform, &query).await
}

async fn diff(
    Extract(admin): Extract<Admin>,
    Query(query): Query<ConfigQuery>,
) -> Answer<ConfigDiff> {
    differing(&admin, ConfigScope::Platform, &query).await
}

async fn rollback(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Body(asked): Body<ConfigRollback>,
) -> Answer<ConfigRolledBack> {
    put_back(&admin, asker.actor(), ConfigScope::Platform, &asked).await
}

async fn scope_of(admin: &Admin, name: &str) -> Result<ConfigScope, Failure> {
    Ok(ConfigScope::Workspace(super::user(admin, name).await?.workspace))
}

async fn log_of(
    Extract(admin): Extract<Admin>,
    Path(name): Path<String>,
    Query(query): Query<ConfigQuery>,
) -> Answer<Vec<ConfigChange>> {
    logged(&admin, scope_of(&admin, &name).await?, &query).await
}

async fn diff_of(
    Extract(admin): Extract<Admin>,
    Path(name): Path<String>,
    Query(query): Query<ConfigQuery>,
) -> Answer<ConfigDiff> {
    differing(&admin, scope_of(&admin, &name).await?, &query).await
}

async fn rollback_of(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(name): Path<String>,
    Body(asked): Body<ConfigRollback>,
) -> Answer<ConfigRolledBack> {
    put_back(&admin, asker.actor(), scope_of(&admin, &name).await?, &asked).await
}
