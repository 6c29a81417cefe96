//! The cells of users.

use axum::extract::State as Extract;
use cloister_policy::engine::WorkspaceCall;
use cloister_protocol::admin::CellView;

use super::Admin;
use super::authorise::Asker;
use super::route::{About, Route};
use crate::reply::{Answer, Path, json};

pub(super) fn routes() -> Vec<Route> {
    let workspace = About::Workspace;
    vec![
        Route::get("/admin/v1/users/{user}/cell", workspace(WorkspaceCall::ShowCell), show),
        Route::post("/admin/v1/users/{user}/cell/stop", workspace(WorkspaceCall::StopCell), stop),
    ]
}

async fn show(Extract(admin): Extract<Admin>, Path(name): Path<String>) -> Answer<CellView> {
    let user = super::user(&admin, &name).await?;
    let pss_bytes = admin.control.cells().cell_memory(user.workspace).await;
    json(CellView { live: pss_bytes.is_some(), pss_bytes })
}

/// Stops the cell; the next message launches it again.
async fn stop(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(name): Path<String>,
) -> Answer<CellView> {
    let user = super::user(&admin, &name).await?;
    admin.control.cells().stop_cell(asker.actor(), user.workspace).await?;
    json(CellView { live: false, pss_bytes: None })
}
