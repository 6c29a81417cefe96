//! The programs of the connectors: one per surface, in a sandbox with its own directory, its platform's hosts and
//! one socket. Started when an account is there or is being added, watched, and started again when it ends.

mod serving;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use cloister_kit::{Backoff, STATE_PATH};
use cloister_protocol::admin::ConnectorState;
use cloister_protocol::surface::AnyOrder;
use cloister_protocol::{ErrorBody, ErrorCode, with_causes};
use cloister_store::Actor;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::net::UnixListener;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use self::serving::LineEnded;
use super::line::{ConnectorLine, refusal};
use super::remote::Reach;
use super::{Health, SurfaceDesk};
use crate::control::Control;
use crate::error::Fault;
use crate::ports::{
    Access, Exit, Inhabitant, Limits, Mount, Owner, Sandbox, SandboxSpec, WayOut, Whereabouts,
};

/// How long a program may take to end when its line is closed.
const END_WITHIN: Duration = Duration::from_secs(6);
/// How long an order waits for a program that is being started.
const THERE_WITHIN: Duration = Duration::from_secs(60);
/// How long an operator's order waits for the one before.
const TURN_WITHIN: Duration = Duration::from_secs(10 * 60);
/// The pauses before a program is started again: from the first to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// One that lived this long has not failed at its start.
const LIVED: Duration = Duration::from_secs(10);
const MIB: u64 = 1 << 20;

/// What a surface's connector is.
pub struct ConnectorOptions {
    pub surface: &'static str,
    /// Its place among the surfaces.
    pub number: u8,
    /// Whether an operator brought it along: its accounts are then under `cloister connector`.
    pub own: bool,
    pub program: PathBuf,
    /// The hosts that it may declare, besides the servers of its accounts; none: what it declares is the operator's
    /// who brought it along.
    pub hosts: Option<&'static [&'static str]>,
    /// What to do where the program is not there.
    pub missing: String,
    /// Its section of the settings.
    pub options: Value,
    /// Which lines of its log are wanted.
    pub log: String,
}

/// The program of one surface's connector.
pub struct ConnectorProgram {
    control: Control,
    of: ConnectorOptions,
    way_out: Arc<dyn WayOut>,
    desk: OnceLock<Arc<SurfaceDesk>>,
    /// Whether it is to run.
    wanted: watch::Sender<bool>,
    now: watch::Sender<Now>,
    sandbox: Mutex<Option<Arc<dyn Sandbox>>>,
    watched: OnceLock<()>,
    /// It ends because it was to, whether or not it is wanted again.
    rested: AtomicBool,
}

/// How a program is doing.
#[derive(Clone, Default)]
enum Now {
    #[default]
    Away,
    Failed(String),
    There(Arc<ConnectorLine>),
}

impl ConnectorProgram {
    pub fn new(control: Control, of: ConnectorOptions, way_out: Arc<dyn WayOut>) -> Arc<Self> {
        let program = Arc::new(Self {
            control,
            of,
            way_out,
            desk: OnceLock::new(),
            wanted: watch::Sender::new(false),
            now: watch::Sender::default(),
            sandbox: Mutex::default(),
            watched: OnceLock::new(),
            rested: AtomicBool::new(false),
        });
        program.control.inner.surfaces.add_program(&program);
        program
    }

