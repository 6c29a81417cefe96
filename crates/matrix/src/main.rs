//! The program `cloister-matrix`: the connector of Matrix, beside the control plane and in a sandbox of its own.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use cloister_kit::{Program, run};
use cloister_matrix::{MatrixHost, SIGN, SURFACE};
use cloister_protocol::surface::Customs;

const PROGRAM: Program = Program {
    surface: SURFACE,
    version: env!("CARGO_PKG_VERSION"),
    // A homeserver says where it is at the name of its accounts.
    hosts: &["*"],
    customs: Customs { command_sign: SIGN, room_per_chat: true, sees_readers: true },
};

fn main() -> ExitCode {
    run(PROGRAM, |plane, state| {
        let options = plane.settings().options()?;
        Ok(MatrixHost::new(plane, options, state.to_owned()))
    })
}
