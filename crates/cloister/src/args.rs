//! What can be typed.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use cloister_protocol::{ApprovalId, ChatId, TaskId, UserName};

/// A private AI agent for every person, each in its own locked cell.
#[derive(Debug, Parser)]
#[command(name = "cloister", version, max_term_width = 100)]
pub(crate) struct Args {
    /// Where everything is kept [default: ~/.local/share/cloister]
    #[arg(long, global = true, env = "CLOISTER_DATA", value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Print JSON; errors as {"error": {"code", "message", "fix"}}
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the control plane and stay until Ctrl-C
    Up(Up),
    /// Check this machine, and say how to fix what is wrong
    Doctor,
    /// Set up a data directory: first user, model, budget
    Init(Init),
    /// Talk to your agent
    Chat(Chat),
    /// List, make and change chats
    #[command(subcommand)]
    Chats(Chats),
    /// List, add and change users
    #[command(subcommand)]
    User(User),
    /// List, show and cancel tasks; answer what they ask
    #[command(subcommand)]
    Task(Task),
    /// Connect models and choose who uses which
    #[command(subcommand)]
    Model(Model),
    /// Show and set budgets
    #[command(subcommand)]
    Budget(Budget),
    /// What the running control plane is doing
    Status,
    /// Make a one-time login link for a user
    LoginUrl(ForUser),
    /// Make a session token for the agent socket
    Session(Session),
    /// Measure this machine: overhead per turn, cold start, memory
    Bench(Bench),
    /// Print the completions of a shell
    Completions { shell: clap_complete::Shell },
}

