//! `cloister-lab bench`: measures a real control plane on this machine, side by side with direct calls to
//! the same model server.
//!
//! Everything it starts lives in a directory of its own beside the data, so that the same disk is
//! measured, and is gone when it ends, however it ends. It asserts nothing: it says what it found.

mod args;
mod browser;
mod cold;
mod density;
mod driver;
mod executor;
mod fairness;
mod floor;
mod gates;
mod history;
mod landing;
mod machine;
mod memory;
mod model;
mod open_gate;
mod ordinary;
mod page;
mod plain;
mod proxy;
mod report;
mod talker;
mod throughput;
mod warm;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use cloister::{CliError, Output};
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{Chain, ModelView, NewModel};

pub(crate) use args::Bench;

use args::Leg;
use driver::Driver;
use floor::Floor;
use model::{Manner, Model};
use report::{Machine, Report, Row};

use crate::plane::{Plane, SendLimits};

/// How much is measured.
#[derive(Clone, Debug, serde::Serialize)]
struct Plan {
    legs: Vec<Leg>,
    warm: usize,
    cold: usize,
    executors: usize,
    landings: usize,
    memory: usize,
    /// Messages that a chat holds when its turns are measured, and how many turns are.
    history: [usize; 3],
    history_turns: usize,
    /// Sessions at once.
    sessions: usize,
    cells: usize,
    pages: usize,
    /// Users who say something now and then, and how often each does.
    quiet: usize,
    quiet_turns: usize,
    #[serde(skip)]
    throughput: Duration,
    #[serde(skip)]
    rest: Duration,
    /// How long nothing is done before an idle one is measured: it gives back what it does not need by then.
    #[serde(skip)]
    idle: Duration,
}

impl Plan {
    fn new(asked: &Bench) -> Self {
        let legs = if asked.only.is_empty() { Leg::ALL.to_vec() } else { asked.only.clone() };
        let whole = Self {
            legs,
            warm: 400,
            cold: 50,
            executors: 100,
            landings: 20,
            memory: 5,
            history: [10, 1_000, 10_000],
            history_turns: 100,
            sessions: 64,
            cells: 1_000,
            pages: 20,
            quiet: 20,
            quiet_turns: 20,
            throughput: Duration::from_secs(8),
            rest: Duration::from_secs(2),
            idle: Duration::from_secs(160),
        };
        let quick = Self {
            warm: 100,
            cold: 15,
            executors: 30,
            landings: 6,
            history: [10, 200, 1_000],
            history_turns: 40,
            cells: 50,
            quiet_turns: 8,
            throughput: Duration::from_secs(2),
            ..whole.clone()
        };
        let plan = match (asked.rounds, asked.quick) {
            (Some(rounds), _) => Self::of_rounds(rounds.get(), whole),
            (None, true) => quick,
            (None, false) => whole,
        };
        Self { cells: asked.cells.map_or(plan.cells, std::num::NonZeroUsize::get), ..plan }
    }

    fn of_rounds(rounds: usize, whole: Self) -> Self {
        Self {
            warm: rounds,
            cold: rounds,
            executors: rounds,
            landings: rounds,
            memory: 1,
            history: [4, 8, 12],
            history_turns: rounds,
            sessions: rounds,
            cells: rounds,
            pages: rounds,
            quiet: rounds,
            quiet_turns: 1,
            throughput: Duration::from_millis(300),
            rest: Duration::from_millis(500),
            idle: Duration::ZERO,
            ..whole
        }
    }

    fn has(&self, leg: Leg) -> bool {
        self.legs.contains(&leg)
    }
}

