//! Chaos on surfaces: people write numbered messages into their rooms (on Matrix, on a real homeserver; in topics
//! of Telegram and direct messages of Discord, on servers that speak their wire) while the connector, the
//! control plane or both are killed at random; in the end each room must show each answer once and in order.
//!
//! Talk and kills follow from the seed alone; what a kill hits depends on how fast the machine is.

pub mod backlog;
mod places;
mod verdict;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

pub use places::Where;
pub use verdict::RoomsVerdict;

use places::{Room, Server};

use crate::random::Random;
use crate::stack::processes::{self, Kind};
use crate::stack::{Stack, StackError};
use crate::synapse::SynapseError;
use crate::{ModelServer, Received, Reply};

/// Limits of persons are not what is tested here, and cells that soon stop race with the next message.
const CONFIG: &str = "[users]\ndaily_budget_usd = 1000000.0\n[cells]\nttl_s = 2\n\
                      [limits]\nperson_burst = 100000\nperson_per_s = 1000.0\ncommand_burst = 1000\n\
                      surface_burst = 100000\n\
                      [matrix]\nedit_every_ms = 200\nretry_most_s = 2\n\
                      [telegram]\nretry_most_s = 2\n[discord]\nretry_most_s = 2\n";
/// The most messages of one room: what is open must be answered in time.
const MOST_SAID: usize = 400;