#[derive(Debug, clap::Args)]
pub(crate) struct Up {
    /// Where to listen; port 0 takes a free one [default: 127.0.0.1:8484]
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Log as JSON
    #[arg(long)]
    pub(crate) log_json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Init {
    /// Ask nothing; take what is given and defaults for the rest
    #[arg(long)]
    pub(crate) unattended: bool,
    /// The first user
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<UserName>,
    /// What the agent should be like, for SOUL.md
    #[arg(long, value_name = "TEXT")]
    pub(crate) manner: Option<String>,
    /// What the agent should know about the person, for USER.md
    #[arg(long, value_name = "TEXT")]
    pub(crate) about: Option<String>,
    /// Dollars per day
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub(crate) daily: Option<f64>,
    /// The base URL of an OpenAI-compatible model
    #[arg(long, value_name = "URL", requires = "model")]
    pub(crate) base_url: Option<String>,
    /// The model's id at that URL
    #[arg(long, value_name = "ID", requires = "base_url")]
    pub(crate) model: Option<String>,
    /// An environment variable that holds the model's key
    #[arg(long, value_name = "VAR", conflicts_with = "key_file")]
    pub(crate) key_env: Option<String>,
    /// A file that holds the model's key
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ForUser {
    /// Whom it is for [default: the first user]
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<UserName>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Session {
    #[command(flatten)]
    pub(crate) user: ForUser,
    /// How long it is good for
    #[arg(long, value_name = "SECONDS")]
    pub(crate) ttl: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Chat {
    #[command(flatten)]
    pub(crate) user: ForUser,
    /// Which chat
    #[arg(long, value_name = "C1", default_value = "C1")]
    pub(crate) chat: ChatId,
    /// Send a file along; can be given several times
    #[arg(long = "file", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Also wait for the tasks this message starts, and for what the agent says of them
    #[arg(long)]
    pub(crate) wait: bool,
    /// Save files the agent sends to this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,
    /// Give up after this long
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub(crate) timeout: u64,
    /// What to say; without it, standard input, or a conversation if that is a terminal
    pub(crate) text: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Chats {
    /// List chats
    List {
        #[command(flatten)]
        user: ForUser,
    },
    /// Start another chat
    New {
        #[command(flatten)]
        user: ForUser,
        title: Option<String>,
    },
    /// Show what was said in a chat
    Show {
        #[command(flatten)]
        user: ForUser,
        chat: ChatId,
        /// How many lines
        #[arg(long, default_value_t = 50)]
        last: u32,
    },
    /// Name a chat
    Rename {
        #[command(flatten)]
        user: ForUser,
        chat: ChatId,
        title: String,
    },
    /// Put a chat away
    Archive {
        #[command(flatten)]
        user: ForUser,
        chat: ChatId,
        /// Take it out again
        #[arg(long)]
        undo: bool,
    },
    /// Forget a conversation; files stay
    Clear {
        #[command(flatten)]
        user: ForUser,
        chat: ChatId,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct Limits {
    /// Workspace quota
    #[arg(long, value_name = "MB")]
    pub(crate) quota_mb: Option<u64>,
    /// Executors at once
    #[arg(long, value_name = "N")]
    pub(crate) executors: Option<u32>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum User {
    /// List users
    List,
    /// Add a user with a workspace
    Add {
        name: UserName,
        #[command(flatten)]
        limits: Limits,
    },
    /// Show a user
    Show { name: UserName },
    /// Change a user's limits
    Set {
        name: UserName,
        #[command(flatten)]
        limits: Limits,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// List tasks
    List {
        #[command(flatten)]
        user: ForUser,
        /// Only those that have not ended
        #[arg(long)]
        open: bool,
    },
    /// Show a task and its ledger
    Show {
        #[arg(value_parser = task_id)]
        task: TaskId,
    },
    /// Cancel a task, or with --all every open one of a user
    Cancel {
        #[arg(value_parser = task_id, required_unless_present = "all")]
        task: Option<TaskId>,
        #[arg(long, conflicts_with = "task")]
        all: bool,
        #[command(flatten)]
        user: ForUser,
    },
    /// Try a task again that failed or was cancelled
    Retry {
        #[arg(value_parser = task_id)]
        task: TaskId,
    },
    /// List what waits for an answer
    Approvals {
        #[command(flatten)]
        user: ForUser,
    },
    /// Allow what a task asks
    Approve {
        #[command(flatten)]
        user: ForUser,
        approval: ApprovalId,
    },
    /// Refuse what a task asks
    Deny {
        #[command(flatten)]
        user: ForUser,
        approval: ApprovalId,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Level {
    Coordinator,
    Executor,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Model {
    /// List models and the levels that use them
    List,
    /// Connect an OpenAI-compatible model; without --key-env or --key-file it is called without a key
    Add(AddModel),
    /// Choose the models of a level, in order: the first that answers is used
    Use {
        /// Whose models; both if not given
        #[arg(long)]
        level: Option<Level>,
        /// NAME, or NAME,FALLBACK…
        #[arg(value_delimiter = ',', required = true)]
        models: Vec<String>,
    },
    /// Send the smallest possible call to a model
    Test { name: String },
    /// Forget a model and its key
    Rm { name: String },
}

#[derive(Debug, clap::Args)]
pub(crate) struct AddModel {
    pub(crate) name: String,
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: String,
    /// The model's id at that URL
    #[arg(long, value_name = "ID")]
    pub(crate) model: String,
    /// An environment variable that holds the key
    #[arg(long, value_name = "VAR", conflicts_with = "key_file")]
    pub(crate) key_env: Option<String>,
    /// A file that holds the key
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Ask for the key
    #[arg(long, conflicts_with_all = ["key_env", "key_file"])]
    pub(crate) key_prompt: bool,
    /// Dollars per million prompt tokens
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub(crate) prompt_price: Option<f64>,
    /// Dollars per million completion tokens
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub(crate) completion_price: Option<f64>,
    /// The longest answer
    #[arg(long, value_name = "TOKENS")]
    pub(crate) max_output: Option<u32>,
    /// Replace a model of this name, if there is one
    #[arg(long)]
    pub(crate) replace: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Budget {
    /// Show what was spent and by which model
    Show {
        #[command(flatten)]
        user: ForUser,
    },
    /// Set a user's budgets
    Set {
        name: UserName,
        /// Dollars per UTC day
        #[arg(long, value_name = "USD", value_parser = dollars, required_unless_present = "task")]
        daily: Option<f64>,
        /// Dollars per task
        #[arg(long, value_name = "USD", value_parser = dollars)]
        task: Option<f64>,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct Bench {
    /// Fewer rounds, for a look
    #[arg(long)]
    pub(crate) quick: bool,
    /// So many rounds of everything, for tests
    #[arg(long, hide = true, value_name = "N")]
    pub(crate) rounds: Option<std::num::NonZeroUsize>,
}

/// An amount of money: a finite number that is not negative.
fn dollars(text: &str) -> Result<f64, String> {
    let usd: f64 = text.parse().map_err(|error| format!("{error}"))?;
    if usd.is_finite() && usd >= 0.0 {
        Ok(usd)
    } else {
        Err("expected an amount in dollars, such as 2.50".to_owned())
    }
}

/// A task as people type it: `T3`, `t3` or `3`.
fn task_id(text: &str) -> Result<TaskId, cloister_protocol::ParseIdError> {
    format!("T{}", text.trim_start_matches(['T', 't'])).parse()
}
