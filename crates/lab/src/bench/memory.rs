//! Memory at rest, as proportional set size: pages that processes share are shared out among them.

use cloister_protocol::admin::CellView;
use cloister_protocol::{ErrorCode, UserName};

use super::Plan;
use super::report::{Aim, Row};
use crate::plane::Plane;
use cloister::CliError;

/// Before anything was said to it.
pub(super) async fn at_the_start(plan: &Plan, plane: &Plane) -> Result<Row, CliError> {
    let mut control_plane = Vec::new();
    for _ in 0..plan.memory {
        tokio::time::sleep(plan.rest).await;
        control_plane.push(plane.pss_bytes()?);
    }
    let what = "control plane that was just started, PSS";
    Ok(Row::sizes("memory.start", what, &control_plane).aim(Aim::AtMost(20.0)))
}

pub(super) async fn measure(
    plan: &Plan,
    plane: &Plane,
    user: &UserName,
) -> Result<Vec<Row>, CliError> {
    let path = format!("/admin/v1/users/{user}/cell");
    let (mut control_plane, mut cell) = (Vec::new(), Vec::new());
    tokio::time::sleep(plan.idle).await;
    for _ in 0..plan.memory {
        // At rest is what is measured: the wait is part of the measurement.
        tokio::time::sleep(plan.rest).await;
        let view: CellView = plane.client().get(&path).await?;
        cell.push(view.pss_bytes.ok_or_else(|| {
            CliError::new(ErrorCode::Internal, "the cell ended while its memory was measured")
        })?);
        control_plane.push(plane.pss_bytes()?);
    }
    Ok(vec![
        Row::sizes("memory.control_plane", "idle control plane, PSS", &control_plane)
            .aim(Aim::AtMost(20.0)),
        Row::sizes("memory.cell", "idle cell, PSS", &cell).aim(Aim::AtMost(6.0)),
    ])
}