#[derive(Clone, Copy, Debug)]
pub struct RoomsOptions {
    pub on: Where,
    pub seed: u64,
    pub kills: usize,
    pub people: usize,
    /// Rooms of each person.
    pub rooms: u32,
    /// After this no more is killed, however many kills are left.
    pub time: Duration,
    /// How long everything may take to be answered after the last kill.
    pub drain: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum RoomsError {
    #[error("the model server did not start")]
    Model(#[source] std::io::Error),
    #[error(transparent)]
    Stack(#[from] StackError),
    #[error(transparent)]
    Synapse(#[from] SynapseError),
    #[error("a chat could not be opened")]
    Chat(#[source] crate::ClientError),
    #[error("the server of the surface did not start")]
    Server(#[source] std::io::Error),
    #[error("a file for what the bot logs in with could not be written")]
    Credential(#[source] std::io::Error),
    #[error("never: {0}")]
    Late(String),
    #[error("it broke off: {source}\ndata and log are in {}", kept.display())]
    BrokenOff { kept: PathBuf, source: Box<RoomsError> },
}

/// What came of it.
#[derive(Debug)]
pub struct RoomsOutcome {
    pub options: RoomsOptions,
    pub kills: usize,
    pub verdict: RoomsVerdict,
    /// Where data and log are, if something was wrong.
    pub kept: Option<PathBuf>,
}

impl fmt::Display for RoomsOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { options, kills, verdict, .. } = self;
        let RoomsVerdict { rooms, messages, lost, doubled, announced, disordered, strange, .. } =
            verdict;
        write!(
            f,
            "chaos: {} seed={} kills={kills} rooms={rooms} messages={messages} lost={lost} doubled={doubled} \
             disordered={disordered} strange={strange} repeated-and-said-so={announced}",
            options.on.name(),
            options.seed
        )
    }
}

/// A room, and what was said in it, in order.
struct Talk {
    room: Room,
    said: Vec<String>,
}

/// Runs the load, kills by plan, and counts.
pub async fn run(options: RoomsOptions) -> Result<RoomsOutcome, RoomsError> {
    let server = Server::start(options.on).await?;
    let model = ModelServer::builder().seed(options.seed).keep(0).rule(echo).start().await;
    let model = model.map_err(RoomsError::Model)?;
    let mut stack = Stack::builder().config(CONFIG).start().await?;
    stack.use_model(&model).await?;
    match run_on(&mut stack, &server, options).await {
        Ok(mut outcome) if !outcome.verdict.holds() => {
            outcome.kept = Some(stack.keep());
            Ok(outcome)
        }
        Ok(outcome) => Ok(outcome),
        Err(error) => Err(RoomsError::BrokenOff { kept: stack.keep(), source: Box::new(error) }),
    }
}

/// Slowly enough that a kill hits answers in the middle.
fn echo(received: &Received) -> Option<Reply> {
    let text = format!("echo: {}", received.last_user_text());
    Some(Reply::text(text).chunks(5).delay(Duration::from_millis(30)))
}

async fn run_on(
    stack: &mut Stack,
    server: &Server,
    options: RoomsOptions,
) -> Result<RoomsOutcome, RoomsError> {
    let bot = server.connect_bot(stack).await?;
    let mut rooms = Vec::new();
    for number in 0..options.people {
        let user = format!("u{number}");
        rooms.extend(server.meet(stack, &bot, (&user, options.rooms)).await?);
    }
    let (talking, listener) = watch::channel(true);
    let mut talkers = JoinSet::new();
    for (number, room) in rooms.into_iter().enumerate() {
        let talker = Talker {
            room,
            random: Random::new(options.seed, &format!("room {number}")),
            pause: options.on.pause(),
            talking: listener.clone(),
        };
        talkers.spawn(talker.run());
    }
    let kills = strike(stack, options).await?;
    talking.send_replace(false);
    let mut talks = Vec::new();
    while let Some(talker) = talkers.join_next().await {
        talks.extend(talker.ok());
    }
    let mut verdict = verdict::wait_and_count(talks, options.drain).await?;
    stack.stop().await?;
    for complaint in server.complaints() {
        verdict.strange += 1;
        verdict.problems.push(format!("the server complains: {complaint}"));
    }
    Ok(RoomsOutcome { options, kills, verdict, kept: None })
}

/// Somebody who writes into one room.
struct Talker {
    room: Room,
    random: Random,
    /// Between two messages, on average.
    pause: Duration,
    talking: watch::Receiver<bool>,
}

impl Talker {
    /// Says things until told to stop.
    async fn run(mut self) -> Talk {
        let mut said = Vec::new();
        let pause = u64::try_from(self.pause.as_millis()).unwrap_or(u64::MAX);
        while *self.talking.borrow() && said.len() < MOST_SAID {
            let burst = if self.random.one_in(5) { 3 } else { 1 };
            for _ in 0..burst {
                let text = format!("{} message {} of a room", self.room.whose(), said.len());
                // The server is not what is killed: what it did not take was not said.
                if self.room.say(&text).await {
                    said.push(text);
                }
            }
            sleep(Duration::from_millis(pause / 2 + self.random.below(pause))).await;
        }
        Talk { room: self.room, said }
    }
}

/// Whether there was one; it is started again by itself.
fn kill_connector(stack: &Stack) -> bool {
    let all = stack.pid().map(processes::below).unwrap_or_default();
    let connectors = all.into_iter().filter(|process| process.kind == Kind::Connector);
    connectors.fold(false, |any, process| processes::signal(process.pid, Signal::KILL) | any)
}

/// Kills the connector, the control plane or both at random, until the plan is done or the time is up.
async fn strike(stack: &mut Stack, options: RoomsOptions) -> Result<usize, RoomsError> {
    let until = Instant::now() + options.time;
    let mut random = Random::new(options.seed, "kills");
    let mut killed = 0;
    while killed < options.kills && Instant::now() < until {
        // Soon after a start it is still catching up; later it is in the middle of answers.
        let longest = if random.one_in(3) { 300 } else { 2500 };
        sleep(Duration::from_millis(random.below(longest))).await;
        // In turn, so that a short run has all three.
        let (connector, control_plane) = [(true, false), (false, true), (true, true)][killed % 3];
        if connector {
            kill_connector(stack);
            sleep(Duration::from_millis(random.below(100))).await;
        }
        killed += 1;
        if !control_plane {
            continue;
        }
        stack.kill().await?;
        sleep(Duration::from_millis(random.below(300))).await;
        if random.one_in(4) {
            stack.false_start(Duration::from_millis(200 + random.below(1500))).await?;
            killed += 1;
        }
        stack.restart().await?;
        if random.one_in(8) {
            stack.restart().await?;
        }
    }
    Ok(killed)
}
