//! `cloister`: the control plane and every command a person types.
//!
//! Owns: arguments, configuration, wiring, what is printed. Decides nothing that protects anyone.
//!
//! The program is `main`. The rest of what is public is for `cloister-lab` alone, which talks to a control plane
//! and prints as this program does.

mod args;
mod client;
mod commands;
mod config;
mod connection;
mod line;
mod logging;
mod master;
mod output;
mod remote;
mod terminal;
mod wiring;

use std::process::ExitCode;

use clap::Parser;

use args::Args;

pub use client::Client;
pub use commands::up::{asked_to_stop, raise_open_files};
pub use config::data_dir;
pub use connection::Connection;
pub use output::{CliError, Output, table, usage_error};
pub use remote::Remotes;
pub use wiring::{backend, create_layout, unlock};

/// Does what was typed.
pub fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage_error(&error),
    };
    // The one provider of cryptography for TLS, whatever the libraries would choose.
    rustls::crypto::ring::default_provider().install_default().ok();
    // What we make is ours alone: the database, sockets, keys.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let output = Output::new(args.json);
    if matches!(args.command, args::Command::Up(_)) {
        // A kernel without it shares the processor out as it always did.
        cloister_sandbox::prefer_latency().ok();
    }
    let runtime = match commands::runtime(&args) {
        Ok(runtime) => runtime,
        Err(error) => return output.fail(&error),
    };
    match runtime.block_on(commands::run(args, output)) {
        Ok(code) => code,
        Err(error) => output.fail(&error),
    }
}
