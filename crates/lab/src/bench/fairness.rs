//! Fairness: what quiet users notice of one who floods the agent socket and burns processor time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cloister_protocol::admin::{CancelTasks, Cancelled, TaskView};
use cloister_protocol::{ErrorCode, TaskState, UserName};
use futures_util::future::try_join_all;

use super::Plan;
use super::model::{BURN, Manner, Model, small_talk};
use super::report::{Aim, Row, Unit};
use super::talker::{Talker, broken, make_user, make_users};
use crate::plane::Plane;
use cloister::{CliError, Output};

/// How often a quiet user says something.
const PAUSE: Duration = Duration::from_secs(1);
/// A message of the one who floods, about a hundred times as often as is taken of one person.
const FLOOD_PAUSE: Duration = Duration::from_millis(5);
const BURNERS: usize = 5;
const BURN_START: Duration = Duration::from_secs(30);

pub(super) async fn measure(
    output: Output,
    plan: &Plan,
    plane: &Plane,
    model: &Model,
) -> Result<Vec<Row>, CliError> {
    super::use_model(plane, model, Manner::Instant).await?;
    let mut quiet = Vec::new();
    for user in make_users(plane, "quiet", plan.quiet).await? {
        quiet.push(Talker::of_user(plane, user).await?);
    }
    let loud = make_user(plane, "loud").await?;
    let mut starter = Talker::of_user(plane, loud.clone()).await?;
    let mut flooder = Talker::of_user(plane, loud.clone()).await?;
    talk(&mut quiet, 1).await?;
    output.note(&format!("fairness: {} quiet users alone …", plan.quiet));
    let alone = talk(&mut quiet, plan.quiet_turns).await?;
    output.note("fairness: the same beside a flood and five busy executors …");
    starter.say(BURN.to_owned()).await?;
    burning(plane, &loud).await?;
    let done = AtomicBool::new(false);
    let flooding = flood(&mut flooder, &done);
    let talking = async {
        let beside = talk(&mut quiet, plan.quiet_turns).await;
        done.store(true, Ordering::Relaxed);
        beside
    };
    let (beside, flood) = tokio::join!(talking, flooding);
    let (beside, flood) = (beside?, flood?);
    let still = burners(plane, &loud).await?;
    let stop = CancelTasks::default();
    let path = format!("/admin/v1/users/{loud}/tasks/cancel");
    let _cancelled: Cancelled = plane.client().post(&path, &stop).await?;
    if still < BURNERS {
        output.note(&format!("only {still} of the executors ran until the end"));
    }
    let alone = Row::times("fairness.alone", "turn of a quiet user, nobody else", alone);
    let beside =
        Row::times("fairness.beside", "the same beside a flood and 5 busy executors", beside)
            .over(&alone);
    let rise = (beside.p95() / alone.p95() - 1.0) * 100.0;
    Ok(vec![
        alone,
        beside,
        Row::single("fairness.rise", "rise of the quiet users' p95", Unit::Percent, rise)
            .aim(Aim::AtMost(20.0)),
        Row::single(
            "fairness.taken",
            "messages of the flood that were taken",
            Unit::Count,
            flood.taken,
        ),
        Row::single(
            "fairness.refused",
            "messages that were told to wait",
            Unit::Count,
            flood.refused,
        ),
    ])
}

/// Every quiet user says so many things, one a second, spread over the second.
async fn talk(quiet: &mut [Talker], turns: usize) -> Result<Vec<Duration>, CliError> {
    let count = u32::try_from(quiet.len()).unwrap_or(u32::MAX).max(1);
    let each = quiet.iter_mut().zip(0u32..).map(|(talker, place)| async move {
        let start = tokio::time::Instant::now() + PAUSE * place / count;
        let mut ticks = tokio::time::interval_at(start, PAUSE);
        let mut times = Vec::with_capacity(turns);
        for _ in 0..turns {
            ticks.tick().await;
            times.push(talker.say(small_talk()).await?.time());
        }
        Ok::<_, CliError>(times)
    });
    Ok(try_join_all(each).await?.concat())
}

#[derive(Default)]
struct Flood {
    taken: f64,
    refused: f64,
}

async fn flood(flooder: &mut Talker, done: &AtomicBool) -> Result<Flood, CliError> {
    let mut flood = Flood::default();
    let mut ticks = tokio::time::interval(FLOOD_PAUSE);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    while !done.load(Ordering::Relaxed) {
        ticks.tick().await;
        match flooder.say(small_talk()).await {
            Ok(_) => flood.taken += 1.0,
            Err(error) if error.body.code == ErrorCode::Busy => flood.refused += 1.0,
            Err(error) => return Err(error),
        }
    }
    Ok(flood)
}

/// How many tasks of a user have an executor.
async fn burners(plane: &Plane, user: &UserName) -> Result<usize, CliError> {
    let tasks: Vec<TaskView> = plane.client().get(&format!("/admin/v1/tasks?user={user}")).await?;
    Ok(tasks.iter().filter(|task| task.state == TaskState::Running).count())
}

/// Waits until every executor burns.
async fn burning(plane: &Plane, user: &UserName) -> Result<(), CliError> {
    let deadline = tokio::time::Instant::now() + BURN_START;
    while burners(plane, user).await? < BURNERS {
        if tokio::time::Instant::now() > deadline {
            return Err(broken("the executors that burn processor time did not start"));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // A running executor has its command a moment later.
    tokio::time::sleep(PAUSE).await;
    Ok(())
}
