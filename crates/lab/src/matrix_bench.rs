//! `cloister-lab matrix-bench`: what the product adds to a real homeserver's own time, and what rooms cost.

use std::io::Write as _;
use std::process::ExitCode;

use cloister_protocol::with_causes;
use cloister_testkit::rooms_bench::{self, Plan};

/// Measures the product on Matrix, on this machine, against a real Synapse.
///
/// Beside every delay stands the same of a client that does nothing but repeat what it hears, on the same
/// homeserver in the same run. It asserts nothing: it says what it found.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct MatrixBench {
    /// Rooms for the legs about memory and reconciliation; 0 leaves them out
    #[arg(long, default_value_t = 1000)]
    rooms: usize,
    /// Rooms that are active at once in the leg about many
    #[arg(long, default_value_t = 100)]
    active: usize,
    /// Messages of each leg about delay
    #[arg(long, default_value_t = 300)]
    messages: usize,
    /// Messages a second of everybody together
    #[arg(long, default_value_t = 4.0)]
    per_second: f64,
}

pub(crate) async fn run(asked: &MatrixBench) -> ExitCode {
    let MatrixBench { rooms, active, messages, per_second } = *asked;
    let plan = Plan { rooms, active, messages, per_second };
    let tell = |row: &dyn std::fmt::Display| {
        writeln!(std::io::stdout().lock(), "{row}").ok();
    };
    match Box::pin(rooms_bench::run(&plan, &tell)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            writeln!(std::io::stderr().lock(), "matrix-bench: {}", with_causes(&error)).ok();
            ExitCode::FAILURE
        }
    }
}
