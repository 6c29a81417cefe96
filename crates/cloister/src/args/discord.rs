//! What can be typed after `cloister discord`.

use std::path::PathBuf;

use clap::Subcommand;

use super::address::{socket_address, web_address};

/// How to get from nothing to a conversation, below the help of `discord`.
const FROM_NOTHING: &str = "\
From nothing to a conversation:
  1. On https://discord.com/developers/applications make an
     application. Under Bot, reset the token and put it into a file,
     and turn on the Message Content Intent.
  2. cloister discord add --token-file bot.token
     It prints a link: open it to add the bot to a server that you are
     on. Discord lets people write to a bot that they share a server
     with.
  3. Write `pair` to the bot in a direct message. It answers with a
     code.
  4. cloister pair CODE --user NAME
  5. Write to it. /new starts another chat, /help lists what else there is.

A channel:
  cloister context add general --in COMMUNITY \\
    --surface discord --conversation CHANNEL-ID

docs/discord.md has every step, channels and threads, and what to do \
when something is wrong.";

#[derive(Debug, Subcommand)]
#[command(after_help = FROM_NOTHING)]
pub(crate) enum Discord {
    /// Connect a bot: it is tried now, and kept only if Discord takes its token
    Add(Add),
    /// List the connected bots
    List,
    /// How a bot is doing, what is wrong and what to do; exits with 1 if somebody must act
    Status {
        /// Which bot: its number, or its name [default: all]
        account: Option<String>,
    },
    /// Disconnect a bot and forget it; what was said stays on Discord, its chats stay here
    Rm {
        /// Which bot: its number, or its name
        account: String,
        /// Do not ask first
        #[arg(long)]
        yes: bool,
    },
}

/// The token comes from a file: every process can read a command line.
#[derive(Debug, clap::Args)]
pub(crate) struct Add {
    /// A file that holds the bot's token; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: PathBuf,
    /// Another server that speaks Discord's API [default: https://discord.com]
    #[arg(long, value_name = "URL", value_parser = web_address)]
    pub(crate) api_url: Option<String>,
    /// Another gateway [default: the one that the API names]
    #[arg(long, value_name = "URL", value_parser = socket_address)]
    pub(crate) gateway_url: Option<String>,
}

#[cfg(test)]
#[path = "discord_tests.rs"]
mod tests;
