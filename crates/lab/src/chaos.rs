//! `cloister-lab chaos`: kills everything at random and counts what was lost.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use cloister_protocol::with_causes;
use cloister_testkit::chaos::landings::{self, LandingsOptions};
use cloister_testkit::chaos::rooms::{self, RoomsOptions, RoomsOutcome, Where};
use cloister_testkit::chaos::{self, Options, Outcome};

/// Runs a scripted load of many users and chats on the real programs, kills (SIGKILL) the control
/// plane, agents and launchers at random points, and counts what was lost, doubled or forgotten.
///
/// The load and the plan of kills follow from the seed alone. Where exactly a kill hits depends on
/// timing, so a seed that failed may need a few runs to fail again. Exits with 1 if any count that
/// must be zero is not.
#[derive(Debug, clap::Args)]
pub(crate) struct Chaos {
    /// Talk in rooms of a real Matrix homeserver instead, and kill the control plane alone
    #[arg(long)]
    matrix: bool,
    /// The same in topics of Telegram's private chats
    #[arg(long, conflicts_with = "matrix")]
    telegram: bool,
    /// The same in direct messages of Discord
    #[arg(long, conflicts_with_all = ["matrix", "telegram"])]
    discord: bool,
    /// Kill the control plane while what tasks did to files lands or is taken back, and compare all files
    #[arg(long, conflicts_with_all = ["matrix", "telegram", "discord", "backlog"])]
    landings: bool,
    /// With landings: how many files each task has to do with
    #[arg(long, requires = "landings", default_value_t = 400)]
    files: u32,
    /// With a backlog: on the agent socket, which pages and terminals use
    #[arg(long, requires = "backlog", conflicts_with_all = ["matrix", "telegram", "discord"])]
    web: bool,
    /// Nothing is killed at random: so many messages pile up while nobody answers, then it starts
    #[arg(long)]
    backlog: Option<usize>,
    /// How many processes to kill
    #[arg(long, default_value_t = 50)]
    kills: usize,
    /// Decides what is said and what is killed when; a random one if not given
    #[arg(long)]
    seed: Option<u64>,
    #[arg(long, default_value_t = 8)]
    users: usize,
    /// Chats of each user
    #[arg(long, default_value_t = 2)]
    chats: u32,
    /// Stop killing after this long
    #[arg(long, default_value_t = 60)]
    minutes: u64,
}

pub(crate) async fn run(arguments: &Chaos) -> ExitCode {
    if arguments.landings {
        return Box::pin(of_landings(arguments)).await;
    }
    let surface = [
        (arguments.matrix, Where::Matrix),
        (arguments.telegram, Where::Telegram),
        (arguments.discord, Where::Discord),
        (arguments.web, Where::Web),
    ];
    if let Some((_, on)) = surface.into_iter().find(|(wanted, _)| *wanted) {
        return Box::pin(in_rooms(arguments, on)).await;
    }
    let options = Options {
        seed: arguments.seed.unwrap_or_else(any_seed),
        kills: arguments.kills,
        users: arguments.users,
        chats: arguments.chats,
        time: Duration::from_secs(arguments.minutes * 60),
        drain: Duration::from_secs(120),
    };
    match Box::pin(chaos::run(options)).await {
        Ok(outcome) => {
            if tell(&outcome).is_ok() && outcome.holds() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Err(error) => {
            writeln!(
                std::io::stderr().lock(),
                "chaos: seed={}: {}",
                options.seed,
                with_causes(&error)
            )
            .ok();
            ExitCode::FAILURE
        }
    }
}

async fn of_landings(arguments: &Chaos) -> ExitCode {
    let options = LandingsOptions {
        seed: arguments.seed.unwrap_or_else(any_seed),
        kills: arguments.kills,
        files: arguments.files,
        time: Duration::from_secs(arguments.minutes * 60),
    };
    let outcome = Box::pin(landings::run(options)).await;
    let mut stderr = std::io::stderr().lock();
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            let (seed, why) = (options.seed, with_causes(&error));
            writeln!(stderr, "chaos: landings seed={seed}: {why}").ok();
            return ExitCode::FAILURE;
        }
    };
    for problem in &outcome.problems {
        writeln!(stderr, "{problem}").ok();
    }
    if let Some(kept) = &outcome.kept {
        let LandingsOptions { seed, kills, files, .. } = options;
        writeln!(
            stderr,
            "data and log are in {}\nagain: target/debug/cloister-lab chaos --landings --seed {seed} --kills {kills} \
             --files {files}",
            kept.display()
        )
        .ok();
    }
    let told = writeln!(std::io::stdout().lock(), "{outcome}");
    if told.is_ok() && outcome.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The same in rooms: users are people, chats are rooms.
async fn in_rooms(arguments: &Chaos, on: Where) -> ExitCode {
    let options = RoomsOptions {
        on,
        seed: arguments.seed.unwrap_or_else(any_seed),
        kills: arguments.kills,
        people: arguments.users,
        rooms: arguments.chats,
        time: Duration::from_secs(arguments.minutes * 60),
        // What is allowed at once holds it back: two a second for each person.
        drain: Duration::from_secs(120 + arguments.backlog.unwrap_or(0) as u64),
    };
    let outcome = match arguments.backlog {
        Some(messages) => Box::pin(rooms::backlog::run(options, messages)).await,
        None => Box::pin(rooms::run(options)).await,
    };
    match outcome {
        Ok(outcome) => {
            if tell_rooms(&outcome).is_ok() && outcome.verdict.holds() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Err(error) => {
            let (surface, seed, why) = (on.name(), options.seed, with_causes(&error));
            writeln!(std::io::stderr().lock(), "chaos: {surface} seed={seed}: {why}").ok();
            ExitCode::FAILURE
        }
    }
}

fn tell_rooms(outcome: &RoomsOutcome) -> std::io::Result<()> {
    let mut stderr = std::io::stderr().lock();
    if !outcome.verdict.holds() {
        let RoomsOptions { on, seed, kills, people, rooms, .. } = outcome.options;
        let on = on.name();
        for problem in &outcome.verdict.problems {
            writeln!(stderr, "{problem}")?;
        }
        if let Some(kept) = &outcome.kept {
            writeln!(stderr, "data and log are in {}", kept.display())?;
        }
        writeln!(
            stderr,
            "again: target/debug/cloister-lab chaos --{on} --seed {seed} --kills {kills} --users {people} --chats {rooms}"
        )?;
    }
    writeln!(std::io::stdout().lock(), "{outcome}")
}

/// Short enough to type.
fn any_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish() % 1_000_000
}

fn tell(outcome: &Outcome) -> std::io::Result<()> {
    let mut stderr = std::io::stderr().lock();
    if !outcome.holds() {
        let Options { seed, kills, users, chats, .. } = outcome.options;
        for problem in outcome.verdict.problems.iter().chain(&outcome.violations) {
            writeln!(stderr, "{problem}")?;
        }
        if !outcome.drained {
            writeln!(stderr, "not everything was answered in time after the last kill")?;
        }
        if let Some(kept) = &outcome.kept {
            writeln!(stderr, "data and log are in {}", kept.display())?;
        }
        writeln!(
            stderr,
            "again: target/debug/cloister-lab chaos --seed {seed} --kills {kills} --users {users} --chats {chats}"
        )?;
    }
    writeln!(std::io::stdout().lock(), "{outcome}")
}
