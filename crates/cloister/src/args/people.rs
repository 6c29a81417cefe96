//! What can be typed about people: roles, pairing, workspaces and contexts.

use std::path::PathBuf;

use clap::Subcommand;
use cloister_protocol::UserName;

#[derive(Debug, Subcommand)]
pub(crate) enum Role {
    /// List who holds which role where
    List,
    /// Give a role; in a private workspace its owner does, or an overlord. Whom it concerns is told
    Give(RoleOf),
    /// Take a role away; what it held open ends at once
    Take(RoleOf),
}

#[derive(Debug, clap::Args)]
pub(crate) struct RoleOf {
    pub(crate) user: UserName,
    /// overlord, admin, operator, member or viewer
    pub(crate) role: String,
    /// platform, workspace:w1, context:w1/NAME, skill:w1/NAME, tool:w1/NAME, mailbox:w1/NAME or model:NAME
    /// [default: the user's own workspace]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Option<String>,
}

/// An account on a surface.
#[derive(Debug, clap::Args)]
pub(crate) struct AccountOf {
    pub(crate) name: UserName,
    /// matrix, telegram, discord, email …
    #[arg(long, value_name = "SURFACE")]
    pub(crate) surface: String,
    /// Their id there, such as @ada:example.org; not the name they show
    #[arg(long, value_name = "ID")]
    pub(crate) id: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Pair {
    /// What the person was given when they wrote `pair`
    pub(crate) code: String,
    /// Link it to this user; without it, only show who it is
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<UserName>,
    /// Give the user a role with it
    #[arg(long, value_name = "ROLE", requires = "user")]
    pub(crate) role: Option<String>,
    /// Where the role holds [default: the user's own workspace]
    #[arg(long, value_name = "SCOPE", requires = "role")]
    pub(crate) scope: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Workspace {
    /// List workspaces
    List,
    /// Make the workspace of a community; its members get roles in its scope
    Add { name: UserName },
    /// Show a workspace
    Show {
        /// Its id (w1), or the name of whose it is
        workspace: String,
    },
}

/// In which workspace.
#[derive(Debug, clap::Args)]
pub(crate) struct In {
    /// A workspace's id, a user or a community [default: the first user]
    #[arg(long = "in", value_name = "WORKSPACE")]
    pub(crate) workspace: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Context {
    /// List the contexts of a workspace
    List {
        #[command(flatten)]
        place: In,
    },
    /// Make a context
    Add(ContextOf),
    /// Show a context, and what it allows together with those around it
    Show {
        name: String,
        #[command(flatten)]
        place: In,
    },
    /// Change a context; the one named `workspace` is around all others
    Set(ContextOf),
    /// Take a context away; its chats are archived
    Rm {
        name: String,
        #[command(flatten)]
        place: In,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct ContextOf {
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) place: In,
    /// The context around it; it never allows more than that one [default: workspace]
    #[arg(long, value_name = "NAME")]
    pub(crate) inherits: Option<String>,
    /// What the agent is told there
    #[arg(long, value_name = "TEXT", conflicts_with = "prompt_file")]
    pub(crate) prompt: Option<String>,
    /// The same, from a file
    #[arg(long, value_name = "FILE")]
    pub(crate) prompt_file: Option<PathBuf>,
    /// The tools that may be used, separated by commas; `all` lifts the limit, `none` allows none
    #[arg(long, value_name = "NAMES")]
    pub(crate) tools: Option<String>,
    /// The models that may be used
    #[arg(long, value_name = "NAMES")]
    pub(crate) models: Option<String>,
    /// The skills that may be used
    #[arg(long, value_name = "NAMES")]
    pub(crate) skills: Option<String>,
    /// The surface of its conversation
    #[arg(long, value_name = "SURFACE", requires = "conversation")]
    pub(crate) surface: Option<String>,
    /// The room, channel, thread or direct conversation that it is
    #[arg(long, value_name = "ID", requires = "surface", allow_hyphen_values = true)]
    pub(crate) conversation: Option<String>,
}