    pub(crate) const fn surface(&self) -> &'static str {
        self.of.surface
    }

    /// What an operator types to do something about its accounts.
    pub(super) fn typed(&self, what: &str) -> String {
        let ConnectorOptions { surface, own, .. } = self.of;
        match own {
            true => format!("cloister connector {what} {surface}"),
            false => format!("cloister {surface} {what}"),
        }
    }

    /// The desk that answers it.
    pub fn desk(self: &Arc<Self>) -> Arc<SurfaceDesk> {
        let make = || {
            let reach = Arc::new(ToProgram(Arc::downgrade(self)));
            SurfaceDesk::new(self.control.clone(), self.of.surface, reach)
        };
        Arc::clone(self.desk.get_or_init(make))
    }

    fn sandbox(&self) -> MutexGuard<'_, Option<Arc<dyn Sandbox>>> {
        self.sandbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it takes of memory, all of its processes together.
    pub fn memory(&self) -> Option<u64> {
        let sandbox = self.sandbox().clone();
        sandbox.and_then(|sandbox| sandbox.memory_pss())
    }

    /// Whether it is there to be asked.
    pub(super) fn is_there(&self) -> bool {
        matches!(*self.now.borrow(), Now::There(_))
    }

    /// Lets it run as long as it has accounts.
    pub(super) async fn run_for_its_accounts(self: &Arc<Self>) -> Result<(), Fault> {
        let accounts = self.control.store().conversations().connectors(self.of.surface).await?;
        if accounts.is_empty() {
            self.rest()
        } else {
            self.start()
        }
        Ok(())
    }

    fn start(self: &Arc<Self>) {
        self.watched.get_or_init(|| {
            let watch = Arc::clone(self).watch();
            self.control.inner.crew.go("connector-program", watch);
        });
        self.wanted.send_replace(true);
    }

    /// Lets it end.
    pub(super) fn rest(&self) {
        self.wanted.send_replace(false);
        // Whoever orders something from now on waits for its next life.
        if let Now::There(line) = self.now.send_replace(Now::Away) {
            self.rested.store(true, Ordering::SeqCst);
            line.stop();
        }
    }

    /// Has something done for an operator, as soon as what the one before ordered is done.
    async fn errand(self: &Arc<Self>, by: Actor, order: AnyOrder) -> Result<Value, ErrorBody> {
        self.must_be_built()?;
        let adding = match &order {
            AnyOrder::Add(add) => Some(add.new.clone()),
            _ => None,
        };
        let desk = self.desk();
        let before = "an order of another operator is still under way";
        let turn = timeout(TURN_WITHIN, desk.operated(by, adding)).await;
        let _operated = turn.map_err(|_late| refusal(ErrorCode::Conflict, before))?;
        self.order(order).await
    }

    /// Has something done by the program, which is started if need be.
    async fn order(self: &Arc<Self>, order: AnyOrder) -> Result<Value, ErrorBody> {
        self.must_be_built()?;
        self.start();
        self.line().await?.order(order).await
    }

    fn must_be_built(&self) -> Result<(), ErrorBody> {
        if self.of.program.exists() { Ok(()) } else { Err(self.not_built()) }
    }

    fn not_built(&self) -> ErrorBody {
        let Self { of: ConnectorOptions { surface, program, missing, .. }, .. } = self;
        ErrorBody {
            code: ErrorCode::NotFound,
            message: format!("the connector of {surface} is not here: {}", program.display()),
            fix: Some(missing.clone()),
            retry_after_s: None,
        }
    }

    /// Waits until it is there.
    async fn line(&self) -> Result<Arc<ConnectorLine>, ErrorBody> {
        let mut now = self.now.subscribe();
        let there = now.wait_for(|now| !matches!(now, Now::Away));
        let now = match timeout(THERE_WITHIN, there).await {
            Ok(Ok(now)) => now.clone(),
            Ok(Err(_)) | Err(_) => Now::Away,
        };
        let surface = self.of.surface;
        match now {
            Now::There(line) => Ok(line),
            Now::Failed(why) => {
                let message = format!("the connector of {surface} does not run: {why}");
                Err(refusal(ErrorCode::Internal, &message))
            }
            Now::Away => {
                let message = format!("the connector of {surface} was not there in time");
                Err(refusal(ErrorCode::ShuttingDown, &message))
            }
        }
    }

    /// Starts it whenever it is to run and does not.
    async fn watch(self: Arc<Self>) {
        let stop = self.control.surfaces().stop_token();
        let mut pauses = Backoff::between(FIRST_PAUSE, LONGEST_PAUSE);
        let mut wanted = self.wanted.subscribe();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                wanted = wanted.wait_for(|wanted| *wanted) => if wanted.is_err() { return },
            }
            let began = Instant::now();
            let ended = Box::pin(self.live(&stop)).await;
            self.desk().left();
            self.now.send_replace(Now::Away);
            let rested = self.rested.swap(false, Ordering::SeqCst);
            if stop.is_cancelled() || rested || !*self.wanted.borrow() {
                continue;
            }
            let why = ended.unwrap_or_else(|why| why);
            if began.elapsed() > LIVED {
                pauses.reset();
            }
            let surface = self.of.surface;
            tracing::warn!(surface, why, "the program of a connector ended; it is started again");
            self.report(&why).await;
            self.now.send_replace(Now::Failed(why));
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pauses.pause()) => {}
            }
            self.now.send_replace(Now::Away);
        }
    }

    /// Everybody who looks at its accounts is told why they are not connected.
    async fn report(&self, why: &str) {
        let accounts = self.control.store().conversations().connectors(self.of.surface).await;
        for account in accounts.unwrap_or_default() {
            let was = self.control.surfaces().health_of(account.id);
            let health = Health {
                surface: self.of.surface,
                state: ConnectorState::Retrying,
                problem: Some(format!("its program does not run: {why}")),
                last_heard_at: was.as_ref().and_then(|was| was.last_heard_at),
                reconciled: was.and_then(|was| was.reconciled),
            };
            self.control.surfaces().report_health(account.id, health);
        }
    }

    /// One life of the program, and why it ended.
    async fn live(self: &Arc<Self>, stop: &CancellationToken) -> Result<String, String> {
        if let Err(body) = self.must_be_built() {
            return Err(format!("{}; {}", body.message, body.fix.unwrap_or_default()));
        }
        let (sandbox, listener) = self.launch().await?;
        let sandbox: Arc<dyn Sandbox> = Arc::from(sandbox);
        *self.sandbox() = Some(Arc::clone(&sandbox));
        let until = stop.child_token();
        let _ends_with_this = until.clone().drop_guard();
        let ended = tokio::select! {
            // How it ended says more than that its line is closed.
            ended = self.serve(&listener, &until) => match ended {
                LineEnded::Closed(why) => match timeout(END_WITHIN, sandbox.wait()).await {
                    Ok(exit) => said_at_the_end(&*sandbox, exit),
                    Err(_late) => why,
                },
                LineEnded::Refused(why) => why,
            },
            exit = sandbox.wait() => said_at_the_end(&*sandbox, exit),
            () = stop.cancelled() => "the control plane stops".to_owned(),
        };
        sandbox.kill().await;
        *self.sandbox() = None;
        Ok(ended)
    }

    async fn launch(&self) -> Result<(Box<dyn Sandbox>, UnixListener), String> {
        let name = format!("surface-{}", self.of.surface);
        let (layout, surface, number) =
            (self.control.layout().clone(), self.of.surface, self.of.number);
        let (control, run) = (self.control.clone(), name.clone());
        let prepared = tokio::task::spawn_blocking(move || {
            let state = layout.surface_state(surface)?;
            control.backend().give(number, &state)?;
            let door = layout.sandbox_run(&run)?.join("door.sock");
            Ok::<_, std::io::Error>((state, door))
        });
        let prepared = prepared.await.map_err(|error| with_causes(&error))?;
        let (state, door) = prepared.map_err(|error| {
            format!("its place can't be made: {error}", error = with_causes(&error))
        })?;
        let listener = UnixListener::bind(&door);
        let listener = listener.map_err(|error| {
            format!("its socket can't be made: {error}", error = with_causes(&error))
        })?;
        let spec = SandboxSpec {
            name,
            inhabitant: Inhabitant::Connector(self.of.program.clone()),
            owner: Owner::Surface(number),
            mounts: vec![Mount {
                source: state,
                target: STATE_PATH.into(),
                access: Access::ReadWrite,
            }],
            door,
            cwd: STATE_PATH.into(),
            limits: limits(),
        };
        let sandbox =
            self.control.cells().launch_sandbox(spec).await.map_err(|error| with_causes(&error))?;
        Ok((sandbox, listener))
    }
}

