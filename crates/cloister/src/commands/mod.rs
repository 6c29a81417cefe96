//! The commands, one file each.

pub(crate) mod address;
mod admin;
mod agent;
mod ask;
mod audit;
mod budget;
mod chat;
mod chats;
mod config_history;
mod connector;
mod connectors;
mod context;
mod discord;
mod doctor;
pub(crate) mod doctor_kept;
mod egress;
mod export;
mod grant;
mod init;
mod invite;
mod matrix;
mod matrix_import;
mod model;
mod pair;
mod policy;
mod questions;
mod role;
mod running;
mod secret;
mod status;
mod stop;
mod task;
mod telegram;
pub(crate) mod up;
mod user;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::CommandFactory;
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{NewSession, Session};

use crate::args::{Args, Command};
use crate::client::Client;
use crate::config;
use crate::output::{CliError, Output, USAGE};
use crate::remote::{Machine, Remotes};

/// The control plane uses every core; the other commands need one thread.
pub(crate) fn runtime(args: &Args) -> Result<tokio::runtime::Runtime, CliError> {
    let mut builder = match args.command {
        Command::Up(_) => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    builder.enable_all().build().map_err(CliError::io("no runtime could be made"))
}

/// What every command has.
pub(crate) struct Context {
    pub(crate) data: PathBuf,
    pub(crate) output: Output,
    /// The machine that is meant, when it is another.
    pub(crate) remote: Option<Arc<Machine>>,
}

impl Context {
    pub(crate) async fn client(&self) -> Result<Client, CliError> {
        match &self.remote {
            Some(machine) => Ok(Client::remote(Arc::clone(machine))),
            None => Client::new(&self.data).await,
        }
    }

    /// Only a running control plane will do.
    pub(crate) async fn running(&self) -> Result<Client, CliError> {
        match &self.remote {
            Some(machine) => Ok(Client::remote(Arc::clone(machine))),
            None => Client::running(&self.data).await,
        }
    }

    /// A command as it is typed for this data directory.
    pub(crate) fn typed(&self, words: &str) -> String {
        if config::data_dir(None).is_ok_and(|usual| usual == self.data) {
            return format!("cloister {words}");
        }
        format!("cloister --data {} {words}", quoted(&self.data))
    }

    /// Whether another machine is meant.
    pub(crate) fn is_remote(&self) -> bool {
        self.remote.is_some()
    }

    /// The machines where this one is enrolled.
    pub(crate) fn remotes(&self) -> Result<Remotes, CliError> {
        Ok(Remotes::new(&config::config_dir()?))
    }
}

/// A path as one word of a shell.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+:@%".contains(c);
    if path.chars().all(plain) { path } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

/// The machine that a command is for, when it is another than this one.
async fn other_machine(args: &Args) -> Result<Option<Arc<Machine>>, CliError> {
    if let Some(word) = only_here(&args.command) {
        let message = format!("`cloister {word}` works on this machine alone");
        let refused = CliError::new(ErrorCode::BadRequest, message).exit(USAGE);
        return match args.remote {
            Some(_) => {
                Err(refused.fix("leave --remote (and CLOISTER_REMOTE) away, or run it there"))
            }
            None => Ok(None),
        };
    }
    let remotes = || config::config_dir().map(|dir| Remotes::new(&dir));
    match (&args.remote, &args.data) {
        (Some(name), _) => remotes()?.open(name).await.map(Some),
        (None, Some(_)) => Ok(None),
        (None, None) => match remotes().ok().and_then(|remotes| remotes.default_name()) {
            Some(name) => remotes()?.open(&name).await.map(Some),
            None => Ok(None),
        },
    }
}

/// What a command is called that makes no sense for another machine.
fn only_here(command: &Command) -> Option<&'static str> {
    match command {
        Command::Up(_) => Some("up"),
        Command::Doctor => Some("doctor"),
        Command::Init(_) => Some("init"),
        Command::Completions { .. } => Some("completions"),
        Command::Admin(crate::args::Admin::Enroll { .. }) => Some("admin enroll"),
        Command::Admin(crate::args::Admin::Remotes) => Some("admin remotes"),
        _ => None,
    }
}

pub(crate) async fn run(args: Args, output: Output) -> Result<ExitCode, CliError> {
    let data = config::data_dir(args.data.as_deref())?;
    let remote = other_machine(&args).await?;
    let context = Context { data, output, remote };
    match args.command {
        Command::Up(up) => return up::run(context, up).await,
        Command::Doctor => return doctor::run(context).await,
        Command::Chat(chat) => return chat::run(context, chat).await,
        Command::Init(init) => init::run(context, init).await?,
        Command::Chats(chats) => chats::run(context, chats).await?,
        Command::Agent(agent) => agent::run(context, agent).await?,
        Command::Invite(invite) => invite::run(context, invite).await?,
        Command::User(user) => user::run(context, user).await?,
        Command::Role(role) => role::run(context, role).await?,
        Command::Pair(pair) => pair::run(context, pair).await?,
        Command::Workspace(command) => context::workspace(context, command).await?,
        Command::Context(command) => context::run(context, command).await?,
        Command::Task(task) => task::run(context, task).await?,
        Command::Grant(grant) => grant::run(context, grant).await?,
        Command::Model(model) => model::run(context, model).await?,
        Command::Budget(budget) => budget::run(context, budget).await?,
        Command::Matrix(matrix) => return matrix::run(context, matrix).await,
        Command::Telegram(telegram) => return telegram::run(context, telegram).await,
        Command::Discord(discord) => return discord::run(context, discord).await,
        Command::Connector(connector) => return connector::run(context, connector).await,
        Command::Egress(egress) => egress::run(context, egress).await?,
        Command::Secret(secret) => secret::run(context, secret).await?,
        Command::Audit(audit) => return audit::run(context, audit).await,
        Command::Admin(admin) => admin::run(context, admin).await?,
        Command::Policy(policy) => return policy::run(context, policy).await,
        Command::Config(config) => config_history::run(context, config).await?,
        Command::Stop(stop) => stop::run(context, stop).await?,
        Command::Release => stop::release(context).await?,
        Command::Status(status) => return status::run(context, status).await,
        Command::LoginUrl(who) => login_url(context, who.user.as_ref()).await?,
        Command::Session(session) => new_session(context, session).await?,
        Command::Completions { shell } => completions(shell)?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn login_url(
    context: Context,
    user: Option<&cloister_protocol::UserName>,
) -> Result<(), CliError> {
    let client = context.running().await?;
    let user = Some(client.user(user).await?);
    let answer: serde_json::Value =
        client.post("/admin/v1/login", &NewSession { user, ..NewSession::default() }).await?;
    context.output.result(&answer, || answer["login_url"].as_str().unwrap_or_default().to_owned())
}

async fn new_session(context: Context, asked: crate::args::Session) -> Result<(), CliError> {
    let client = context.running().await?;
    let user = Some(client.user(asked.user.user.as_ref()).await?);
    let asked = NewSession { user, ttl_s: asked.ttl, login_token: None };
    let session: Session = client.post("/admin/v1/sessions", &asked).await?;
    context.output.result(&session, || session.token.clone())
}

fn completions(shell: clap_complete::Shell) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "cloister", &mut script);
    let script = String::from_utf8(script)
        .map_err(|error| CliError::new(ErrorCode::Internal, error.to_string()))?;
    Output::new(false).piece(&script)
}
