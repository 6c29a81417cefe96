//! The commands, one file each.

pub(crate) mod address;
mod bench;
mod budget;
mod chat;
mod chats;
mod doctor;
mod egress;
mod init;
mod invite;
mod model;
mod questions;
mod running;
mod status;
mod task;
pub(crate) mod up;
mod user;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::CommandFactory;
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{NewSession, Session};

use crate::args::{Args, Command};
use crate::client::Client;
use crate::config;
use crate::output::{CliError, Output};

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
}

impl Context {
    pub(crate) async fn client(&self) -> Result<Client, CliError> {
        Client::new(&self.data).await
    }
}

pub(crate) async fn run(args: Args, output: Output) -> Result<ExitCode, CliError> {
    let data = config::data_dir(args.data.as_deref())?;
    let context = Context { data, output };
    match args.command {
        Command::Up(up) => return up::run(context, up).await,
        Command::Doctor => return doctor::run(context).await,
        Command::Chat(chat) => return chat::run(context, chat).await,
        Command::Init(init) => init::run(context, init).await?,
        Command::Chats(chats) => chats::run(context, chats).await?,
        Command::Invite(invite) => invite::run(context, invite).await?,
        Command::User(user) => user::run(context, user).await?,
        Command::Task(task) => task::run(context, task).await?,
        Command::Model(model) => model::run(context, model).await?,
        Command::Budget(budget) => budget::run(context, budget).await?,
        Command::Egress(egress) => egress::run(context, egress).await?,
        Command::Status(status) => return status::run(context, status).await,
        Command::LoginUrl(who) => login_url(context, who.user.as_ref()).await?,
        Command::Session(session) => new_session(context, session).await?,
        Command::Bench(bench) => bench::run(context, bench).await?,
        Command::Completions { shell } => completions(shell)?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn login_url(
    context: Context,
    user: Option<&cloister_protocol::UserName>,
) -> Result<(), CliError> {
    let client = Client::running(&context.data).await?;
    let user = Some(client.user(user).await?);
    let answer: serde_json::Value =
        client.post("/admin/v1/login", &NewSession { user, ..NewSession::default() }).await?;
    context.output.result(&answer, || answer["login_url"].as_str().unwrap_or_default().to_owned())
}

async fn new_session(context: Context, asked: crate::args::Session) -> Result<(), CliError> {
    let client = Client::running(&context.data).await?;
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
