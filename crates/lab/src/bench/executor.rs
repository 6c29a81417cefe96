//! Executors: a sandbox as a task gets it, until the executor in it has said hello at its door.

use cloister_store::Store;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cloister_broker::DoorServer;
use cloister_control::layout::Layout;
use cloister_control::ports::{
    Access, Attached, CellBackend, Doors, Egress, Inhabitant, LinkSide, Mount, OpenDoor, Principal,
    Role, SandboxSpec, TaskLayer,
};
use cloister_control::{CellOptions, ControlError};
use cloister_protocol::link::{CHAT_PATH, Downlink, Uplink};
use cloister_protocol::{ChatId, ErrorCode, TaskId, UserId, WorkspaceId};
use cloister_sandbox::NativeBackend;
use tokio::sync::mpsc;

use super::Plan;
use super::landing::fill;
use super::open_gate::OpenLink;
use super::report::{Aim, Row, Unit};
use cloister::CliError;

const PATIENCE: Duration = Duration::from_secs(20);
const ROOM: u64 = 1 << 30;

pub(super) async fn measure(plan: &Plan, place: &Path) -> Result<Vec<Row>, CliError> {
    let yard = Yard::new(&place.join("executors")).await?;
    let full = Yard::new(&place.join("executors-beside")).await?;
    let files = full.layout.chat_files(full.workspace, full.chat);
    fill(&files).map_err(CliError::io("the large files could not be made"))?;
    let (mut running, mut hello) = (Vec::new(), Vec::new());
    let (mut bare, mut beside) = (Vec::new(), Vec::new());
    for number in 0..plan.executors {
        // By turns, so that all have the same machine.
        let launch = yard.launch(&format!("bench-{number}"), true).await?;
        running.push(launch.running);
        hello.push(launch.hello);
        bare.push(yard.launch(&format!("bare-{number}"), false).await?.hello);
        beside.push(full.launch(&format!("beside-{number}"), true).await?.hello);
    }
    let hello = Row::times("executor.hello", "executor: launch → it says hello", hello)
        .aim(Aim::AtMost(15.0));
    let bare = Row::times("executor.bare", "the same without a layer over the files", bare);
    let adds = (hello.p50() - bare.p50()).max(0.0);
    let adds = Row::single("executor.layer", "what a layer adds to it", Unit::Milliseconds, adds);
    let what = "the same over 10 GB of files";
    let beside = Row::times("executor.beside", what, beside).over(&hello).aim(Aim::Flat);
    Ok(vec![
        Row::times("executor.running", "executor: launch → its program runs", running),
        hello,
        bare,
        adds.aim(Aim::AtMost(3.0)),
        beside,
    ])
}

/// What one launch took.
struct Launch {
    running: Duration,
    hello: Duration,
}

/// Everything a launch needs, on a data directory of its own.
struct Yard {
    layout: Layout,
    backend: NativeBackend,
    doors: DoorServer,
    limits: CellOptions,
    workspace: WorkspaceId,
    chat: ChatId,
}

impl Yard {
    async fn new(root: &Path) -> Result<Self, CliError> {
        let layout = cloister::create_layout(root)?;
        let store = Store::open(&layout.database()).await?;
        let keys = cloister::unlock(&store, &layout).await?;
        let doors = DoorServer::new(
            cloister_broker::Options::new(layout.keys()),
            cloister_control::Books::new(store, keys),
        )
        .map_err(|error| CliError::new(ErrorCode::Internal, error.to_string()))?;
        let backend = cloister::backend(&layout)?;
        let (workspace, chat) = (WorkspaceId::from_number(1), ChatId::from_number(1));
        for file in layout.prepare(workspace, &[chat]).map_err(ControlError::from)?.given {
            let failed = "the workspace could not be given to the executor";
            backend.adopt(workspace, &file).map_err(CliError::io(failed))?;
        }
        Ok(Self { layout, backend, doors, limits: CellOptions::default(), workspace, chat })
    }

    async fn launch(&self, name: &str, layered: bool) -> Result<Launch, CliError> {
        let failed = "the door of an executor could not be opened";
        let run_dir = self.layout.sandbox_run(name).map_err(CliError::io(failed))?;
        let (opened, mut links) = mpsc::channel(4);
        let link = Arc::new(OpenLink(move || attached(&opened)));
        let making = Instant::now();
        let access = if layered { self.layer(name) } else { Ok(Access::ReadWrite) };
        let access = access.map_err(CliError::io("a layer could not be made"))?;
        let made = making.elapsed();
        let (spec, _door) = self
            .spec((name, access), run_dir.join("door.sock"), link)
            .map_err(CliError::io(failed))?;
        let started = Instant::now();
        let sandbox = self.backend.launch(spec).await.map_err(ControlError::from)?;
        let running = made + started.elapsed();
        let said = tokio::time::timeout(PATIENCE, async { links.recv().await?.up.recv().await });
        let hello = match said.await {
            Ok(Some(Uplink::Hello { .. })) => Ok(made + started.elapsed()),
            other => Err(CliError::new(
                ErrorCode::Internal,
                format!("an executor did not say hello ({other:?}): {}", sandbox.log_tail()),
            )),
        };
        sandbox.kill().await;
        Ok(Launch { running, hello: hello? })
    }

    /// A layer as a task gets one.
    fn layer(&self, name: &str) -> std::io::Result<Access> {
        let top = self.layout.layers().join(name);
        for dir in [top.join("upper"), top.join("work"), top.clone()] {
            std::fs::create_dir_all(&dir)?;
            self.backend.adopt(self.workspace, &std::fs::File::open(&dir)?)?;
        }
        Ok(Access::Layered(TaskLayer { over: Vec::new(), top }))
    }

    /// The sandbox that a task of this chat would get, and its open door.
    fn spec(
        &self,
        (name, access): (&str, Access),
        door: PathBuf,
        link: Arc<dyn LinkSide>,
    ) -> std::io::Result<(SandboxSpec, Box<dyn OpenDoor>)> {
        let principal = Principal {
            user: UserId::from_number(1),
            workspace: self.workspace,
            chat: cloister_protocol::ChatId::from_number(1),
            task: Some(TaskId::from_number(1)),
        };
        let open = self.doors.open(door.clone(), principal, Egress::Closed, link)?;
        let files = self.layout.chat_files(self.workspace, self.chat);
        let incoming = Path::new(CHAT_PATH).join("incoming");
        let spec = SandboxSpec {
            name: name.to_owned(),
            inhabitant: Inhabitant::Agent(Role::Executor),
            owner: self.workspace.into(),
            mounts: vec![
                Mount { source: files, target: CHAT_PATH.into(), access },
                self.layout.incoming_mount(self.workspace, self.chat, incoming),
            ],
            door,
            cwd: CHAT_PATH.into(),
            limits: self.limits.executor_limits(ROOM),
        };
        Ok((spec, open))
    }
}

/// Our end of a link that an executor opened.
struct Link {
    _down: mpsc::Sender<Downlink>,
    up: mpsc::Receiver<Uplink>,
}

/// A link for whoever waits for one.
fn attached(opened: &mpsc::Sender<Link>) -> Attached {
    let (down_sender, down) = mpsc::channel(16);
    let (up, up_receiver) = mpsc::channel(16);
    // With nobody waiting both ends drop, which closes the link.
    drop(opened.try_send(Link { _down: down_sender, up: up_receiver }));
    Attached { down, up }
}
