//! What can be typed after `cloister connector`.

use std::path::PathBuf;

use clap::Subcommand;

use super::address::checked;
use crate::config::is_surface_name;

/// How to get from nothing to a conversation, below the help of `connector`.
const FROM_NOTHING: &str = "\
From nothing to a conversation:
  1. Put a program that speaks the surface protocol on this machine and name it in cloister.toml:
       [connectors.folder]
       program = \"/usr/local/lib/cloister/folder-surface\"
  2. Start the control plane again (`cloister up`).
  3. cloister connector add folder --account office
  4. cloister user link NAME --surface folder --id THEIR-ACCOUNT-THERE

docs/surfaces.md has the protocol, what such a program may do, and an example.";

#[derive(Debug, Subcommand)]
#[command(after_help = FROM_NOTHING)]
pub(crate) enum Connector {
    /// Connect an account: the surface's program tries it, and keeps it only if that works
    Add(Add),
    /// List the connected accounts
    List {
        /// The surface, as it is called in [connectors.NAME]
        #[arg(value_name = "NAME", value_parser = surface_name)]
        surface: String,
    },
    /// How an account is doing, what is wrong and what to do; exits with 1 if somebody must act
    Status {
        /// The surface, as it is called in [connectors.NAME]
        #[arg(value_name = "NAME", value_parser = surface_name)]
        surface: String,
        /// Which account [default: all]
        account: Option<String>,
    },
    /// Disconnect an account and forget it; its chats stay here
    Rm {
        /// The surface, as it is called in [connectors.NAME]
        #[arg(value_name = "NAME", value_parser = surface_name)]
        surface: String,
        /// Which account
        account: String,
        /// Do not ask first
        #[arg(long)]
        yes: bool,
    },
}

/// The token comes from a file: every process can read a command line.
#[derive(Debug, clap::Args)]
pub(crate) struct Add {
    /// The surface, as it is called in [connectors.NAME]
    #[arg(value_name = "NAME", value_parser = surface_name)]
    pub(crate) surface: String,
    /// The account there
    #[arg(long, value_name = "ACCOUNT")]
    pub(crate) account: String,
    /// Where its server is, if the surface needs that
    #[arg(long, value_name = "URL", value_parser = server_address)]
    pub(crate) address: Option<String>,
    /// A file that holds what it logs in with, if the surface needs that; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
}

fn surface_name(text: &str) -> Result<String, String> {
    if is_surface_name(text) {
        Ok(text.to_owned())
    } else {
        Err("expected the name of a surface: small letters, digits and '-'".to_owned())
    }
}

fn server_address(text: &str) -> Result<String, String> {
    checked(text, &["https://", "http://", "wss://", "ws://"])
        .ok_or_else(|| "expected an address such as https://example.org".to_owned())
}

#[cfg(test)]
#[path = "connector_tests.rs"]
mod tests;
