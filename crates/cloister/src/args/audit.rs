//! What can be typed after `cloister audit`.

use std::path::PathBuf;

use clap::Subcommand;
use cloister_protocol::UserName;

use super::secret::Whose;

/// What `verify` says with its exit code, below its help.
const VERIFY_EXIT_CODES: &str =
    "Exit codes: 0 all is what was recorded; 1 something is not, and is named; 2 wrong usage.";

#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Show the newest entries: of one user, of the platform, or of all chains
    Tail {
        /// Of this user
        #[arg(long, value_name = "NAME")]
        user: Option<UserName>,
        /// Of the platform alone
        #[arg(long, conflicts_with = "user")]
        platform: bool,
        /// How many
        #[arg(short = 'n', long = "count", value_name = "N", default_value_t = 20)]
        count: u32,
        /// Go on as entries come
        #[arg(long, short)]
        follow: bool,
    },
    /// Show one entry and what ties it to its chain
    Show {
        /// Such as u1/57 or platform/12
        entry: String,
    },
    /// Write a chain, with what proves it, as lines of JSON
    Export {
        #[command(flatten)]
        whose: Whose,
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Prove that the audit is what was recorded: the database, the segments and the checkpoints
    #[command(after_help = VERIFY_EXIT_CODES)]
    Verify {
        /// What a witness kept: a file of lines, or a folder of such files
        #[arg(long, value_name = "PATH")]
        witness: Option<PathBuf>,
        /// An export instead, by itself
        #[arg(long, value_name = "FILE", conflicts_with_all = ["witness", "files"])]
        export: Option<PathBuf>,
        /// A copy of the folder `audit/` instead, without the database
        #[arg(long, value_name = "DIR")]
        files: Option<PathBuf>,
    },
    /// Take what entries say out of a chain, which stays whole; the redaction itself is recorded
    Redact {
        #[command(flatten)]
        whose: Whose,
        /// Numbers and ranges: 4,7-9
        entries: String,
        /// Why, in words that stay
        #[arg(long, value_name = "TEXT")]
        why: String,
        /// Also who did what to what, not only the detail
        #[arg(long)]
        names: bool,
    },
}
