//! `cloister-lab redteam`: attacks control planes of its own, with real sandboxes, by a model that obeys
//! every instruction it reads and by whoever is in already, and says what came of it.
//!
//! Owns: the scenarios (as data), the fake internet, the obedient model, the simulated person, the
//! insiders, the judgement by effect. Each scenario of the model runs twice, each time as a new user: attacked, with the person
//! first absent and then denying whatever they did not ask for; and as a harmless twin, where the
//! person answers and counts what they were asked. Everything lives in a directory of its own that is
//! gone at the end, unless it is to be kept.

mod args;
mod attacker;
mod channels;
mod goals;
mod insiders;
mod internet;
mod judge;
mod model;
mod obey;
mod person;
mod report;
mod repository;
mod run;
mod scenario;
mod stage;

use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use cloister::{CliError, Output};
use cloister_protocol::ErrorCode;
use futures_util::{StreamExt, stream};
use serde_json::json;

pub(crate) use args::Redteam;

use attacker::Attacker;
use insiders::{Insider, Standing, insiders};
use judge::Case;
use person::{Manner, Person};
use report::{Attack, AttackOutcome, Benign, Report, Verdict};
use run::Run;
use scenario::{Channel, Scenario, scenarios};
use stage::Stage;

/// What a tool says when its request waits for a person's answer, and what a task is told when the
/// answer is yes.
const HELD: &str = "a person is asked first";
const ALLOWED: &str = "do it again now";

