//! `cloister bench`: measures a real control plane on this machine, side by side with direct calls to
//! the same model server.
//!
//! Everything it starts lives in a directory of its own beside the data, so that the same disk is
//! measured, and is gone when it ends, however it ends. It asserts nothing: it says what it found.

mod cold;
mod driver;
mod executor;
mod floor;
mod history;
mod memory;
mod model;
mod plane;
mod report;
mod warm;

use std::path::Path;
use std::time::Duration;

use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{Chain, ModelView, NewModel};

use super::Context;
use crate::args::Bench;
use crate::output::{CliError, Output};
use driver::Driver;
use floor::Floor;
use model::Model;
use plane::Plane;
use report::{Machine, Report, Row};

/// How much is measured.
#[derive(Clone, Debug, serde::Serialize)]
struct Plan {
    warm: usize,
    cold: usize,
    executors: usize,
    memory: usize,
    /// Messages that a chat holds when its turns are measured, and how many turns are.
    history: [usize; 3],
    history_turns: usize,
    #[serde(skip)]
    rest: Duration,
}

impl Plan {
    fn new(asked: &Bench) -> Self {
        let whole = Self {
            warm: 400,
            cold: 50,
            executors: 100,
            memory: 5,
            history: [10, 1_000, 10_000],
            history_turns: 100,
            rest: Duration::from_secs(2),
        };
        let quick = Self {
            warm: 100,
            cold: 15,
            executors: 30,
            history: [10, 200, 1_000],
            history_turns: 40,
            ..whole.clone()
        };
        match (asked.rounds, asked.quick) {
            (Some(rounds), _) => {
                let rounds = rounds.get();
                Self {
                    warm: rounds,
                    cold: rounds,
                    executors: rounds,
                    memory: 1,
                    history: [4, 8, 12],
                    history_turns: rounds,
                    ..whole
                }
            }
            (None, true) => quick,
            (None, false) => whole,
        }
    }
}

pub(super) async fn run(context: Context, asked: Bench) -> Result<(), CliError> {
    let (machine, plan) = (Machine::now(), Plan::new(&asked));
    let place = scratch(&context.data)?;
    let stopped = super::up::asked_to_stop()?;
    let mut plane = Plane::start(place.path()).await?;
    let measured = tokio::select! {
        measured = measure(context.output, &plan, place.path(), &plane) => measured,
        () = stopped => Err(CliError::new(ErrorCode::Cancelled, "stopped before the end")),
    };
    if measured.is_err() {
        context.output.note(&plane.complaints());
    }
    plane.stop().await;
    let removed = place.close();
    let report = Report::new(machine, plan, measured?);
    removed.map_err(CliError::io("the bench's own directory could not be removed"))?;
    context.output.result(&report, || report.words())
}

/// A directory of its own, on the disk where the data is or would be.
fn scratch(data: &Path) -> Result<tempfile::TempDir, CliError> {
    let base = data.ancestors().find(|dir| dir.is_dir()).unwrap_or(data);
    let failed = format!("no directory could be made in {}", base.display());
    tempfile::Builder::new()
        .prefix("cloister-bench-")
        .tempdir_in(base)
        .map_err(CliError::io(failed))
}

async fn measure(
    output: Output,
    plan: &Plan,
    place: &Path,
    plane: &Plane,
) -> Result<Vec<Row>, CliError> {
    let model = Model::start().await?;
    use_model(plane, &model).await?;
    let mut floor = Floor::connect(&model).await?;
    let mut driver = Driver::new(plane, &model).await?;
    let mut rows = Vec::new();
    output.note(&format!("warm turns ({} rounds) …", plan.warm));
    rows.extend(warm::measure(plan, &mut driver, &mut floor).await?);
    output.note("memory, idle …");
    rows.extend(memory::measure(plan, plane, driver.user()).await?);
    output.note(&format!("cold cells ({} rounds) …", plan.cold));
    rows.push(cold::measure(plan, plane, &mut driver).await?);
    output.note(&format!("executors ({} launches) …", plan.executors));
    rows.extend(executor::measure(plan, place).await?);
    output.note(&format!("chats of {:?} messages …", plan.history));
    rows.extend(history::measure(plan, &mut driver, &mut floor).await?);
    Ok(rows)
}

/// Makes the bench's model the only one.
async fn use_model(plane: &Plane, model: &Model) -> Result<(), CliError> {
    let name = "bench";
    let new = NewModel {
        name: name.to_owned(),
        base_url: model.base_url(),
        model: name.to_owned(),
        key: None,
        key_env: None,
        // The rounds of a long run must not meet a budget.
        prompt_usd: Some(0.0),
        completion_usd: Some(0.0),
        max_output_tokens: Some(1_000),
        replace: false,
    };
    let _added: ModelView = plane.client().post("/admin/v1/models", &new).await?;
    let chain = Chain { models: vec![name.to_owned()] };
    let put = axum::http::Method::PUT;
    let _used: serde_json::Value =
        plane.client().call(put, "/admin/v1/levels/coordinator", Some(&chain)).await?;
    Ok(())
}
