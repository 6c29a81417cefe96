//! Chaos on Matrix: people write numbered messages into their rooms on a real homeserver while the control
//! plane is killed at random; in the end each room must show each answer once and in order.
//!
//! Talk and kills follow from the seed alone; what a kill hits depends on how fast the machine is.

mod verdict;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

pub use verdict::RoomsVerdict;

use crate::random::Random;
use crate::stack::{Stack, StackError};
use crate::synapse::{Account, PlainPerson, Synapse, SynapseError};
use crate::{ModelServer, Received, Reply};

/// Limits of persons are not what is tested here, and cells that soon stop race with the next message.
const CONFIG: &str = "[users]\ndaily_budget_usd = 1000000.0\n[cells]\nttl_s = 2\n\
                      [limits]\nperson_burst = 100000\nperson_per_s = 1000.0\ncommand_burst = 1000\n\
                      surface_burst = 100000\n\
                      [matrix]\nedit_every_ms = 200\nretry_most_s = 2\n";
/// How long a person may wait for a room.
const ROOM_TIME: Duration = Duration::from_secs(90);
/// The most messages of one room: what is open must be answered in time.
const MOST_SAID: usize = 400;

#[derive(Clone, Copy, Debug)]
pub struct RoomsOptions {
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
    #[error("a file for the bot's password could not be written")]
    Password(#[source] std::io::Error),
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
        let RoomsVerdict { rooms, messages, lost, doubled, disordered, strange, .. } = verdict;
        write!(
            f,
            "chaos: matrix seed={} kills={kills} rooms={rooms} messages={messages} lost={lost} doubled={doubled} \
             disordered={disordered} strange={strange}",
            options.seed
        )
    }
}

/// A person, and what they said in each of their rooms, in order.
struct Talk {
    person: PlainPerson,
    said: BTreeMap<String, Vec<String>>,
}

/// Runs the load, kills by plan, and counts.
pub async fn run(options: RoomsOptions) -> Result<RoomsOutcome, RoomsError> {
    let synapse = Synapse::shared().await?;
    let model = ModelServer::builder().seed(options.seed).keep(0).rule(echo).start().await;
    let model = model.map_err(RoomsError::Model)?;
    let mut stack = Stack::builder().config(CONFIG).start().await?;
    stack.use_model(&model).await?;
    match run_on(&mut stack, &synapse, options).await {
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
    synapse: &Synapse,
    options: RoomsOptions,
) -> Result<RoomsOutcome, RoomsError> {
    let bot = connect_bot(stack, synapse).await?;
    let mut people = Vec::new();
    for number in 0..options.people {
        people.push(meet(stack, synapse, &bot, (&format!("u{number}"), options.rooms)).await?);
    }
    let (talking, listener) = watch::channel(true);
    let mut talkers = JoinSet::new();
    for (number, (person, rooms)) in people.iter().enumerate() {
        for room in rooms {
            let talker = Talker {
                person: person.clone(),
                number,
                room: room.clone(),
                random: Random::new(options.seed, &format!("{number} {}", talkers.len())),
                talking: listener.clone(),
            };
            talkers.spawn(talker.run());
        }
    }
    let kills = strike(stack, options).await?;
    talking.send_replace(false);
    let mut said: BTreeMap<(usize, String), Vec<String>> = BTreeMap::new();
    while let Some(talker) = talkers.join_next().await {
        said.extend(talker.ok());
    }
    let mut talks = Vec::new();
    for (number, (person, _)) in people.into_iter().enumerate() {
        let of_person = said.iter().filter(|((whose, _), _)| *whose == number);
        let said = of_person.map(|((_, room), said)| (room.clone(), said.clone())).collect();
        talks.push(Talk { person, said });
    }
    let verdict = verdict::wait_and_count(talks, &bot.user_id, options.drain).await?;
    stack.stop().await?;
    Ok(RoomsOutcome { options, kills, verdict, kept: None })
}

async fn connect_bot(stack: &Stack, synapse: &Synapse) -> Result<Account, RoomsError> {
    let bot = synapse.register("bot").await?;
    let file = stack.data().join("bot.password");
    std::fs::write(&file, &bot.password).map_err(RoomsError::Password)?;
    let (url, file) = (synapse.url(), file.to_string_lossy().into_owned());
    let account = ["matrix", "add", "--plain-rooms", "--homeserver", &url, "--user", &bot.user_id];
    stack.cli_ok(&[&account[..], &["--password-file", &file]].concat()).await?;
    Ok(bot)
}

/// A person who has found the bot and has so many rooms.
async fn meet(
    stack: &Stack,
    synapse: &Synapse,
    bot: &Account,
    (user, rooms): (&str, u32),
) -> Result<(PlainPerson, Vec<String>), RoomsError> {
    let mut person = PlainPerson::register(synapse, user).await?;
    stack.cli_ok(&["user", "add", user]).await?;
    stack.cli_ok(&["user", "link", user, "--surface", "matrix", "--id", person.id()]).await?;
    person.invite(&bot.user_id).await?;
    let first = person.until("the room C1", ROOM_TIME, |me| me.room_of("C1")).await?;
    let mut found = vec![first.clone()];
    for number in 2..=rooms {
        person.say(&first, "!new").await?;
        let chat = format!("C{number}");
        let what = format!("the room {chat}");
        found.push(person.until(&what, ROOM_TIME, |me| me.room_of(&chat)).await?);
    }
    Ok((person, found))
}

/// Somebody who writes into one room.
struct Talker {
    person: PlainPerson,
    number: usize,
    room: String,
    random: Random,
    talking: watch::Receiver<bool>,
}

impl Talker {
    /// Says things until told to stop; whose room, and what was said in it.
    async fn run(mut self) -> ((usize, String), Vec<String>) {
        let mut said = Vec::new();
        while *self.talking.borrow() && said.len() < MOST_SAID {
            let burst = if self.random.one_in(5) { 3 } else { 1 };
            for _ in 0..burst {
                let text = format!("u{} message {} of a room", self.number, said.len());
                // The homeserver is not what is killed: what it did not take was not said.
                if self.person.say(&self.room, &text).await.is_ok() {
                    said.push(text);
                }
            }
            sleep(Duration::from_millis(300 + self.random.below(900))).await;
        }
        ((self.number, self.room), said)
    }
}

/// Kills the control plane at random, until the plan is done or the time is up.
async fn strike(stack: &mut Stack, options: RoomsOptions) -> Result<usize, RoomsError> {
    let until = Instant::now() + options.time;
    let mut random = Random::new(options.seed, "matrix kills");
    let mut killed = 0;
    while killed < options.kills && Instant::now() < until {
        // Soon after a start it is still catching up; later it is in the middle of answers.
        let longest = if random.one_in(3) { 300 } else { 2500 };
        sleep(Duration::from_millis(random.below(longest))).await;
        stack.kill().await?;
        killed += 1;
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
