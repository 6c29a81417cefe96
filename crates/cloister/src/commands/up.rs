//! `cloister up`: settings, build, check, serve, drain.

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use cloister_control::ports::CheckStatus;
use cloister_control::{Control, UserOptions};
use cloister_protocol::{ErrorCode, UserName};
use cloister_store::users::User;
use cloister_web::{Operator, State};
use serde::Serialize;
use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::Context;
use crate::args::Up;
use crate::output::{CliError, Output};
use crate::wiring::{self, Built};

const DEFAULT_LISTEN: ([u8; 4], u16) = ([127, 0, 0, 1], 8484);
/// The name of the first user when nobody said.
const FIRST_USER: &str = "owner";
/// How long open connections have after a stop.
const CLOSE_TIME: Duration = Duration::from_secs(3);

/// The first line of `up --json`.
#[derive(Serialize)]
struct Started {
    url: String,
    login_url: String,
    pid: u32,
}

pub(super) async fn run(context: Context, up: Up) -> Result<ExitCode, CliError> {
    log_to_stderr(up.log_json)?;
    let built = wiring::build(&context.data).await?;
    refuse_without_isolation(&built).await?;
    let user = first_user(&built.control, built.control.users()).await?;
    let (listener, url) = listen(&built, up.listen).await?;
    let stop = CancellationToken::new();
    let state = State {
        control: built.control.clone(),
        operator: Operator::load(&built.control.layout().root().join("operator.token"))
            .map_err(CliError::io("the operator token could not be read or made"))?,
        stop: stop.clone(),
        url: url.clone(),
    };
    let socket = admin_socket(built.control.layout().root())?;
    // Whoever reads that we have started may ask us to stop at once.
    let stop_asked = asked_to_stop()?;
    built.control.start().await?;
    let token = cloister_web::new_login_token(&built.control, &user).await?;
    say_started(context.output, &url, &token)?;

    // The operator's own account reaches everything through one socket.
    let local = cloister_web::local_router(state.clone(), built.upstream.clone());
    let public = cloister_web::public_router(state);
    let mut servers = tokio::task::JoinSet::new();
    servers.spawn(cloister_web::serve(listener, public, stop.clone()));
    servers.spawn(cloister_web::serve(socket, local, stop.clone()));

    let failed = tokio::select! {
        ended = servers.join_next() => Some(ended),
        () = stop_asked => None,
    };
    drain(&built, &stop, servers).await;
    match failed {
        None => Ok(ExitCode::SUCCESS),
        Some(ended) => {
            Err(CliError::new(ErrorCode::Internal, format!("a listener ended: {ended:?}")))
        }
    }
}

async fn drain(
    built: &Built,
    stop: &CancellationToken,
    mut servers: tokio::task::JoinSet<std::io::Result<()>>,
) {
    tracing::info!("stopping");
    built.control.shut_down().await;
    built.gateway.drain(CLOSE_TIME).await;
    stop.cancel();
    let closed = async { while servers.join_next().await.is_some() {} };
    if tokio::time::timeout(CLOSE_TIME, closed).await.is_err() {
        tracing::info!("some connections were still open and are dropped");
    }
    built.control.store().close().await;
    let socket = crate::client::socket_path(built.control.layout().root());
    if let Err(error) = std::fs::remove_file(&socket) {
        tracing::warn!(%error, "the control socket could not be removed");
    }
    tracing::info!("stopped");
}

/// Resolves when the operator (or the system) wants this process to end.
pub(super) fn asked_to_stop() -> Result<impl Future<Output = ()>, CliError> {
    let failed = "signals can't be caught";
    let mut interrupt = signal(SignalKind::interrupt()).map_err(CliError::io(failed))?;
    let mut terminate = signal(SignalKind::terminate()).map_err(CliError::io(failed))?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

fn log_to_stderr(json: bool) -> Result<(), CliError> {
    let bad_filter = |error: tracing_subscriber::filter::ParseError| {
        CliError::new(ErrorCode::BadRequest, format!("CLOISTER_LOG is not a log filter: {error}"))
    };
    let filter =
        tracing_subscriber::EnvFilter::try_new(crate::config::log_filter()).map_err(bad_filter)?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    if json {
        builder.json().init();
    } else {
        builder.with_target(false).init();
    }
    Ok(())
}

/// There is no weaker mode: a machine that can't isolate runs nothing.
async fn refuse_without_isolation(built: &Built) -> Result<(), CliError> {
    let checks = built.control.backend().check().await;
    let Some(failed) = checks.into_iter().find(|check| check.status == CheckStatus::Failed) else {
        return Ok(());
    };
    let message = format!("this machine can't isolate a cell: {}: {}", failed.id, failed.found);
    let error = CliError::new(ErrorCode::CannotIsolate, message).exit(crate::output::UNAVAILABLE);
    Err(error.fix(failed.fix.unwrap_or_else(|| "`cloister doctor` says more".to_owned())))
}

/// The first user, made if there is none.
pub(super) async fn first_user(control: &Control, options: &UserOptions) -> Result<User, CliError> {
    let user = match control.store().users().await?.into_iter().next() {
        Some(user) => user,
        None => {
            let name: UserName =
                FIRST_USER.parse().map_err(cloister_control::ControlError::from)?;
            control.store().add_user(&name, options.limits()).await?
        }
    };
    control.store().ensure_first_chat(user.workspace).await?;
    Ok(user)
}

async fn listen(
    built: &Built,
    given: Option<std::net::SocketAddr>,
) -> Result<(TcpListener, String), CliError> {
    let address = given.or(built.config.listen).unwrap_or_else(|| DEFAULT_LISTEN.into());
    let listener = TcpListener::bind(address).await.map_err(|error| {
        CliError::new(ErrorCode::Conflict, format!("{address} can't be listened on: {error}"))
            .fix("choose another with --listen ADDR:PORT (port 0 takes a free one)")
    })?;
    let bound = listener.local_addr().map_err(CliError::io("the listener has no address"))?;
    Ok((listener, format!("http://{bound}")))
}

fn admin_socket(data: &Path) -> Result<UnixListener, CliError> {
    let path = crate::client::socket_path(data);
    let failed = format!("{} could not be made", path.display());
    // We hold the lock: whatever is there is left over.
    match std::fs::remove_file(&path) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(CliError::io(failed)(error)),
    }
    crate::client::listen(&path).map_err(CliError::io(failed))
}

fn say_started(output: Output, url: &str, token: &str) -> Result<(), CliError> {
    let started = Started {
        url: url.to_owned(),
        login_url: format!("{url}/login?token={token}"),
        pid: std::process::id(),
    };
    output.result(&started, || {
        format!(
            "Cloister is up at {url}. Talk to your agent in another terminal: cloister chat\nLog in: {}",
            started.login_url
        )
    })
}
