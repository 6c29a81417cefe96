//! `cloister-lab`: measures, kills and attacks the product on this machine, and says what came of it.
//!
//! Owns: the bench, the red team, and the commands over testkit's chaos and its bench of Matrix. Nothing here is
//! shipped: it drives the programs that are built beside it, as people and attackers would.

mod bare;
mod bench;
mod chaos;
mod matrix_bench;
mod plane;
mod redteam;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use cloister::{CliError, Output};

/// Measures, kills and attacks Cloister on this machine, and says what came of it.
///
/// The programs are those beside this one; everything that is started has a directory of its own, and is gone at
/// the end.
#[derive(Debug, Parser)]
#[command(name = "cloister-lab", version, max_term_width = 100)]
struct Args {
    /// Print JSON (bench, redteam); errors as {"error": {"code", "message", "fix"}}
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure this machine: overhead per turn, cold start, memory
    Bench(bench::Bench),
    /// Attack this build: by a model that obeys whatever it reads and by who is in already; what came of it
    Redteam(redteam::Redteam),
    /// Kill everything at random, and count what was lost, doubled or forgotten
    Chaos(chaos::Chaos),
    /// Measure on Matrix: what we add to a real homeserver's own time, and what rooms cost
    MatrixBench(matrix_bench::MatrixBench),
    /// Pass words between clients and a model and do nothing else, for the bench
    #[command(hide = true)]
    Bare(bare::Bare),
}

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return cloister::usage_error(&error),
    };
    // What we make is ours alone: databases, sockets, keys.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let output = Output::new(args.json);
    let done = runtime(&args.command).and_then(|runtime| runtime.block_on(run(args, output)));
    done.unwrap_or_else(|error| output.fail(&error))
}

/// A bench measures what one thread sees; a load of many people needs more.
fn runtime(command: &Command) -> Result<tokio::runtime::Runtime, CliError> {
    let mut builder = match command {
        Command::Bench(_) | Command::Redteam(_) => tokio::runtime::Builder::new_current_thread(),
        Command::Chaos(_) | Command::MatrixBench(_) | Command::Bare(_) => {
            tokio::runtime::Builder::new_multi_thread()
        }
    };
    builder.enable_all().build().map_err(CliError::io("no runtime could be made"))
}

async fn run(args: Args, output: Output) -> Result<ExitCode, CliError> {
    match args.command {
        Command::Bench(bench) => bench::run(output, bench).await,
        Command::Redteam(redteam) => redteam::run(output, redteam).await,
        Command::Chaos(chaos) => Ok(chaos::run(&chaos).await),
        Command::MatrixBench(plan) => Ok(matrix_bench::run(&plan).await),
        Command::Bare(asked) => bare::run(asked).await,
    }
}
