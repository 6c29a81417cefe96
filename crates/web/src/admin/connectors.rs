//! Connectors: bot accounts of ours on the surfaces. What they log in with comes in bodies, which no log has.

use axum::extract::State as Extract;
use cloister_control::ports::SurfaceHost;
use cloister_control::rows::AccountKind;
use cloister_policy::engine::PlatformCall;
use cloister_protocol::admin::{
    AddConnector, AddedConnector, ConnectorView, ReconcileReport, ResetConnector, ResetReport,
};
use cloister_protocol::{ErrorCode, UserName};
use serde::Deserialize;

use super::Admin;
use super::authorise::Asker;
use super::route::{About, Route};
use crate::reply::{Answer, Body, Failure, Path, json};

pub(super) fn routes() -> Vec<Route> {
    let all = "/admin/v1/surfaces/{surface}/connectors";
    let one = "/admin/v1/surfaces/{surface}/connectors/{account}";
    let manage = About::Platform(PlatformCall::ManageConnectors);
    vec![
        Route::get(all, About::Platform(PlatformCall::ListConnectors), list),
        Route::post(all, manage, add),
        Route::delete(one, manage, remove),
        Route::post(
            "/admin/v1/surfaces/{surface}/connectors/{account}/reconcile",
            About::Platform(PlatformCall::ReconcileConnector),
            reconcile,
        ),
        Route::post("/admin/v1/surfaces/{surface}/connectors/{account}/reset", manage, reset),
    ]
}

#[derive(Deserialize)]
struct Which {
    surface: String,
    account: String,
}

fn host<'a>(admin: &'a Admin, surface: &str) -> Result<&'a dyn SurfaceHost, Failure> {
    admin.surfaces.get(surface).ok_or_else(|| {
        let known: Vec<&str> = admin.surfaces.all().map(SurfaceHost::name).collect();
        let message = format!("connectors of {surface:?} are not known here");
        Failure::new(ErrorCode::NotFound, message)
            .fix(format!("surfaces with connectors: {}", known.join(", ")))
    })
}

async fn list(
    Extract(admin): Extract<Admin>,
    Path(surface): Path<String>,
) -> Answer<Vec<ConnectorView>> {
    json(host(&admin, &surface)?.list().await?)
}

async fn add(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(surface): Path<String>,
    Body(new): Body<AddConnector>,
) -> Answer<AddedConnector> {
    let host = host(&admin, &surface)?;
    if let Some(owner) = &new.owner {
        known_person(&admin, owner).await?;
    }
    json(host.add(asker.actor(), new).await?)
}

/// Whom a bot is to serve alone must be somebody.
async fn known_person(admin: &Admin, name: &str) -> Result<(), Failure> {
    let unknown = || {
        let name: String = name.chars().take(80).collect();
        Failure::new(ErrorCode::NotFound, format!("there is no user {name:?}"))
            .fix("`cloister user list` shows who there is")
    };
    let Ok(name) = name.parse::<UserName>() else { return Err(unknown()) };
    match admin.control.accounts().named(&name).await {
        Ok(user) if user.kind == AccountKind::Person => Ok(()),
        Ok(_) => Err(unknown()),
        Err(error) if error.code() == ErrorCode::NotFound => Err(unknown()),
        Err(error) => Err(error.into()),
    }
}

async fn remove(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(Which { surface, account }): Path<Which>,
) -> Answer<Vec<ConnectorView>> {
    let host = host(&admin, &surface)?;
    host.remove(asker.actor(), &account).await?;
    json(host.list().await?)
}

async fn reconcile(
    Extract(admin): Extract<Admin>,
    Path(Which { surface, account }): Path<Which>,
) -> Answer<ReconcileReport> {
    json(host(&admin, &surface)?.reconcile(&account).await?)
}

async fn reset(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(Which { surface, account }): Path<Which>,
    Body(ResetConnector { mode, dry_run }): Body<ResetConnector>,
) -> Answer<ResetReport> {
    let host = host(&admin, &surface)?;
    if !dry_run {
        // Before it is done: what is left of a reset that was killed half way has a reason on record.
        let (audit, subject) = (admin.control.audit(), format!("{surface} {account}"));
        audit.note(asker.actor(), "connector.reset", &subject, mode.as_str()).await?;
    }
    json(host.reset(asker.actor(), &account, mode, dry_run).await?)
}

#[cfg(test)]
#[path = "connectors_tests.rs"]
mod tests;