fn said_at_the_end(sandbox: &dyn Sandbox, exit: Exit) -> String {
    let last = sandbox.log_tail();
    let last = last.trim().lines().last().unwrap_or_default().trim();
    let how = match exit {
        Exit::Code(code) => format!("it ended with {code}"),
        Exit::Signal(signal) => format!("it was ended by signal {signal}"),
        Exit::OutOfMemory => "it took more memory than it may".to_owned(),
        Exit::OutOfTime => "its time was up".to_owned(),
        Exit::Killed => "it was killed".to_owned(),
    };
    if last.is_empty() { how } else { format!("{how}: {last}") }
}

/// What a connector may take: enough for a thousand rooms, and not the machine.
const fn limits() -> Limits {
    Limits {
        memory_bytes: 1024 * MIB,
        processes: 512,
        cpu_percent: 200,
        cpu_weight: 100,
        file_bytes: 8 * 1024 * MIB,
        open_files: 4096,
        tmp_bytes: 256 * MIB,
        log_bytes: 16 << 10,
        wall: None,
    }
}

/// Orders that go to the program.
struct ToProgram(std::sync::Weak<ConnectorProgram>);

impl Reach for ToProgram {
    fn order(&self, order: AnyOrder) -> BoxFuture<'_, Result<Value, ErrorBody>> {
        let Some(program) = self.0.upgrade() else {
            let gone = refusal(ErrorCode::ShuttingDown, "the surface is gone");
            return std::future::ready(Err(gone)).boxed();
        };
        async move { program.order(order).await }.boxed()
    }

    fn errand(&self, by: Actor, order: AnyOrder) -> BoxFuture<'_, Result<Value, ErrorBody>> {
        let Some(program) = self.0.upgrade() else {
            let gone = refusal(ErrorCode::ShuttingDown, "the surface is gone");
            return std::future::ready(Err(gone)).boxed();
        };
        seen_through(program, by, order).boxed()
    }

    fn is_outside(&self, host: String, port: u16) -> BoxFuture<'_, bool> {
        let Some(program) = self.0.upgrade() else { return std::future::ready(false).boxed() };
        async move { program.way_out.dial(&host, port, Whereabouts::Public).await.is_ok() }.boxed()
    }
}

/// What an operator ordered is seen through, whether or not somebody waits for it.
async fn seen_through(
    program: Arc<ConnectorProgram>,
    by: Actor,
    order: AnyOrder,
) -> Result<Value, ErrorBody> {
    let crew = program.control.inner.crew.clone();
    let (give, take) = oneshot::channel();
    crew.go("connector-order", async move {
        // Nobody may wait any more.
        drop(give.send(program.errand(by, order).await));
    });
    take.await.unwrap_or_else(|_fell| {
        Err(refusal(ErrorCode::Internal, "it was not done; the log says why"))
    })
}
