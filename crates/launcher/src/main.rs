//! Builds one sandbox, runs the agent in it and stays until it ends. What it does is in the library beside it.

use std::process::ExitCode;

use cloister_launcher::Layers;

fn main() -> ExitCode {
    cloister_launcher::run(Layers::ALL)
}
