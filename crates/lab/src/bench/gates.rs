//! What deciding and recording cost: the engine alone, and both in a turn.

use std::time::{Duration, Instant};

use cloister_policy::engine::{
    Bounds, Cell, CellAsk, CellCall, ChatCall, ContextLists, Engine, FetchKind, Known, Manifest,
    Names, Ownership, Part, Person, Place, Request,
};
use cloister_policy::{Rated, egress};
use cloister_protocol::{ChatId, ErrorCode, TaskId, UserId, WorkspaceId};

use super::Plan;
use super::model::{TurnStep, step};
use super::report::{Aim, Row, Unit};
use super::talker::Talker;
use crate::plane::Plane;
use cloister::CliError;

/// Decisions per round of a turn.
const DECISIONS: u32 = 25;
/// Turns before the first that counts.
const WARM_UP: u64 = 3;

pub(super) async fn measure(plan: &Plan, plane: &Plane) -> Result<Vec<Row>, CliError> {
    let mut rows = decisions(plan)?;
    rows.extend(steps(plan, plane).await?);
    Ok(rows)
}

/// What the executor of this task, and people around it, ask for.
fn requests(number: u32) -> Result<Vec<Request>, CliError> {
    let wrong =
        |error: &dyn std::fmt::Display| CliError::new(ErrorCode::Internal, error.to_string());
    let (user, workspace, chat) =
        (UserId::from_number(number), WorkspaceId::from_number(number), ChatId::from_number(1));
    let role = format!("member@workspace:{workspace}").parse().map_err(|error| wrong(&error))?;
    let person = Person { user, roles: vec![role] };
    let ownership = Ownership::Private { owner: user };
    let place = Place { chat: Some(chat), ..Place::workspace(workspace, ownership) };
    let manifest = Manifest { secrets: Names::only(["github"]), ..Manifest::plain() };
    let cell = |part| Cell {
        part,
        person: person.clone(),
        place: place.clone(),
        chat,
        lists: ContextLists::UNLIMITED,
    };
    let executor = cell(Part::Executor { task: TaskId::from_number(number), manifest });
    let coordinator = cell(Part::Coordinator);
    let host: egress::Host =
        format!("host-{number}.example.org").parse().map_err(|error| wrong(&error))?;
    let fetch = |kind| CellAsk::Fetch { host: host.clone(), kind, rules: egress::Decision::Allow };
    let tool = |risk| {
        let tool = "bash".to_owned();
        CellAsk::CallTool { tool, changes: true, risk, bounds: Bounds::Layer }
    };
    let known = Known { stopped: false, plan_pending: false, untrusted: number.is_multiple_of(2) };
    let of = |cell: &Cell, ask: &CellAsk| Request::cell(cell, ask, &place, known);
    Ok(vec![
        of(&executor, &tool(Rated::Safe)),
        of(&executor, &tool(Rated::Destructive)),
        of(&executor, &fetch(FetchKind::Reading)),
        of(&executor, &fetch(FetchKind::Writing)),
        of(&executor, &CellAsk::UseSecret { secret: "github".to_owned() }),
        of(&executor, &CellAsk::CallModel { model: "large".to_owned() }),
        of(&coordinator, &CellAsk::Chat(CellCall::Delegate)),
        Request::chat(&person, ChatCall::SendMessage, &place, chat),
    ])
}

/// Every request is of another person, about another host: as many as ask, not one again and again.
fn decisions(plan: &Plan) -> Result<Vec<Row>, CliError> {
    let wrong =
        |error| CliError::new(ErrorCode::Internal, format!("the default policies: {error}"));
    let engine = Engine::new(&[]).map_err(wrong)?;
    let (mut usual, mut anew) = (Vec::new(), Vec::new());
    let rounds = u32::try_from(plan.warm).unwrap_or(u32::MAX).saturating_mul(DECISIONS);
    for number in 1..=rounds {
        for request in requests(number)? {
            usual.push(time(|| engine.decide(&request)));
            if number.is_multiple_of(DECISIONS) {
                anew.push(time(|| engine.decide_anew(&request)));
            }
        }
    }
    let usual = Row::micros("gates.decision", "a decision of the policies", usual);
    let anew = Row::micros("gates.decision.first", "a decision, the first of its kind", anew);
    Ok(vec![usual.aim(Aim::TailAtMost(50.0)), anew])
}

fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    std::hint::black_box(work());
    start.elapsed()
}

/// Turns whose tool is decided about and recorded, beside turns whose tool is neither; both ask the
/// control plane once.
async fn steps(plan: &Plan, plane: &Plane) -> Result<Vec<Row>, CliError> {
    let user = plane.client().user(None).await?;
    let mut talker = Talker::of_user(plane, user).await?;
    let (mut free, mut gated) = (Vec::new(), Vec::new());
    let rounds = u64::try_from(plan.warm).unwrap_or(u64::MAX);
    for round in 0..rounds + WARM_UP {
        let without = talker.say(step(TurnStep::Free, round)).await?.time();
        let with = talker.say(step(TurnStep::Gated, round)).await?.time();
        if round >= WARM_UP {
            free.push(without);
            gated.push(with);
        }
    }
    let free = Row::times("gates.step.free", "turn with a tool that is not gated", free);
    let gated =
        Row::times("gates.step.gated", "turn with a tool that is gated and recorded", gated);
    let adds = Row::single(
        "gates.adds",
        "what that adds, between the medians",
        Unit::Milliseconds,
        gated.p50() - free.p50(),
    );
    Ok(vec![free, gated, adds.aim(Aim::AtMost(1.0))])
}