pub(crate) async fn run(output: Output, asked: Bench) -> Result<ExitCode, CliError> {
    // Many clients have many connections.
    cloister::raise_open_files();
    let (machine, plan) = (Machine::now(), Plan::new(&asked));
    let place = scratch(&cloister::data_dir(asked.data.as_deref())?)?;
    let stopped = cloister::asked_to_stop()?;
    let measured = tokio::select! {
        measured = measure(output, &plan, place.path()) => measured,
        () = stopped => Err(CliError::new(ErrorCode::Cancelled, "stopped before the end")),
    };
    let removed = place.close();
    let report = Report::new(machine, plan, measured?);
    removed.map_err(CliError::io("the bench's own directory could not be removed"))?;
    output.result(&report, || report.words())?;
    Ok(ExitCode::SUCCESS)
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

/// A control plane for some legs, and what they share.
struct Stage {
    plane: Plane,
    model: Model,
}

impl Stage {
    async fn set(place: &Path, limits: SendLimits) -> Result<Self, CliError> {
        let model = Model::start().await?;
        let plane = Plane::start(place, limits).await?;
        use_model(&plane, &model, Manner::Instant).await?;
        Ok(Self { plane, model })
    }

    /// Ends the control plane; if the legs failed, says what its log complains of.
    async fn clear<T>(
        mut self,
        output: Output,
        measured: Result<T, CliError>,
    ) -> Result<T, CliError> {
        if measured.is_err() {
            output.note(&self.plane.complaints());
        }
        self.plane.stop().await;
        measured
    }
}

async fn measure(output: Output, plan: &Plan, place: &Path) -> Result<Vec<Row>, CliError> {
    let mut rows = Vec::new();
    if [Leg::Turn, Leg::Memory, Leg::Cold, Leg::History].into_iter().any(|leg| plan.has(leg)) {
        let stage = Stage::set(&place.join("turns"), SendLimits::Lifted).await?;
        let measured = turns(output, plan, &stage).await;
        rows.extend(stage.clear(output, measured).await?);
    }
    if plan.has(Leg::Client) {
        output.note(&format!("turns of another client ({} rounds) …", plan.warm));
        let stage = Stage::set(&place.join("client"), SendLimits::Lifted).await?;
        let measured = ordinary::measure(output, plan, &stage.plane, &stage.model).await;
        rows.extend(stage.clear(output, measured).await?);
    }
    if plan.has(Leg::Executor) {
        output.note(&format!("executors ({} launches) …", plan.executors));
        rows.extend(executor::measure(plan, place).await?);
    }
    if plan.has(Leg::Landing) {
        output.note(&format!("landings ({} rounds) …", plan.landings));
        rows.extend(landing::measure(plan, place).await?);
    }
    if plan.has(Leg::Throughput) {
        let stage = Stage::set(&place.join("throughput"), SendLimits::Lifted).await?;
        let measured = throughput::measure(output, plan, &stage.plane, &stage.model).await;
        rows.extend(stage.clear(output, measured).await?);
    }
    if plan.has(Leg::Proxy) {
        output.note(&format!("proxy and broker ({} rounds) …", plan.warm));
        rows.extend(proxy::measure(plan, place).await?);
    }
    if plan.has(Leg::Gates) {
        output.note(&format!("gates and audit ({} rounds) …", plan.warm));
        let stage = Stage::set(&place.join("gates"), SendLimits::Lifted).await?;
        let measured = gates::measure(plan, &stage.plane).await;
        rows.extend(stage.clear(output, measured).await?);
    }
    if plan.has(Leg::Page) {
        output.note("the chat page …");
        let stage = Stage::set(&place.join("page"), SendLimits::Lifted).await?;
        let measured = page::measure(output, plan, &stage.plane).await;
        rows.extend(stage.clear(output, measured).await?);
    }
    if plan.has(Leg::Fairness) {
        let stage = Stage::set(&place.join("fairness"), SendLimits::Usual).await?;
        let measured = fairness::measure(output, plan, &stage.plane, &stage.model).await;
        rows.extend(stage.clear(output, measured).await?);
    }
    if plan.has(Leg::Density) {
        let stage = Stage::set(&place.join("density"), SendLimits::Lifted).await?;
        let measured = density::measure(output, plan, &stage.plane, &stage.model).await;
        rows.extend(stage.clear(output, measured).await?);
    }
    Ok(rows)
}

/// One session, one turn at a time.
async fn turns(output: Output, plan: &Plan, stage: &Stage) -> Result<Vec<Row>, CliError> {
    let mut floor = Floor::connect(&stage.model, Manner::Instant).await?;
    let mut rows = Vec::new();
    if plan.has(Leg::Memory) {
        output.note("memory, just started …");
        rows.push(memory::at_the_start(plan, &stage.plane).await?);
    }
    let mut driver = Driver::new(&stage.plane, &stage.model).await?;
    if plan.has(Leg::Turn) {
        output.note(&format!("warm turns ({} rounds) …", plan.warm));
        rows.extend(warm::measure(plan, &mut driver, &mut floor).await?);
    }
    if plan.has(Leg::Memory) {
        output.note("memory, idle …");
        driver.turn().await?;
        rows.extend(memory::measure(plan, &stage.plane, driver.user()).await?);
    }
    if plan.has(Leg::Cold) {
        output.note(&format!("cold cells ({} rounds) …", plan.cold));
        rows.push(cold::measure(plan, &stage.plane, &mut driver).await?);
    }
    if plan.has(Leg::History) {
        output.note(&format!("chats of {:?} messages …", plan.history));
        rows.extend(history::measure(plan, &mut driver, &mut floor).await?);
    }
    Ok(rows)
}

/// Makes the bench's model, in this manner, the one that coordinators use.
async fn use_model(plane: &Plane, model: &Model, manner: Manner) -> Result<(), CliError> {
    let name = format!("bench-{}", manner.as_str());
    use_model_at(plane, (&name, model.base_url(manner)), &["coordinator"]).await
}

/// Makes the model at an address the one that is used for these kinds of work.
async fn use_model_at(
    plane: &Plane,
    (name, base_url): (&str, String),
    levels: &[&str],
) -> Result<(), CliError> {
    let name = name.to_owned();
    let new = NewModel {
        name: name.clone(),
        base_url,
        model: name.clone(),
        key: None,
        key_env: None,
        // The rounds of a long run must not meet a budget.
        prompt_usd: Some(0.0),
        completion_usd: Some(0.0),
        max_output_tokens: Some(1_000),
        replace: true,
        keep_key: false,
        keep_settings: false,
        untested: true,
        settings: cloister_protocol::ModelSettings::default(),
    };
    let _added: ModelView = plane.client().post("/admin/v1/models", &new).await?;
    let chain = Chain { models: vec![name] };
    for level in levels {
        let path = format!("/admin/v1/levels/{level}");
        let put = axum::http::Method::PUT;
        let _used: serde_json::Value = plane.client().call(put, &path, Some(&chain)).await?;
    }
    Ok(())
}
