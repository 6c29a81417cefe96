//! What can be typed about the agents of a person.

use std::path::PathBuf;

use clap::Subcommand;

use super::ForUser;

/// What `agent` does, below its help.
const ABOUT: &str = "\
Each agent has its own SOUL.md, MEMORY.md, skills, models and chats, and sees nothing of the others; USER.md is about \
the person and is read by all of them. The first agent's files are the workspace's own, the others' are in agents/ID \
there. `cloister chats new --agent NAME` opens a chat with one, in any chat /agent NAME goes to one.";

#[derive(Debug, Subcommand)]
#[command(after_help = ABOUT)]
pub(crate) enum Agent {
    /// List agents and their chats, also those that were removed
    List {
        #[command(flatten)]
        user: ForUser,
    },
    /// Make another agent
    Add {
        /// One word, in any script
        name: String,
        #[command(flatten)]
        user: ForUser,
        #[command(flatten)]
        manner: Manner,
    },
    /// Show an agent and who it is
    Show {
        /// Its name, or its id (a2)
        agent: String,
        #[command(flatten)]
        user: ForUser,
    },
    /// Say who an agent is and how it should be, for its SOUL.md
    Set {
        /// Its name, or its id (a2)
        agent: String,
        #[command(flatten)]
        user: ForUser,
        #[command(flatten)]
        manner: Manner,
    },
    /// Give an agent another name
    Rename {
        /// Its name, or its id (a2)
        agent: String,
        name: String,
        #[command(flatten)]
        user: ForUser,
    },
    /// Remove an agent: its chats are archived, its tasks end, its files stay
    Rm {
        /// Its name, or its id (a2)
        agent: String,
        #[command(flatten)]
        user: ForUser,
        /// Take it back, with the chats that were archived with it
        #[arg(long)]
        undo: bool,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct Manner {
    /// Who it is and how it should be
    #[arg(long, value_name = "TEXT", conflicts_with = "manner_file")]
    pub(crate) manner: Option<String>,
    /// The same, from a file
    #[arg(long, value_name = "FILE")]
    pub(crate) manner_file: Option<PathBuf>,
}
