//! What the product adds to a homeserver's own time, and what rooms cost: measured, not asserted.
//!
//! A delay is measured by one client that only listens: from the moment the homeserver tells it of a message
//! to the moment it tells it of the first event of the answer. Beside it stands the same of a client that
//! does nothing but repeat what it hears.

mod delay;
mod echo;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::ModelServer;
use crate::stack::{Stack, StackError};
use crate::synapse::{Account, PlainPerson, Synapse, SynapseError};
use delay::Delays;
use echo::Echo;

const CONFIG: &str = "[users]\ndaily_budget_usd = 1000000.0\n[cells]\nttl_s = 600\n\
                      [limits]\nperson_burst = 100000\nperson_per_s = 1000.0\ncommand_burst = 100000\n\
                      command_per_s = 1000.0\nsurface_burst = 100000\n";
/// How long making one room may take.
const ROOM_TIME: Duration = Duration::from_secs(30);
/// How long a restart may take to be connected again.
const CONNECT_TIME: Duration = Duration::from_secs(900);
/// Rooms of one person in the legs with many.
const ROOMS_EACH: usize = 10;
/// How long the product is left alone before its memory is read.
const REST: Duration = Duration::from_secs(5);

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub rooms: usize,
    pub active: usize,
    pub messages: usize,
    pub per_second: f64,
}

#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error("the model server did not start")]
    Model(#[source] std::io::Error),
    #[error(transparent)]
    Stack(#[from] StackError),
    #[error(transparent)]
    Synapse(#[from] SynapseError),
    #[error("{what}")]
    Io { what: String, source: std::io::Error },
    #[error("{what}")]
    Database { what: &'static str, source: rusqlite::Error },
    #[error("never: {0}")]
    Late(String),
}

/// Told row by row.
pub type Tell<'a> = &'a (dyn Fn(&dyn fmt::Display) + Sync);

/// Runs every leg.
pub async fn run(plan: &Plan, tell: Tell<'_>) -> Result<(), BenchError> {
    let synapse = Synapse::shared().await?;
    let model = ModelServer::builder().keep(0).start().await.map_err(BenchError::Model)?;
    tell(
        &"row                            what                                                       value",
    );
    for active in [1, plan.active] {
        delays(&synapse, &model, plan, active, tell).await?;
    }
    if plan.rooms > 0 {
        many_rooms(&synapse, &model, plan.rooms, tell).await?;
    }
    Ok(())
}

/// A row of the table.
struct Row<'a>(&'a str, &'a str, String);

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<30} {:<58} {}", self.0, self.1, self.2)
    }
}

/// The product with a bot, without encryption: what is measured is us, not the ciphers.
async fn start(synapse: &Synapse, model: &ModelServer) -> Result<(Stack, Account), BenchError> {
    let stack = Stack::builder().config(CONFIG).log_filter("warn").start().await?;
    stack.use_model(model).await?;
    let bot = synapse.register("bot").await?;
    let file = stack.data().join("bot.password");
    let what = || "the bot's password could not be written".to_owned();
    std::fs::write(&file, &bot.password)
        .map_err(|source| BenchError::Io { what: what(), source })?;
    let (url, file) = (synapse.url(), file.to_string_lossy().into_owned());
    let account = ["matrix", "add", "--plain-rooms", "--homeserver", &url, "--user", &bot.user_id];
    stack.cli_ok(&[&account[..], &["--password-file", &file]].concat()).await?;
    Ok((stack, bot))
}