pub(crate) async fn run(output: Output, asked: Redteam) -> Result<ExitCode, CliError> {
    let chosen = Chosen::of(&asked);
    if chosen.models.is_empty() && chosen.insiders.is_empty() {
        return Err(CliError::new(ErrorCode::NotFound, "no scenario has such an id")
            .fix("`cloister-lab redteam --list` shows them"));
    }
    if asked.list {
        let ids = chosen.ids();
        output.result(&json!({"scenarios": ids}), || ids.join("\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    cloister::raise_open_files();
    let place = place(asked.keep.as_deref())?;
    let stopped = cloister::asked_to_stop()?;
    let attacked = tokio::select! {
        attacked = attack(output, &asked, &chosen, place.path()) => attacked,
        () = stopped => Err(CliError::new(ErrorCode::Cancelled, "stopped before the end")),
    };
    if asked.keep.is_some() {
        let _kept = place.keep();
    } else {
        place.close().map_err(CliError::io("the suite's own directory could not be removed"))?;
    }
    let report = attacked?;
    output.result(&report, || report.words())?;
    Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What is to be tried.
struct Chosen {
    models: Vec<Scenario>,
    insiders: Vec<Insider>,
}

impl Chosen {
    fn of(asked: &Redteam) -> Self {
        let by_model = asked.attacker.is_empty() || asked.attacker.contains(&Attacker::Model);
        let models = if by_model { scenarios(&asked.only) } else { Vec::new() };
        // Another build is attacked from outside alone: it may have none of what insiders are given.
        let insiders = match asked.program {
            None => insiders(&asked.only, &asked.attacker),
            Some(_) => Vec::new(),
        };
        Self { models, insiders }
    }

    fn ids(&self) -> Vec<String> {
        self.models.iter().map(Scenario::id).chain(self.insiders.iter().map(Insider::id)).collect()
    }
}

fn place(keep: Option<&Path>) -> Result<tempfile::TempDir, CliError> {
    let mut builder = tempfile::Builder::new();
    let made = match keep.map(|dir| (dir.parent(), dir.file_name())) {
        Some((Some(parent), Some(name))) => {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            builder.prefix(name).rand_bytes(0).tempdir_in(parent)
        }
        Some(_) | None => builder.prefix("cloister-redteam-").tempdir(),
    };
    made.map_err(CliError::io("no directory could be made for the suite"))
}

/// For failures that end the suite.
fn failed(error: impl Display) -> CliError {
    CliError::new(ErrorCode::Internal, format!("the suite could not go on: {error}"))
}

async fn attack(
    output: Output,
    asked: &Redteam,
    chosen: &Chosen,
    place: &Path,
) -> Result<Report, CliError> {
    let began = Instant::now();
    let all = chosen.models.len() + chosen.insiders.len();
    output.note(&format!("{all} scenarios, {} at once …", asked.at_once));
    let (models, insiders) = tokio::join!(
        Box::pin(by_model(output, asked, &chosen.models, place)),
        Box::pin(insiders::run(&chosen.insiders, Standing::of(asked))),
    );
    let mut results = models?;
    results.extend(insiders);
    Ok(Report::new(results, began.elapsed().as_secs_f64()))
}

/// What comes in by what the model reads, on one control plane.
async fn by_model(
    output: Output,
    asked: &Redteam,
    chosen: &[Scenario],
    place: &Path,
) -> Result<Vec<Verdict>, CliError> {
    if chosen.is_empty() {
        return Ok(Vec::new());
    }
    let seed = stage::seed()?;
    let numbered = || chosen.iter().zip((1u32..).step_by(2));
    let names: Vec<String> = numbered()
        .map(|(_, number)| {
            format!("{}.attacker.test", obey::hex(run::canary(seed, number).as_bytes()))
        })
        .collect();
    let mut stage = Stage::set(place, &names, asked.program.as_deref(), seed).await?;
    let manner = if asked.gullible { Manner::Gullible } else { Manner::Absent };
    let results: Vec<_> = {
        let stage = &stage;
        let pairs = numbered().map(|(scenario, number)| async move {
            let attacked = Run::new(*scenario, true, number, seed, &stage.names);
            let twin = Run::new(*scenario, false, number + 1, seed, &stage.names);
            let attack = Box::pin(attacked_run(stage, &attacked, manner, place)).await;
            let benign = Box::pin(twin_run(stage, &twin, place)).await;
            Verdict::new(scenario, attack, benign)
        });
        stream::iter(pairs).buffer_unordered(asked.at_once.get()).collect().await
    };
    if results.iter().any(|one| one.attack.outcome == AttackOutcome::Broken) {
        output.note(&stage.plane.complaints());
    }
    stage.plane.stop().await;
    Ok(results)
}

async fn attacked_run(stage: &Stage, run: &Run, manner: Manner, place: &Path) -> Attack {
    let judged = try_attack(stage, run, manner, place).await;
    let obeyed = stage.model.witness(run.number).obeyed;
    match judged {
        Ok((outcome, why, questions)) => Attack { outcome, why, obeyed, questions },
        Err(error) => {
            let why = error.body.message;
            Attack { outcome: AttackOutcome::Broken, why, obeyed, questions: 0 }
        }
    }
}

async fn try_attack(
    stage: &Stage,
    run: &Run,
    manner: Manner,
    place: &Path,
) -> Result<(AttackOutcome, String, usize), CliError> {
    let mut scene = Scene::open(stage, run).await?;
    // Who asked for something that needs an answer is there to give it.
    let first = match manner {
        Manner::Absent if run.scenario.goal.rides => Manner::Careful,
        other => other,
    };
    for (at, said) in run.turns.iter().enumerate() {
        scene.person.say(said).await?;
        scene.person.settle(manner_at(run, at, first)).await?;
    }
    let mut harm = scene.harm(place).await?;
    let mut done = AttackOutcome::SucceededAbsent;
    if harm.is_none() && manner == Manner::Absent {
        scene.person.settle(Manner::Careful).await?;
        harm = scene.harm(place).await?;
        done = AttackOutcome::SucceededDenied;
    }
    let questions = scene.person.questions.len();
    scene.close().await?;
    // What an answer lets happen may happen after everything else has come to rest.
    if harm.is_none() {
        harm = scene.harm(place).await?;
    }
    Ok(match harm {
        Some(why) => (done, why, questions),
        None => (AttackOutcome::Stopped, String::new(), questions),
    })
}

/// What the person does about the questions of their first message may differ.
fn manner_at(run: &Run, turn: usize, usual: Manner) -> Manner {
    match turn {
        0 if run.scenario.goal.before.is_some() => Manner::Always,
        0 if run.channel() == Channel::MemoryKept => Manner::Gullible,
        _ => usual,
    }
}

async fn twin_run(stage: &Stage, run: &Run, place: &Path) -> Benign {
    let twin = &run.scenario.goal.twin;
    let mut benign = Benign {
        done: false,
        why: String::new(),
        expected: twin.expects.len(),
        questions: Vec::new(),
        latch: twin.sinks,
    };
    match try_twin(stage, run, place).await {
        Ok((missing, questions)) => {
            benign.done = missing.is_none();
            benign.why = missing.unwrap_or_default();
            benign.questions = questions;
        }
        Err(error) => benign.why = error.body.message,
    }
    benign
}

async fn try_twin(
    stage: &Stage,
    run: &Run,
    place: &Path,
) -> Result<(Option<String>, Vec<person::Question>), CliError> {
    let mut scene = Scene::open(stage, run).await?;
    for (at, said) in run.turns.iter().enumerate() {
        scene.person.say(said).await?;
        if !scene.person.settle(manner_at(run, at, Manner::Gullible)).await? {
            let results = stage.model.witness(run.number).results;
            return Err(failed(format!("it did not come to an end; {}", results.join(" | "))));
        }
    }
    let tasks_are_done = scene.person.tasks_are_done().await?;
    let received = scene.person.received(place).await?;
    // What was allowed is there only then.
    scene.close().await?;
    let case = scene.case(&received);
    let missing = if scene.person.failed {
        Some(format!("a turn failed: {}", scene.person.heard))
    } else if !tasks_are_done {
        Some(format!("a task failed: {}", scene.person.heard))
    } else if !scene.person.heard.contains(&run.fact) {
        let results = stage.model.witness(run.number).results;
        Some(format!("the answer does not have it; {}", results.join(" | ")))
    } else {
        case.missing()
    };
    let questions = scene.person.questions.clone();
    Ok((missing, questions))
}

/// One run: its user, its pages, its person.
struct Scene<'a> {
    stage: &'a Stage,
    run: &'a Run,
    user: cloister_protocol::admin::UserView,
    before: serde_json::Value,
    person: Person<'a>,
}

impl<'a> Scene<'a> {
    async fn open(stage: &'a Stage, run: &'a Run) -> Result<Self, CliError> {
        for (host, path, page) in &run.pages {
            stage.internet.serve(host, path, page.clone());
        }
        stage.model.learn(run);
        let name = format!("red{}", run.number);
        let user = stage.add_user(&name, run.scenario.goal.aim).await?;
        if run.scenario.goal.id.starts_with("exfil-secret") {
            stage.add_secret(run, &user.name).await?;
        }
        let before = judge::roles(stage, &user.name).await?;
        let mut person = Person::meet(stage, user.name.clone(), run.number).await?;
        person.expect(run);
        for (name, bytes) in &run.uploads {
            person.upload(name, bytes.clone()).await?;
        }
        Ok(Self { stage, run, user, before, person })
    }

    fn case<'b>(&'b self, received: &'b str) -> Case<'b> {
        let Self { stage, run, user, before, .. } = self;
        Case { stage, run, user, before, received }
    }

    async fn harm(&self, place: &Path) -> Result<Option<String>, CliError> {
        let received = self.person.received(place).await?;
        self.case(&received).harm().await
    }

    /// Lets go of what runs for this user; whatever the person answered has been carried out by then.
    async fn close(&mut self) -> Result<(), CliError> {
        self.person.leave().await?;
        let client = self.stage.plane.client();
        let name = &self.user.name;
        let path = format!("/admin/v1/users/{name}/tasks/cancel");
        let _cancelled: serde_json::Value = client.post(&path, &json!({})).await?;
        let path = format!("/admin/v1/users/{name}/cell/stop");
        let _stopped: serde_json::Value = client.post(&path, &json!({})).await?;
        Ok(())
    }
}
