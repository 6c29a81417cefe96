//! Cells without sandboxes: what is launched is nothing, and a test speaks the link in its place.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cloister_protocol::WorkspaceId;
use cloister_protocol::link::{Downlink, Uplink};
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::ports::{
    CellBackend, Check, Doors, Egress, Exit, LaunchError, LinkSide, OpenDoor, Principal, Sandbox,
    SandboxSpec,
};

/// Longer than anything takes that happens at all.
const PATIENCE: Duration = Duration::from_secs(20);

/// Who is behind a door, and our end of its link.
type Behind = (Principal, Arc<dyn LinkSide>);

/// The doors that are open, and who is behind each.
#[derive(Clone, Default)]
pub(crate) struct FakeCells {
    doors: Arc<Mutex<Vec<Behind>>>,
    opened: Arc<watch::Sender<u64>>,
    /// Held by each sandbox.
    running: Running,
}

/// As many as hold it.
type Running = Arc<()>;

/// A test in the place of an agent.
pub(crate) struct FakeAgent {
    pub(crate) down: mpsc::Receiver<Downlink>,
    pub(crate) up: mpsc::Sender<Uplink>,
}

impl FakeAgent {
    pub(crate) async fn say(&self, frame: Uplink) {
        self.up.send(frame).await.unwrap();
    }

    /// What it is told next; none when the link is closed.
    pub(crate) async fn hear(&mut self) -> Option<Downlink> {
        timeout(PATIENCE, self.down.recv()).await.expect("nothing is said")
    }
}

impl FakeCells {
    /// The newest door of who is looked for, opened from inside.
    pub(crate) async fn agent(&self, is: impl Fn(&Principal) -> bool) -> FakeAgent {
        self.newest(is).await.1
    }

    /// The same, and who it is.
    pub(crate) async fn newest(&self, is: impl Fn(&Principal) -> bool) -> (Principal, FakeAgent) {
        let mut opened = self.opened.subscribe();
        loop {
            opened.borrow_and_update();
            let found = {
                let doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
                doors.iter().rev().find(|(who, _)| is(who)).cloned()
            };
            if let Some((who, link)) = found {
                let attached = link.attach();
                return (who, FakeAgent { down: attached.down, up: attached.up });
            }
            timeout(PATIENCE, opened.changed()).await.expect("no such door is opened").unwrap();
        }
    }

    /// How many sandboxes run: what holds the count and is no copy of this.
    pub(crate) fn running(&self) -> usize {
        Arc::strong_count(&self.running) - Arc::strong_count(&self.doors)
    }

    /// How many doors were opened in all.
    pub(crate) fn opened(&self) -> u64 {
        *self.opened.borrow()
    }
}

/// Runs until it is killed.
struct Nobody {
    killed: watch::Sender<bool>,
    _counted: Running,
}

impl Sandbox for Nobody {
    fn kill(&self) -> BoxFuture<'_, ()> {
        self.killed.send_replace(true);
        Box::pin(async {})
    }

    fn wait(&self) -> BoxFuture<'_, Exit> {
        let mut killed = self.killed.subscribe();
        Box::pin(async move {
            drop(killed.wait_for(|killed| *killed).await);
            Exit::Killed
        })
    }

    fn set_writable(&self, _: bool) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn memory_pss(&self) -> Option<u64> {
        Some(1)
    }

    fn log_tail(&self) -> String {
        String::new()
    }
}

impl CellBackend for FakeCells {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn check(&self) -> BoxFuture<'_, Vec<Check>> {
        Box::pin(async { Vec::new() })
    }

    fn sweep(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn launch(&self, _: SandboxSpec) -> BoxFuture<'_, Result<Box<dyn Sandbox>, LaunchError>> {
        let nobody: Box<dyn Sandbox> = Box::new(Nobody {
            killed: watch::Sender::new(false),
            _counted: Arc::clone(&self.running),
        });
        Box::pin(async { Ok(nobody) })
    }

    fn adopt(&self, _: WorkspaceId, _: &std::fs::File) -> std::io::Result<()> {
        Ok(())
    }

    fn show(&self, _: WorkspaceId, _: &std::fs::File) -> std::io::Result<()> {
        Ok(())
    }
}

struct Open;

impl OpenDoor for Open {}

impl Doors for FakeCells {
    fn open(
        &self,
        _: PathBuf,
        who: Principal,
        _: Egress,
        link: Arc<dyn LinkSide>,
    ) -> std::io::Result<Box<dyn OpenDoor>> {
        self.doors.lock().unwrap_or_else(PoisonError::into_inner).push((who, link));
        self.opened.send_modify(|count| *count += 1);
        Ok(Box::new(Open))
    }
}
