//! Throughput: many sessions at once, beside as many direct calls at once to the same model server.

use std::time::{Duration, Instant};

use cloister_protocol::ChatId;
use futures_util::future::try_join_all;

use super::Plan;
use super::floor::Floor;
use super::model::{Manner, Model, small_talk};
use super::report::{Aim, Row, Unit};
use super::talker::{Talker, make_chat, make_user, make_users};
use crate::plane::Plane;
use cloister::{CliError, Output};

pub(super) async fn measure(
    output: Output,
    plan: &Plan,
    plane: &Plane,
    model: &Model,
) -> Result<Vec<Row>, CliError> {
    let mut users = Vec::new();
    for user in make_users(plane, "many", plan.sessions).await? {
        users.push(Talker::of_user(plane, user).await?);
    }
    let mut chats = Vec::new();
    let busy = make_user(plane, "busy").await?;
    chats.push(Talker::open(plane, busy.clone(), ChatId::from_number(1)).await?);
    while chats.len() < plan.sessions {
        let chat = make_chat(plane, &busy).await?;
        chats.push(Talker::open(plane, busy.clone(), chat).await?);
    }
    let mut rows = Vec::new();
    for manner in [Manner::Instant, Manner::Typical] {
        super::use_model(plane, model, manner).await?;
        output.note(&format!("throughput, {} sessions, {} …", plan.sessions, manner.words()));
        // The first turn of a session launches its cell.
        say_all(&mut users).await?;
        say_all(&mut chats).await?;
        let direct = direct(plan, model, manner).await?;
        let by_users = together(plan, &mut users).await?;
        let by_chats = together(plan, &mut chats).await?;
        rows.extend(rows_of(plan, manner, &direct, &by_users, &by_chats));
    }
    Ok(rows)
}

/// What came of many at once.
struct Together {
    per_second: f64,
    times: Vec<Duration>,
}

fn rows_of(
    plan: &Plan,
    manner: Manner,
    direct: &Together,
    users: &Together,
    chats: &Together,
) -> Vec<Row> {
    let (id, sessions) = (manner.as_str(), plan.sessions);
    let rate = |who: &str, what: &str, of: &Together| {
        let what = format!("{what}, {}", manner.words());
        Row::single(&format!("throughput.{who}.{id}"), &what, Unit::PerSecond, of.per_second)
    };
    let half = Aim::AtLeast(direct.per_second / 2.0);
    let floor = rate("floor", &format!("{sessions} direct callers"), direct);
    let by_users = rate("users", &format!("{sessions} users"), users).over(&floor).aim(half);
    let by_chats = rate("chats", &format!("{sessions} chats of one user"), chats).over(&floor);
    let time = |who: &str, of: &Together| {
        let what = format!("time of one answer among {sessions}");
        Row::times(&format!("throughput.{who}.{id}.time"), &what, of.times.clone())
    };
    let floor_time = time("floor", direct);
    let users_time = time("users", users).over(&floor_time);
    vec![floor, by_users, by_chats, floor_time, users_time]
}

async fn say_all(talkers: &mut [Talker]) -> Result<(), CliError> {
    let said = talkers.iter_mut().map(|talker| talker.say(small_talk()));
    try_join_all(said).await.map(|_turns| ())
}

async fn together(plan: &Plan, talkers: &mut [Talker]) -> Result<Together, CliError> {
    let began = Instant::now();
    let until = began + plan.throughput;
    let each = talkers.iter_mut().map(|talker| async move {
        let mut times = Vec::new();
        while Instant::now() < until {
            times.push(talker.say(small_talk()).await?.time());
        }
        Ok::<_, CliError>(times)
    });
    let times = try_join_all(each).await?.concat();
    Ok(Together { per_second: rate(times.len(), began.elapsed()), times })
}

async fn direct(plan: &Plan, model: &Model, manner: Manner) -> Result<Together, CliError> {
    let mut callers = Vec::new();
    for _ in 0..plan.sessions {
        callers.push(Floor::connect(model, manner).await?);
    }
    let began = Instant::now();
    let until = began + plan.throughput;
    let each = callers.iter_mut().map(|caller| async move {
        let mut times = Vec::new();
        while Instant::now() < until {
            times.push(caller.exchange().await?);
        }
        Ok::<_, CliError>(times)
    });
    let times = try_join_all(each).await?.concat();
    Ok(Together { per_second: rate(times.len(), began.elapsed()), times })
}

fn rate(count: usize, time: Duration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "shown to people, rounded anyway")]
    let rate = count as f64 / time.as_secs_f64();
    rate
}
