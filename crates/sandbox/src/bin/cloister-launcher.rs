//! Builds one sandbox, runs the agent in it and stays until it ends. See `cloister_sandbox::launcher`.

use std::process::ExitCode;

use cloister_sandbox::launcher::{self, Layers};

fn main() -> ExitCode {
    launcher::run(Layers::ALL)
}
