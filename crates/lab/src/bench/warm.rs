//! Warm turns beside direct calls: what the product adds when the cell already runs.

use std::time::Duration;

use super::Plan;
use super::driver::{Driver, Round};
use super::floor::Floor;
use super::report::{Aim, Row};
use cloister::CliError;

/// Turns before the first that counts.
const WARM_UP: usize = 5;

pub(super) async fn measure(
    plan: &Plan,
    driver: &mut Driver<'_>,
    floor: &mut Floor,
) -> Result<Vec<Row>, CliError> {
    for _ in 0..WARM_UP {
        driver.round(floor).await?;
    }
    let mut rounds = Vec::with_capacity(plan.warm);
    for _ in 0..plan.warm {
        rounds.push(driver.round(floor).await?);
    }
    let of = |part: fn(&Round) -> Duration| -> Vec<Duration> { rounds.iter().map(part).collect() };
    let there = Row::times(
        "floor.there",
        "direct call: request sent → at the model",
        of(|r| r.direct.there),
    );
    let back =
        Row::times("floor.back", "direct call: model's answer → read", of(|r| r.direct.back));
    let turn_there =
        Row::times("turn.there", "turn: message in → model request out", of(|r| r.turn.there))
            .over(&there);
    let turn_back =
        Row::times("turn.back", "turn: model answer → reply out", of(|r| r.turn.back)).over(&back);
    let overhead =
        Row::times("turn.overhead", "turn: both, less the direct call's", of(|r| r.overhead()))
            .aim(Aim::AtMost(3.0))
            .aim(Aim::TailAtMost(15.0));
    Ok(vec![there, back, turn_there, turn_back, overhead])
}
