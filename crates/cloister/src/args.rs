//! What can be typed.

mod address;
mod admin;
mod agent;
pub(crate) mod audit;
pub(crate) mod connector;
pub(crate) mod discord;
mod grant;
pub(crate) mod matrix;
mod model;
mod people;
mod platform;
pub(crate) mod secret;
pub(crate) mod telegram;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Parser, Subcommand};
use cloister_protocol::{ApprovalId, ChatId, Language, TaskId, UserName};

pub(crate) use admin::{Admin, Ca};
pub(crate) use agent::{Agent, Manner};
pub(crate) use grant::Grant;
pub(crate) use model::{AddModel, Effort, Level, Model, ModelSetting, SetModel, Whose, WorkKind};
pub(crate) use people::{AccountOf, Context, ContextOf, In, Pair, Role, RoleOf, Workspace};
pub(crate) use platform::{Config, Explain, Policy, Stop, Who};

/// A private AI agent for every person, each in its own locked cell.
///
/// `cloister up` starts it and prints a link to log in with. `cloister chat` talks to your agent from
/// a terminal. `cloister init` asks a few questions to set it up.
#[derive(Debug, Parser)]
#[command(name = "cloister", version, max_term_width = 100)]
pub(crate) struct Args {
    /// Where everything is kept [default: ~/.local/share/cloister]
    #[arg(long, global = true, env = "CLOISTER_DATA", value_name = "DIR", value_parser = any_path())]
    pub(crate) data: Option<PathBuf>,
    /// Administer another machine, where this one is enrolled (`cloister admin enroll`)
    #[arg(long, global = true, env = "CLOISTER_REMOTE", value_name = "NAME")]
    pub(crate) remote: Option<String>,
    /// Print JSON; errors as {"error": {"code", "message", "fix"}}
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start, print a login link, and stay until Ctrl-C; safe to run again
    Up(Up),
    /// Check this machine, and say how to fix what is wrong
    Doctor,
    /// Set up by answering a few questions: your name, your agent, a model, a budget
    Init(Init),
    /// Talk to your agent: a conversation, one message, or a pipe
    Chat(Chat),
    /// Invite another person: adds them if they are new, and prints a link for them
    Invite(Invite),
    /// List, make and change chats
    #[command(subcommand)]
    Chats(Chats),
    /// Several agents of one person: list, add, name, describe and remove them
    #[command(subcommand)]
    Agent(Agent),
    /// List, add and change users (the people who have an agent here)
    #[command(subcommand)]
    User(User),
    /// Who may do what: list, give and take roles
    #[command(subcommand)]
    Role(Role),
    /// Show who a pairing code is of, and link them to a user
    Pair(Pair),
    /// List workspaces, and make those of communities
    #[command(subcommand)]
    Workspace(Workspace),
    /// Contexts of a workspace: their prompts, and what may be used in them
    #[command(subcommand)]
    Context(Context),
    /// List, show and cancel tasks (what agents work on in the background); answer what they ask
    #[command(subcommand)]
    Task(Task),
    /// List, explain and revoke what people allowed their agents for longer than once
    #[command(subcommand)]
    Grant(Grant),
    /// Connect models and choose who uses which
    #[command(subcommand)]
    Model(Model),
    /// Show what was spent on models, and set how much may be
    #[command(subcommand)]
    Budget(Budget),
    /// Let people reach their agents over Matrix: connect bot accounts, and see how they are doing
    #[command(subcommand)]
    Matrix(matrix::Matrix),
    /// Let people reach their agents over Telegram: connect bots, and see how they are doing
    #[command(subcommand)]
    Telegram(telegram::Telegram),
    /// Let people reach their agents over Discord: connect bots, and see how they are doing
    #[command(subcommand)]
    Discord(discord::Discord),
    /// Let people reach their agents over a surface of your own: connect accounts, and see how they are doing
    #[command(subcommand)]
    Connector(connector::Connector),
    /// Where a user's tasks may go on the network
    #[command(subcommand)]
    Egress(Egress),
    /// Administer from other machines: enrol them, end them, and the authority that vouches for them
    #[command(subcommand)]
    Admin(Admin),
    /// Keep secrets that agents may use and never see: set, list, rotate, remove
    #[command(subcommand)]
    Secret(secret::Secret),
    /// What was asked, decided, done and changed; and the proof that it is whole
    #[command(subcommand)]
    Audit(audit::Audit),
    /// Policies: who may do what, checked, explained and put in force
    #[command(subcommand)]
    Policy(Policy),
    /// The versions of settings, policies and of who agents are; and going back to one
    #[command(subcommand)]
    Config(Config),
    /// Emergency: stop every agent until `cloister release`
    Stop(Stop),
    /// Let everything go on after `cloister stop --all`
    Release,
    /// What the running control plane is doing, and what to do about it; exits with 1 if that is urgent
    Status(Status),
    /// Print a new login link; it works once
    LoginUrl(ForUser),
    /// Make a session token, for programs that use the agent socket
    Session(Session),
    /// Print the completions of a shell, for its start-up file
    Completions { shell: clap_complete::Shell },
}

