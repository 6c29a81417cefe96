//! What can be typed after `cloister telegram`.

use std::path::PathBuf;

use clap::Subcommand;
use cloister_protocol::UserName;

use super::address::web_address;

/// How to get from nothing to a conversation, below the help of `telegram`.
const FROM_NOTHING: &str = "\
From nothing to a conversation:
  1. In Telegram, write /newbot to @BotFather and answer what it
     asks. Put the token it gives you into a file. If you want a topic
     for each of your chats, turn on Threaded Mode in the bot's
     settings there.
  2. cloister telegram add --token-file bot.token
  3. Open the bot in Telegram, press Start and write `pair`. It
     answers with a code.
  4. cloister pair CODE --user NAME
  5. Write to it. /new starts another chat, /help lists what else there is.

A group: add the bot to it, then
  cloister context add general --in COMMUNITY \\
    --surface telegram --conversation -100123…
The bot says which number when somebody it knows mentions it there.

docs/telegram.md has every step, groups and topics, webhooks, and what \
to do when something is wrong.";

#[derive(Debug, Subcommand)]
#[command(after_help = FROM_NOTHING)]
pub(crate) enum Telegram {
    /// Connect a bot: it is tried now, and kept only if Telegram takes its token
    Add(Add),
    /// List the connected bots
    List,
    /// How a bot is doing, what is wrong and what to do; exits with 1 if somebody must act
    Status {
        /// Which bot, such as @ourbot [default: all]
        account: Option<String>,
    },
    /// Disconnect a bot and forget it; what was said stays on Telegram, its chats stay here
    Rm {
        /// Which bot, such as @ourbot
        account: String,
        /// Do not ask first
        #[arg(long)]
        yes: bool,
    },
}

/// The token comes from a file: every process can read a command line.
#[derive(Debug, clap::Args)]
pub(crate) struct Add {
    /// A file that holds the token that @BotFather gave; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: PathBuf,
    /// The user that this bot serves alone; others are refused [default: everybody who is known here]
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<UserName>,
    /// A Bot API server of your own [default: https://api.telegram.org]
    #[arg(long, value_name = "URL", value_parser = web_address)]
    pub(crate) api_url: Option<String>,
    /// Where Telegram reaches this control plane, such as https://agents.example.org: it delivers there then,
    /// under /hooks/; without it, what is new is fetched
    #[arg(long, value_name = "URL", value_parser = web_address)]
    pub(crate) webhook: Option<String>,
}

#[cfg(test)]
#[path = "telegram_tests.rs"]
mod tests;