/// A person and their rooms, made by the product.
async fn person_with_rooms(
    stack: &Stack,
    synapse: &Synapse,
    bot: &Account,
    (user, rooms): (&str, usize),
) -> Result<(PlainPerson, Vec<String>), BenchError> {
    let mut person = PlainPerson::register(synapse, user).await?;
    stack.cli_ok(&["user", "add", user]).await?;
    stack.cli_ok(&["user", "link", user, "--surface", "matrix", "--id", person.id()]).await?;
    person.invite(&bot.user_id).await?;
    let first = person.until("the first room", ROOM_TIME, |me| me.room_of("C1")).await?;
    for _ in 1..rooms {
        person.say(&first, "!new").await?;
    }
    let names = |me: &PlainPerson| -> Vec<String> {
        (1..=rooms).filter_map(|number| me.room_of(&format!("C{number}"))).collect()
    };
    let within = ROOM_TIME.saturating_mul(u32::try_from(rooms).unwrap_or(u32::MAX));
    let found = person.until("every room of a person", within, |me| {
        Some(names(me)).filter(|found| found.len() == rooms)
    });
    let found = found.await?;
    Ok((person, found))
}

/// The delay that we add, and the same of a client that only repeats, with so many active rooms.
async fn delays(
    synapse: &Synapse,
    model: &ModelServer,
    plan: &Plan,
    active: usize,
    tell: Tell<'_>,
) -> Result<(), BenchError> {
    let (mut stack, bot) = start(synapse, model).await?;
    let mut people = Vec::new();
    let each = active.min(ROOMS_EACH);
    for number in 0..active.div_ceil(ROOMS_EACH) {
        people.push(person_with_rooms(&stack, synapse, &bot, (&format!("p{number}"), each)).await?);
    }
    let ours = delay::measure(&people, &bot.user_id, plan).await?;
    stack.stop().await?;

    let echo_account = synapse.register("echo").await?;
    let mut plain = Vec::new();
    for (person, rooms) in &people {
        let mut made = Vec::new();
        for _ in rooms {
            made.push(person.invite(&echo_account.user_id).await?);
        }
        plain.push((PlainPerson::of(synapse, person.account().clone()), made));
    }
    let echo = Echo::start(synapse, echo_account.clone(), active).await?;
    let floor = delay::measure(&plain, &echo_account.user_id, plan).await?;
    drop(echo);
    tell_delays(active, &floor, &ours, tell);
    Ok(())
}

fn tell_delays(active: usize, floor: &Delays, ours: &Delays, tell: Tell<'_>) {
    let name = |what: &str| format!("matrix.{what}.{active}");
    let rooms = if active == 1 { "1 room" } else { "many rooms" };
    tell(&Row(
        &name("echo"),
        &format!("{rooms}: event told → first event of a mere echo"),
        floor.words(),
    ));
    tell(&Row(&name("reply"), &format!("{rooms}: event told → our first event"), ours.words()));
    let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64().max(1e-9);
    let compared = format!(
        "p50 {:.2} ×, p99 {:.2} × the echo",
        ratio(ours.p50(), floor.p50()),
        ratio(ours.p99(), floor.p99())
    );
    tell(&Row(&name("ratio"), "ours beside the echo", compared));
    let added = ours.p50().saturating_sub(floor.p50()).as_secs_f64() * 1e3;
    tell(&Row(&name("adds"), "what we add to the echo, p50", format!("{added:.1} ms")));
}