#[derive(Debug, clap::Args)]
pub(crate) struct Up {
    /// Where to listen; port 0 takes a free one [default: 127.0.0.1:8484, or a free port after it]
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// The address that links start with, when people reach it by another than where it listens
    #[arg(long, value_name = "URL", value_parser = crate::commands::address::checked)]
    pub(crate) url: Option<String>,
    /// Log as JSON
    #[arg(long)]
    pub(crate) log_json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Status {
    /// Look again every two seconds
    #[arg(long)]
    pub(crate) watch: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Init {
    /// Ask nothing; take what is given and defaults for the rest
    #[arg(long)]
    pub(crate) unattended: bool,
    /// Whose agent it is; added if new [default: the first user]
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<UserName>,
    /// What they are called, in any script
    #[arg(long, value_name = "NAME")]
    pub(crate) display_name: Option<String>,
    /// What commands, notices and pages speak to them: en, de or ru
    #[arg(long, value_name = "LANGUAGE")]
    pub(crate) language: Option<Language>,
    /// The agent's name, for SOUL.md
    #[arg(long, value_name = "NAME")]
    pub(crate) agent_name: Option<String>,
    /// What the agent should be like, for SOUL.md
    #[arg(long, value_name = "TEXT")]
    pub(crate) manner: Option<String>,
    /// What the agent should know about the person, for USER.md
    #[arg(long, value_name = "TEXT")]
    pub(crate) about: Option<String>,
    /// Dollars per day
    #[arg(long, value_name = "USD", allow_negative_numbers = true, value_parser = dollars)]
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
    /// Keep the model without trying it first
    #[arg(long)]
    pub(crate) no_test: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Invite {
    /// Their name here
    pub(crate) name: UserName,
    #[command(flatten)]
    pub(crate) limits: UserLimits,
    /// Dollars per day
    #[arg(long, value_name = "USD", allow_negative_numbers = true, value_parser = dollars)]
    pub(crate) daily: Option<f64>,
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

/// What `chat` says with its exit code, below its help.
const CHAT_EXIT_CODES: &str = "\
Standard output has the answer alone; remarks go to standard error.

With words and a pipe, what comes through the pipe goes along: up to 64 KB of text inside the message, \
anything else as a file. With --json every frame of the agent socket is one line (docs/protocol.md).

Exit codes: 0 answered; 1 could not do it (the answer or the error says why); 2 wrong usage; 69 nothing \
runs (`cloister up`); 75 no answer in time, it may still come; 77 a question waits for somebody's answer (with \
--wait, or when the time is over); 130 stopped by Ctrl-C; 141 nobody reads standard output any more.";

#[derive(Debug, clap::Args)]
#[command(after_help = CHAT_EXIT_CODES)]
pub(crate) struct Chat {
    #[command(flatten)]
    pub(crate) user: ForUser,
    /// Which chat
    #[arg(long, value_name = "C1", default_value = "C1")]
    pub(crate) chat: ChatId,
    /// The newest chat with this agent, by name or id, or a new one
    #[arg(long, value_name = "NAME", conflicts_with = "chat")]
    pub(crate) agent: Option<String>,
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
    /// What to say; without it, standard input is the message, or a conversation starts
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
        /// Who answers in it, by name or id [default: the first agent]
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
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
pub(crate) struct UserLimits {
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
        limits: UserLimits,
    },
    /// Show a user, their roles and their identities
    Show { name: UserName },
    /// Link an account on a surface to a user: whoever has it speaks as them
    Link(AccountOf),
    /// Unlink an account
    Unlink(AccountOf),
    /// Write all that is a user's into a directory of readable files
    Export {
        name: UserName,
        /// A new or empty directory
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Erase a user: chats, files, tasks, secrets, and what the audit says of them
    Erase {
        name: UserName,
        /// Do not ask
        #[arg(long)]
        yes: bool,
        /// Why, in words that stay in the audit
        #[arg(long, value_name = "TEXT", default_value = "asked for")]
        why: String,
    },
    /// End every session and login link of a user, at once
    Logout { name: UserName },
    /// Show which files of their chats nobody has used for long: what would be put away now, and what was
    Retention { name: UserName },
    /// Change a user's limits
    Set {
        name: UserName,
        #[command(flatten)]
        limits: UserLimits,
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
    /// Show which files a task added, changed and removed, and how
    Diff {
        #[arg(value_parser = task_id)]
        task: TaskId,
    },
    /// Put what a task did into the chat's files though it failed or was cancelled
    Keep {
        #[arg(value_parser = task_id)]
        task: TaskId,
    },
    /// Let go of what a task did that failed or was cancelled, and free its room
    Drop {
        #[arg(value_parser = task_id)]
        task: TaskId,
    },
    /// Take back what a task did to the chat's files, or bring it back
    Undo {
        #[arg(value_parser = task_id)]
        task: TaskId,
        /// Only say what it would do
        #[arg(long)]
        dry_run: bool,
    },
    /// List what waits for an answer
    Approvals {
        #[command(flatten)]
        user: ForUser,
    },
    /// Allow what a task asks, this once unless said otherwise
    Approve {
        #[command(flatten)]
        user: ForUser,
        approval: ApprovalId,
        /// As often as the task needs exactly this
        #[arg(long, conflicts_with = "always")]
        for_task: bool,
        /// Until revoked (`cloister grant revoke`), where that is offered
        #[arg(long)]
        always: bool,
    },
    /// Deny what a task asks
    Deny {
        #[command(flatten)]
        user: ForUser,
        approval: ApprovalId,
        /// And stop the task
        #[arg(long)]
        stop: bool,
    },
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
        #[arg(long, value_name = "USD", allow_negative_numbers = true, value_parser = dollars, required_unless_present = "task")]
        daily: Option<f64>,
        /// Dollars per task
        #[arg(long, value_name = "USD", allow_negative_numbers = true, value_parser = dollars)]
        task: Option<f64>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Egress {
    /// List what is allowed
    List {
        #[command(flatten)]
        user: ForUser,
    },
    /// Allow hosts: example.com, *.example.com, example.com/path, example.com:8443, http://example.com
    Allow {
        #[command(flatten)]
        user: ForUser,
        #[arg(required = true, value_name = "RULE")]
        rules: Vec<String>,
    },
    /// Take rules away
    Rm {
        #[command(flatten)]
        user: ForUser,
        #[arg(required = true, value_name = "RULE")]
        rules: Vec<String>,
    },
    /// Show what was moved, by day and host
    Usage {
        #[command(flatten)]
        user: ForUser,
    },
}

/// An amount of money: a finite number that is not negative.
fn dollars(text: &str) -> Result<f64, String> {
    let usd = text.trim_start_matches('$').parse().ok();
    usd.filter(|usd: &f64| usd.is_finite() && *usd >= 0.0)
        .ok_or_else(|| "expected an amount in dollars, such as 2.50".to_owned())
}

/// A directory; an empty word is one that `data_dir` decides about.
fn any_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// A task as people type it: `T3`, `t3` or `3`.
fn task_id(text: &str) -> Result<TaskId, cloister_protocol::ParseIdError> {
    format!("T{}", text.trim_start_matches(['T', 't'])).parse()
}
