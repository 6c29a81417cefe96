//! Density: so many cells live at once on this machine, and all of them are talked to again.

use std::time::{Duration, Instant};

use cloister_protocol::UserName;
use cloister_protocol::admin::{CellView, StatusView};
use futures_util::{StreamExt, stream};

use super::Plan;
use super::machine::{available_bytes, busy_time};
use super::model::{Manner, Model, small_talk};
use super::report::{Aim, Row, Unit};
use super::talker::{Talker, broken, make_users};
use crate::plane::Plane;
use cloister::{CliError, Output};

/// Clients that talk at the same time.
const AT_ONCE: usize = 16;
/// Cells whose memory is read one by one.
const SAMPLES: usize = 20;

pub(super) async fn measure(
    output: Output,
    plan: &Plan,
    plane: &Plane,
    model: &Model,
) -> Result<Vec<Row>, CliError> {
    super::use_model(plane, model, Manner::Instant).await?;
    let users = make_users(plane, "cell", plan.cells).await?;
    let mut talkers = Vec::with_capacity(users.len());
    for user in &users {
        talkers.push(Talker::of_user(plane, user.clone()).await?);
    }
    let free_before = available_bytes()?;
    output.note(&format!("density: launching {} cells …", plan.cells));
    let began = Instant::now();
    let mut first = Talks::all(&mut talkers).await;
    let launching = began.elapsed();
    output.note(&format!("density: talking to all {} again …", plan.cells));
    let again = Talks::all(&mut talkers).await;
    first.failed.extend(again.failed.iter().cloned());
    if let Some(failed) = first.failed.first() {
        output.note(&format!("a turn failed: {failed}"));
    }
    let status: StatusView = plane.client().get("/admin/v1/status").await?;
    let idle_cores = idle_cores(plan).await?;
    let mut cells = Vec::new();
    for user in sample(&users) {
        cells.push(memory_of(plane, user).await?);
    }
    let used = free_before.saturating_sub(available_bytes()?);
    let live = status.live_cells.len();
    let lost = first.failed.len() + plan.cells.saturating_sub(live);
    let count = |number: usize| u32::try_from(number).map_or(f64::NAN, f64::from);
    let per_second = count(plan.cells) / launching.as_secs_f64();
    Ok(vec![
        Row::single("density.live", "cells that are live at once", Unit::Count, count(live))
            .aim(Aim::AtLeast(count(plan.cells))),
        Row::single(
            "density.failed",
            "turns that failed, cells that ended",
            Unit::Count,
            count(lost),
        )
        .aim(Aim::AtMost(0.0)),
        Row::single(
            "density.launches",
            "cells launched and answering",
            Unit::PerSecond,
            per_second,
        ),
        Row::times("density.first", "first answer of a cell, 16 at once", first.times),
        Row::times("density.again", "second answer, all cells live, 16 at once", again.times),
        Row::sizes("density.cell", "memory of a cell among them, PSS", &cells)
            .aim(Aim::AtMost(6.0)),
        Row::sizes(
            "density.control_plane",
            "control plane with all of them, PSS",
            &[plane.pss_bytes()?],
        ),
        Row::sizes("density.machine", "all memory that was taken", &[used]),
        Row::single("density.idle", "processor used while all are idle", Unit::Cores, idle_cores),
    ])
}

/// What came of talking to everyone.
struct Talks {
    times: Vec<Duration>,
    failed: Vec<String>,
}

impl Talks {
    async fn all(talkers: &mut [Talker]) -> Self {
        let each = stream::iter(talkers.iter_mut().map(|talker| talker.say(small_talk())));
        let mut talks = Self { times: Vec::new(), failed: Vec::new() };
        let mut turns = each.buffer_unordered(AT_ONCE);
        while let Some(turn) = turns.next().await {
            match turn {
                Ok(turn) => talks.times.push(turn.time()),
                Err(error) => talks.failed.push(error.body.message),
            }
        }
        talks
    }
}

/// Some of them, from all over the list.
fn sample(users: &[UserName]) -> impl Iterator<Item = &UserName> {
    users.iter().step_by(users.len().div_ceil(SAMPLES).max(1))
}

async fn memory_of(plane: &Plane, user: &UserName) -> Result<u64, CliError> {
    let cell: CellView = plane.client().get(&format!("/admin/v1/users/{user}/cell")).await?;
    cell.pss_bytes.ok_or_else(|| broken(format!("the cell of {user} is not live")))
}

/// How many cores the whole machine keeps busy while nobody says anything.
async fn idle_cores(plan: &Plan) -> Result<f64, CliError> {
    // What is left of the last turns ends first.
    tokio::time::sleep(plan.rest).await;
    let (before, began) = (busy_time()?, Instant::now());
    tokio::time::sleep(plan.rest * 2).await;
    Ok((busy_time()? - before).max(0.0) / began.elapsed().as_secs_f64())
}