/// Memory with many rooms, and the time to find them again.
async fn many_rooms(
    synapse: &Synapse,
    model: &ModelServer,
    rooms: usize,
    tell: Tell<'_>,
) -> Result<(), BenchError> {
    let (mut stack, bot) = start(synapse, model).await?;
    sleep(REST).await;
    let before = memory(&stack)?;
    let each = rooms.div_ceil(10);
    let began = Instant::now();
    for number in 0..10 {
        person_with_rooms(&stack, synapse, &bot, (&format!("m{number}"), each)).await?;
    }
    let made = rooms_known(stack.data())?;
    let per_second = made as f64 / began.elapsed().as_secs_f64();
    tell(&Row(
        "matrix.rooms.made",
        "rooms made, with their Spaces",
        format!("{per_second:.1} a second"),
    ));
    sleep(REST).await;
    let after = memory(&stack)?;
    tell(&Row("matrix.memory.before", "control plane with a bot and no room, PSS", mib(before)));
    tell(&Row("matrix.memory.after", &format!("the same with {made} rooms"), mib(after)));
    let each = after.saturating_sub(before) * 1024 / made.max(1);
    tell(&Row("matrix.memory.room", "for each room", format!("{:.1} KiB", each as f64 / 1024.0)));

    let (took, _) = restart(&mut stack, &bot).await?;
    tell(&Row(
        "matrix.restart",
        "start → connected, nothing lost",
        format!("{:.1} s", took.as_secs_f64()),
    ));
    stack.stop().await?;
    forget(stack.data())?;
    let (took, view) = restart(&mut stack, &bot).await?;
    tell(&Row(
        "matrix.restart.lost",
        "start → connected, every room forgotten",
        format!("{:.1} s", took.as_secs_f64()),
    ));
    let took_ms = view.pointer("/reconciled/took_ms").and_then(Value::as_u64).unwrap_or(0);
    let restored =
        view.pointer("/reconciled/restored").and_then(Value::as_array).map_or(0, Vec::len);
    let found = format!("{:.1} s, {restored} restored", took_ms as f64 / 1e3);
    tell(&Row("matrix.reconcile", &format!("of it: {made} rooms found again"), found));
    sleep(REST).await;
    tell(&Row("matrix.memory.restarted", "control plane after that, PSS", mib(memory(&stack)?)));
    stack.stop().await?;
    Ok(())
}

/// Starts again; how long until the bot is connected, and what is said of it then.
async fn restart(stack: &mut Stack, bot: &Account) -> Result<(Duration, Value), BenchError> {
    stack.stop().await?;
    let began = Instant::now();
    stack.restart().await?;
    while began.elapsed() < CONNECT_TIME {
        let listed = stack.cli_ok(&["--json", "matrix", "list"]).await?;
        let listed: Value = serde_json::from_str(&listed).unwrap_or_default();
        let ours =
            |view: &&Value| view.get("account").and_then(Value::as_str) == Some(&bot.user_id);
        if let Some(view) = listed.as_array().into_iter().flatten().find(ours)
            && view.get("state").and_then(Value::as_str) == Some("connected")
        {
            return Ok((began.elapsed(), view.clone()));
        }
        sleep(Duration::from_millis(100)).await;
    }
    Err(BenchError::Late("the bot is connected after a start".to_owned()))
}

fn database(data: &Path) -> Result<rusqlite::Connection, BenchError> {
    let what = "the database could not be opened";
    let failed = |source| BenchError::Database { what, source };
    let db = rusqlite::Connection::open(data.join("cloister.db")).map_err(failed)?;
    db.busy_timeout(Duration::from_secs(10)).map_err(failed)?;
    Ok(db)
}

fn rooms_known(data: &Path) -> Result<u64, BenchError> {
    let rooms =
        "SELECT count(*) FROM conversations WHERE kind = 'room' AND external_id IS NOT NULL";
    let count = database(data)?.query_row(rooms, [], |row| row.get::<_, u32>(0));
    let what = "rooms could not be counted";
    count.map(u64::from).map_err(|source| BenchError::Database { what, source })
}

/// Loses which room shows which chat, as an operator with an old backup does.
fn forget(data: &Path) -> Result<(), BenchError> {
    let lose = "DELETE FROM posts; UPDATE chats SET last_conversation = NULL; \
                DELETE FROM conversations; DELETE FROM homes;";
    let what = "rooms could not be forgotten";
    database(data)?.execute_batch(lose).map_err(|source| BenchError::Database { what, source })
}

/// The control plane's share of memory (PSS), in KiB.
fn memory(stack: &Stack) -> Result<u64, BenchError> {
    let path = format!("/proc/{}/smaps_rollup", stack.pid().unwrap_or(0));
    let what = format!("{path} could not be read");
    let text = std::fs::read_to_string(path).map_err(|source| BenchError::Io { what, source })?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kib = line.and_then(|line| line.split_whitespace().next()).and_then(|kib| kib.parse().ok());
    Ok(kib.unwrap_or(0))
}

fn mib(kib: u64) -> String {
    format!("{:.1} MiB", kib as f64 / 1024.0)
}
