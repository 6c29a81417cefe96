//! The program `cloister-discord`: the connector of Discord, beside the control plane and in a sandbox of its own.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use cloister_discord::{DiscordHost, SURFACE};
use cloister_kit::{Program, run};
use cloister_protocol::surface::Customs;

const PROGRAM: Program = Program {
    surface: SURFACE,
    version: env!("CARGO_PKG_VERSION"),
    hosts: &[
        "discord.com",
        "gateway.discord.gg",
        "*.discord.gg",
        "cdn.discordapp.com",
        "media.discordapp.net",
    ],
    customs: Customs::USUAL,
};

fn main() -> ExitCode {
    run(PROGRAM, |plane, _state| {
        let options = plane.settings().options()?;
        Ok(DiscordHost::new(plane, options))
    })
}
