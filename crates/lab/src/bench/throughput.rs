//! Throughput: many sessions at once, beside as many of a bare proxy to the same model server.

use std::time::{Duration, Instant};

use cloister_protocol::{ChatId, UserName};
use futures_util::future::try_join_all;

use super::Plan;
use super::model::{Manner, Model, small_talk};
use super::plain::{Bare, Plain, TurnsAt};
use super::report::{Aim, Row, Unit};
use super::talker::{make_chat, make_user, make_users};
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
        users.push(talker(plane, &user, ChatId::from_number(1)).await?);
    }
    let mut chats = Vec::new();
    let busy = make_user(plane, "busy").await?;
    chats.push(talker(plane, &busy, ChatId::from_number(1)).await?);
    while chats.len() < plan.sessions {
        let chat = make_chat(plane, &busy).await?;
        chats.push(talker(plane, &busy, chat).await?);
    }
    let mut rows = Vec::new();
    for manner in [Manner::Instant, Manner::Typical] {
        super::use_model(plane, model, manner).await?;
        output.note(&format!("throughput, {} sessions, {} …", plan.sessions, manner.words()));
        // The first turn of a session launches its cell.
        say_all(&mut users).await?;
        say_all(&mut chats).await?;
        let floor = floor(plan, model, manner).await?;
        let by_users = together(plan, &mut users).await?;
        let by_chats = together(plan, &mut chats).await?;
        rows.extend(rows_of(plan, manner, &floor, &by_users, &by_chats));
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
    bare: &Together,
    users: &Together,
    chats: &Together,
) -> Vec<Row> {
    let (id, sessions) = (manner.as_str(), plan.sessions);
    let rate = |who: &str, what: &str, of: &Together| {
        let what = format!("{what}, {}", manner.words());
        Row::single(&format!("throughput.{who}.{id}"), &what, Unit::PerSecond, of.per_second)
    };
    let half = Aim::AtLeast(bare.per_second / 2.0);
    let floor = rate("floor", &format!("{sessions} users of a bare proxy"), bare);
    let by_users = rate("users", &format!("{sessions} users"), users).over(&floor).aim(half);
    let by_chats = rate("chats", &format!("{sessions} chats of one user"), chats).over(&floor);
    let time = |who: &str, of: &Together| {
        let what = format!("time of one answer among {sessions}");
        Row::times(&format!("throughput.{who}.{id}.time"), &what, of.times.clone())
    };
    let floor_time = time("floor", bare);
    let users_time = time("users", users).over(&floor_time);
    vec![floor, by_users, by_chats, floor_time, users_time]
}

async fn talker(plane: &Plane, user: &UserName, chat: ChatId) -> Result<Plain, CliError> {
    Plain::open(&TurnsAt::of_user(plane, user, chat).await?).await
}

async fn say_all(talkers: &mut [Plain]) -> Result<(), CliError> {
    let said = talkers.iter_mut().map(|talker| talker.say(small_talk()));
    try_join_all(said).await.map(|_turns| ())
}

async fn together(plan: &Plan, talkers: &mut [Plain]) -> Result<Together, CliError> {
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

/// The same through something that only passes words on.
async fn floor(plan: &Plan, model: &Model, manner: Manner) -> Result<Together, CliError> {
    let bare = Bare::start(model, manner).await?;
    let mut callers = Vec::new();
    for _ in 0..plan.sessions {
        callers.push(Plain::open(bare.place()).await?);
    }
    together(plan, &mut callers).await
}

fn rate(count: usize, time: Duration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "shown to people, rounded anyway")]
    let rate = count as f64 / time.as_secs_f64();
    rate
}
