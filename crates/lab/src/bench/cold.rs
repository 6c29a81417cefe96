//! Cold cells: the message that launches the cell, until its model request is out.

use super::Plan;
use super::driver::Driver;
use super::report::{Aim, Row};
use crate::plane::Plane;
use cloister::CliError;
use cloister_protocol::admin::CellView;

pub(super) async fn measure(
    plan: &Plan,
    plane: &Plane,
    driver: &mut Driver<'_>,
) -> Result<Row, CliError> {
    let stop = format!("/admin/v1/users/{}/cell/stop", driver.user());
    let mut times = Vec::with_capacity(plan.cold);
    for _ in 0..plan.cold {
        let _stopped: CellView = plane.client().post(&stop, &()).await?;
        times.push(driver.turn().await?.there);
    }
    let row = Row::times("cell.cold", "cold cell: message in → first model request", times);
    Ok(row.aim(Aim::AtMost(60.0)))
}
