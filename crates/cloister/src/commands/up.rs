//! `cloister up`: settings, build, check, serve, drain.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use cloister_control::ports::CheckStatus;
use cloister_control::{Actor, Control, Metrics, UserOptions};
use cloister_protocol::{ErrorCode, UserName, with_causes};
use cloister_store::users::User;
use cloister_web::{Operator, Serving, State};
use rustix::process::{Resource, Rlimit};
use serde::Serialize;
use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::{Context, address, doctor_kept, running};
use crate::args::Up;
use crate::config::Config;
use crate::logging::{self, LogFormat};
use crate::output::CliError;
use crate::wiring::{self, Built};

/// The name of the first user when nobody said.
const FIRST_USER: &str = "owner";
/// How long what is ready has to get to the surfaces.
const TELL_TIME: Duration = Duration::from_secs(3);
/// How long open connections have after a stop.
const CLOSE_TIME: Duration = Duration::from_secs(3);
/// Connections beside the agent sockets: pages, files, commands.
const SPARE_CONNECTIONS: usize = 4096;
/// How long sandboxes have to end when there is no time.
const HURRY_TIME: Duration = Duration::from_secs(1);

/// The first line of `up --json`.
#[derive(Serialize)]
pub(super) struct Started {
    pub(super) url: String,
    pub(super) login_url: String,
    pub(super) pid: u32,
    /// Another process had been started before; this one is done.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) already_running: bool,
}

pub(super) async fn run(context: Context, up: Up) -> Result<ExitCode, CliError> {
    let config = Config::load(&context.data)?;
    if let Some(code) = running::point_to_it(&context, &up).await? {
        return Ok(code);
    }
    let metrics = Arc::new(Metrics::default());
    let format = if up.log_json { LogFormat::Json } else { config.log };
    logging::init(format, Arc::clone(&metrics))?;
    let open_files = raise_open_files();
    let guarded = cloister_sandbox::guard_memory();
    tracing::info!(
        no_core = guarded.no_core,
        not_traceable = guarded.not_traceable,
        not_swapped = guarded.not_swapped,
        "the memory of this process is guarded"
    );
    doctor_kept::refuse_damaged(&context.data).await?;
    let built = wiring::build_with(config, &context.data, metrics).await?;
    refuse_without_isolation(&built).await?;
    let user = first_user(&built.control, built.control.users()).await?;
    let listener = address::listen(up.listen.or(built.config.listen), context.output).await?;
    let said = up.url.as_deref().or(built.config.url.as_deref());
    let url = address::public_url(said, &listener, context.output)?;
    let stop = CancellationToken::new();
    let state = State {
        control: built.control.clone(),
        operator: Operator::load(&built.control.layout().root().join("operator.token"))
            .map_err(CliError::io("the operator token could not be read or made"))?,
        stop: stop.clone(),
        url: url.clone(),
        upstream: built.upstream.clone(),
        logins: cloister_web::LoginThrottle::default(),
        pace: cloister_web::Turnstile::default(),
        remote: built.remote.clone(),
        surfaces: built.surfaces.clone(),
    };
    let machines = listen_for_machines(&built).await?;
    let socket = admin_socket(built.control.layout().root())?;
    // Whoever reads that we have started may ask us to stop at once.
    let stop_asked = asked_to_stop()?;
    built.control.start().await?;
    // Each account connects in the background: a homeserver that is down holds nothing up.
    for surface in built.surfaces.all() {
        surface.start().await?;
    }
    let (token, _) = cloister_web::new_login_token(&built.control, &Actor::PLATFORM, &user).await?;
    say_started(&context, &url, &token)?;

    let most = built.config.limits.sockets.saturating_add(SPARE_CONNECTIONS);
    let serving = |wanted| Serving::new(&built.config.connections, wanted, open_files);
    let mut servers = tokio::task::JoinSet::new();
    if let Some(machines) = machines {
        servers.spawn(built.remote.clone().serve(machines, state.clone(), stop.clone()));
    }
    // The operator's own account reaches everything through one socket.
    let local = cloister_web::local_router(state.clone());
    let public = cloister_web::public_router(state);
    servers.spawn(cloister_web::serve(listener, public, stop.clone(), serving(most)));
    servers.spawn(cloister_web::serve(socket, local, stop.clone(), serving(most)));
    if let Err(error) = built.control.backend().give_back() {
        tracing::warn!(error = with_causes(&error), "what only the start needed stays in memory");
    }

    let failed = tokio::select! {
        ended = servers.join_next() => Some(ended),
        () = stop_asked => None,
    };
    drain(&built, &stop, asked_to_stop()?, servers).await;
    match failed {
        None => Ok(ExitCode::SUCCESS),
        Some(ended) => {
            Err(CliError::new(ErrorCode::Internal, format!("a listener ended: {ended:?}")))
        }
    }
}

