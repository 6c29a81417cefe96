//! The agent that lives in a sandbox: a coordinator that talks, or an executor that works on one task.
//!
//! Owns: the turn and task loops, the chat's journal, the tools. Holds no secret and takes no decision
//! that protects anyone: whatever leaves the sandbox is a request on its door, which the control plane
//! may refuse.

mod args;
mod context;
mod coordinator;
mod door;
mod egress;
mod executor;
mod files;
mod guard;
mod journal;
mod ledger;
mod link;
mod log;
mod model;
mod page;
mod pictures;
mod text;
mod tools;
mod turn;
mod untrusted;
mod work;

use std::process::ExitCode;

use args::AgentRole;
use cloister_protocol::with_causes;

/// The exit code for wrong arguments (`EX_USAGE`).
const WRONG_USAGE: u8 = 64;

fn main() -> ExitCode {
    let args = match args::parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(error) => {
            log::line(format_args!("{}\n{}", with_causes(&error), args::USAGE));
            return ExitCode::from(WRONG_USAGE);
        }
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            log::line(format_args!("can't start the event loop: {}", with_causes(&error)));
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(async {
        match args.role {
            AgentRole::Coordinator { workspace } => {
                Box::pin(coordinator::run(args.door, workspace)).await
            }
            AgentRole::Executor { chat, proxy_port } => {
                Box::pin(executor::run(args.door, chat, proxy_port)).await
            }
        }
    });
    // A file tool that is still reading must not hold up the exit.
    runtime.shutdown_background();
    code
}
