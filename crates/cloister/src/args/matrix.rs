//! What can be typed after `cloister matrix`.

use std::path::PathBuf;

use clap::Subcommand;

/// How to get from nothing to a conversation, below the help of `matrix`.
const FROM_NOTHING: &str = "\
From nothing to a conversation:
  1. Make an account for the bot on your homeserver, and put its
     password into a file.
  2. cloister matrix add --homeserver https://matrix.example.org \\
       --user @cloister:example.org --password-file bot.password
  3. In your own Matrix client, start a chat with the bot and write
     `pair`. It answers with a code.
  4. cloister pair CODE --user NAME
  5. The bot invites you to a Space with a room for each of your chats.
     Write there.

docs/matrix.md has every step, encryption, community rooms, and what \
to do when something is wrong.";

#[derive(Debug, Subcommand)]
#[command(after_help = FROM_NOTHING)]
pub(crate) enum Matrix {
    /// Connect a bot account: it logs in now, and is kept only if that works
    Add(Add),
    /// List the connected accounts
    List,
    /// How an account is doing, what is wrong and what to do; exits with 1 if somebody must act
    Status {
        /// Which account, such as @cloister:example.org [default: all]
        #[arg(value_parser = account)]
        account: Option<String>,
    },
    /// Leave the rooms of an account, log it out and destroy its keys; its chats stay here
    Rm {
        /// Which account, such as @cloister:example.org
        #[arg(value_parser = account)]
        account: String,
        /// Stay in the rooms, such as to add the account again elsewhere
        #[arg(long)]
        stay: bool,
        /// Do not ask first
        #[arg(long)]
        yes: bool,
    },
    /// Compare what is known here with the rooms on the homeserver, and mend what is known; no room is made
    /// or left
    Reconcile {
        /// Which account
        #[arg(value_parser = account)]
        account: String,
    },
    /// Forget which rooms show which chats, and with server-leave-forget leave the rooms too
    Reset(Reset),
    /// Import who is whose, from a YAML file of routes
    Import {
        /// The YAML file
        file: PathBuf,
        /// Only say what would be done
        #[arg(long)]
        dry_run: bool,
    },
}

/// What it logs in with comes from files: every process can read a command line.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("credential").required(true).multiple(false))]
pub(crate) struct Add {
    /// Where the homeserver is, such as https://matrix.example.org
    #[arg(long, value_name = "URL", value_parser = homeserver)]
    pub(crate) homeserver: String,
    /// The bot's account there
    #[arg(long, value_name = "@BOT:SERVER", value_parser = account)]
    pub(crate) user: String,
    /// A file that holds the account's password; - reads standard input
    #[arg(long, value_name = "FILE", group = "credential")]
    pub(crate) password_file: Option<PathBuf>,
    /// A file that holds an access token of a device that nothing else uses; - reads standard input
    #[arg(long, value_name = "FILE", group = "credential")]
    pub(crate) token_file: Option<PathBuf>,
    /// A file that holds the recovery key of an account that had one before; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) recovery_key_file: Option<PathBuf>,
    /// Make rooms without end-to-end encryption: the homeserver can read what is said in them
    #[arg(long)]
    pub(crate) plain_rooms: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Mode {
    /// Forget what is known here; the homeserver keeps every room
    LocalOnly,
    /// Leave and forget every room on the homeserver too
    ServerLeaveForget,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Reset {
    /// Which account
    #[arg(value_parser = account)]
    pub(crate) account: String,
    /// How much is forgotten
    #[arg(long)]
    pub(crate) mode: Mode,
    /// Only say what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

/// A Matrix id: @NAME:SERVER.
fn account(text: &str) -> Result<String, String> {
    let expected = || "expected a full Matrix id, such as @cloister:example.org".to_owned();
    let (name, server) =
        text.strip_prefix('@').and_then(|rest| rest.split_once(':')).ok_or_else(expected)?;
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '@' | '#' | '?');
    if name.is_empty() || server.is_empty() || text.len() > 255 || !text.chars().skip(1).all(plain)
    {
        return Err(expected());
    }
    Ok(text.to_owned())
}

/// An address that starts with http:// or https:// and names a host, and nothing that could be a secret.
fn homeserver(text: &str) -> Result<String, String> {
    let expected = "expected the homeserver's address, such as https://matrix.example.org";
    super::address::checked(text, &["https://", "http://"]).ok_or_else(|| expected.to_owned())
}

#[cfg(test)]
#[path = "matrix_tests.rs"]
mod tests;