/// The admin listener, unless it was turned off.
async fn listen_for_machines(built: &Built) -> Result<Option<TcpListener>, CliError> {
    let options = &built.config.admin;
    if !options.enabled {
        return Ok(None);
    }
    let listener = address::listen_for_machines(options.listen).await?;
    let failed = "the admin listener has no address";
    built.remote.is_at(&listener).map_err(CliError::io(failed))?;
    Ok(Some(listener))
}

/// Lets what runs end, then stops everything; at once when `again` says so.
async fn drain(
    built: &Built,
    stop: &CancellationToken,
    again: impl Future<Output = ()>,
    mut servers: tokio::task::JoinSet<std::io::Result<()>>,
) {
    tracing::info!("stopping: running turns may end first; asked once more, it stops at once");
    let orderly = async {
        built.control.drain().await;
        built.control.status().tell_the_rest(TELL_TIME).await;
        for surface in built.surfaces.all() {
            surface.stop().await;
        }
        built.control.shut_down().await;
        built.gateway.drain(CLOSE_TIME).await;
        built.egress.drain(CLOSE_TIME).await;
    };
    let hurried = tokio::select! {
        () = orderly => false,
        () = again => true,
    };
    stop.cancel();
    if hurried {
        tracing::warn!("asked to stop once more: what runs is ended now");
        let ending = built.control.shut_down();
        drop(tokio::time::timeout(HURRY_TIME, ending).await);
    }
    let closed = async { while servers.join_next().await.is_some() {} };
    if tokio::time::timeout(CLOSE_TIME, closed).await.is_err() {
        tracing::info!("some connections were still open and are dropped");
    }
    // Whatever the stop itself recorded is signed too.
    built.control.audit().close_audit(CLOSE_TIME).await;
    if let Err(error) = built.store.close().await {
        tracing::warn!(error = with_causes(&error), "the database could not be closed in order");
    }
    let socket = crate::client::socket_path(built.control.layout().root());
    if let Err(error) = std::fs::remove_file(&socket) {
        tracing::warn!(error = with_causes(&error), "the control socket could not be removed");
    }
    tracing::info!("stopped");
}

/// Every live cell takes about ten descriptors, every client one: as many as this account may have.
pub fn raise_open_files() -> usize {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if let Err(error) = rustix::process::setrlimit(Resource::Nofile, raised) {
        tracing::warn!(error = with_causes(&error), "the limit of open files could not be raised");
    }
    let now = rustix::process::getrlimit(Resource::Nofile).current;
    now.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX))
}

/// Resolves when the operator (or the system) wants this process to end.
pub fn asked_to_stop() -> Result<impl Future<Output = ()>, CliError> {
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
    let user = match control.accounts().all().await?.into_iter().next() {
        Some(user) => user,
        None => {
            let name: UserName =
                FIRST_USER.parse().map_err(cloister_control::ControlError::from)?;
            control.accounts().add(&Actor::Operator, &name, options.limits()).await?
        }
    };
    control.chats().ensure_first_chat(&Actor::Operator, user.workspace).await?;
    Ok(user)
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

/// The last line is the link, alone: nothing follows it until something happens.
fn say_started(context: &Context, url: &str, token: &str) -> Result<(), CliError> {
    let started = Started {
        url: url.to_owned(),
        login_url: format!("{url}/login?token={token}"),
        pid: std::process::id(),
        already_running: false,
    };
    if !context.output.json {
        context.output.note(&format!(
            "Cloister is up at {url}, its data in {}. Ctrl-C stops it; `cloister chat` in another \
             terminal talks to your agent.\nLog in with this link; it works once, for a day:",
            context.data.display()
        ));
    }
    context.output.result(&started, || started.login_url.clone())
}
