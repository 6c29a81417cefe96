//! The cells of users.

use axum::extract::State as Extract;
use cloister_protocol::admin::CellView;

use super::Admin;
use crate::reply::{Answer, Path, json};

pub(super) async fn show(
    Extract(admin): Extract<Admin>,
    Path(name): Path<String>,
) -> Answer<CellView> {
    let user = super::user(&admin, &name).await?;
    let pss_bytes = admin.control.cell_memory(user.workspace).await;
    json(CellView { live: pss_bytes.is_some(), pss_bytes })
}

/// Stops the cell; the next message launches it again.
pub(super) async fn stop(
    Extract(admin): Extract<Admin>,
    Path(name): Path<String>,
) -> Answer<CellView> {
    let user = super::user(&admin, &name).await?;
    admin.control.stop_cell(user.workspace).await;
    json(CellView { live: false, pss_bytes: None })
}
