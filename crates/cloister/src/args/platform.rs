//! What can be typed after `cloister policy`, `config`, `stop` and `release`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use cloister_protocol::UserName;

use super::ForUser;

#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// List the policies in force
    List,
    /// Show a policy in full
    Show {
        /// Its id
        id: String,
    },
    /// Check policies before they take effect; exits with 1 if something is wrong
    Check {
        /// Where they are [default: those of the data directory]
        dir: Option<PathBuf>,
    },
    /// Run cases against the policies in force; exits with 1 if one does not come out as it should
    Test {
        /// Files of cases [default: *.cases of the policies in force]
        files: Vec<PathBuf>,
    },
    /// Say what would be decided about a request, why, and by which policy
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(Explain),
    /// Check policies and put them in force, in place of all that are
    Apply {
        /// Where they are [default: those of the data directory, which may have been edited]
        dir: Option<PathBuf>,
        /// For the history
        #[arg(long, value_name = "TEXT")]
        why: Option<String>,
    },
}

const EXPLAIN_EXAMPLES: &str = "\
For example:
  cloister policy explain user anna read_chat chat:w2/C1
  cloister policy explain user ben emergency_stop
  cloister policy explain executor anna fetch_writing domain:api.example.org --untrusted
  cloister policy explain executor anna change_by_tool tool:bash --risk destructive
  cloister policy explain user ben assign_role workspace:w2 --role admin

A thing is named as KIND:NAME or KIND:WORKSPACE/NAME: platform, workspace:w1, chat:w1/C1, context:w1/general, \
model:large, secret:github, domain:example.org, skill:x, tool:bash, mailbox:info. Without a workspace the \
person's own is meant.";

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Who {
    /// A person
    User,
    /// The part of their cell that talks
    Coordinator,
    /// A part of their cell that works on a task
    Executor,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// Who asks
    pub(crate) who: Who,
    /// The person, or whom that part works for
    pub(crate) user: UserName,
    /// What for, such as read_chat; `cloister policy list` shows policies that name actions
    pub(crate) action: String,
    /// What it is about
    pub(crate) about: Option<String>,
    /// Suppose these roles instead of those that the person holds, such as admin@platform
    #[arg(long = "as", value_name = "ROLE@SCOPE")]
    pub(crate) roles: Vec<String>,
    /// How risky the tool's call is: safe, middle, destructive, outward or unknown
    #[arg(long)]
    pub(crate) risk: Option<String>,
    /// The class of what an approval is about: middle, destructive or outward
    #[arg(long)]
    pub(crate) class: Option<String>,
    /// The role to be assigned
    #[arg(long)]
    pub(crate) role: Option<String>,
    /// It is about themselves, or their own task
    #[arg(long)]
    pub(crate) own: bool,
    /// Untrusted content is in the task
    #[arg(long)]
    pub(crate) untrusted: bool,
    /// A plan waits for approval
    #[arg(long)]
    pub(crate) plan_pending: bool,
    /// Everything is stopped
    #[arg(long)]
    pub(crate) stopped: bool,
    /// The tool does not run in the sandbox
    #[arg(long)]
    pub(crate) unconfined: bool,
    /// The context's list does not have it
    #[arg(long)]
    pub(crate) not_in_context: bool,
    /// The manifest, or the egress rules, do not have it
    #[arg(long)]
    pub(crate) not_in_manifest: bool,
}

/// What is versioned: `cloister.toml` and `policies/`; with --user, who that person's agent is and
/// what steers it.
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// List the versions, newest first
    Log {
        /// A file or folder: policies, w1/SOUL.md, …
        path: Option<String>,
        #[command(flatten)]
        user: ForUser,
        /// How many
        #[arg(long, value_name = "N")]
        last: Option<usize>,
    },
    /// Show what is different between two versions, or between one and the newest
    Diff {
        /// The beginning of its id, or latest~1 for what was before the newest change
        from: String,
        to: Option<String>,
        /// A file or folder
        #[arg(long)]
        path: Option<String>,
        #[command(flatten)]
        user: ForUser,
    },
    /// Put a file, a folder or ALL back to what it was, as a new version
    Rollback {
        /// A file, a folder, or ALL
        path: String,
        /// The beginning of its id, or latest~1 for what was before the newest change
        version: String,
        #[command(flatten)]
        user: ForUser,
    },
}

#[derive(Debug, clap::Args)]
// What is in the environment is no part of what has to be typed.
#[command(override_usage = "cloister stop --all [--reason TEXT]")]
pub(crate) struct Stop {
    /// Every agent of everybody; nothing else can be stopped this way
    #[arg(long, required = true)]
    pub(crate) all: bool,
    /// Why; everybody who writes is told
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) reason: String,
}
