//! The program `cloister-telegram`: the connector of Telegram, beside the control plane and in a sandbox of its own.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use cloister_kit::{Program, run};
use cloister_protocol::surface::Customs;
use cloister_telegram::{SURFACE, TelegramHost};

const PROGRAM: Program = Program {
    surface: SURFACE,
    version: env!("CARGO_PKG_VERSION"),
    hosts: &["api.telegram.org"],
    customs: Customs::USUAL,
};

fn main() -> ExitCode {
    run(PROGRAM, |plane, _state| {
        let options = plane.settings().options()?;
        Ok(TelegramHost::new(plane, options))
    })
}
