//! The outlet of one door: everything that a request needs on its way out.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cloister_control::ports::{Egress, LinkSide, Principal};
use cloister_kit::{Bucket, Rate};
use cloister_protocol::{WorkspaceId, with_causes};
use tokio::sync::{OnceCell, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::Outside;
use super::accounts::Meter;
use super::authority::Authority;
use super::body::Lease;
use super::gate::Gate;
use super::options::EgressOptions;
use super::pool::Pool;
use super::refusals::Listing;
use super::stopped::{Denied, Stopped};
use crate::refusal::Refusal;
use crate::secrets::{Now, SecretReach, Shelf};

pub(crate) struct Outlet {
    pub(super) outside: Arc<Outside>,
    gate: Arc<Gate>,
    pub(super) shelf: Arc<Shelf>,
    who: Principal,
    authority: OnceLock<Authority>,
    meter: OnceCell<Arc<Meter>>,
    pub(super) pool: Pool,
    pub(super) pace: Bucket,
    pub(super) requests: Arc<Semaphore>,
    /// Bodies that are held until they are decided and sent, in units of `BODY_UNIT`.
    pub(super) bodies: Arc<Semaphore>,
    pub(super) tunnels: Arc<Semaphore>,
    pub(super) fetches: Arc<Semaphore>,
    pub(super) header_read: Duration,
    pub(super) closing: CancellationToken,
    /// The stop waits for what a door still has to write.
    _open: TaskTrackerToken,
}

impl Outlet {
    pub(crate) fn new(
        outside: Arc<Outside>,
        who: Principal,
        egress: Egress,
        link: Arc<dyn LinkSide>,
        header_read: Duration,
        closing: CancellationToken,
    ) -> Self {
        let reach = match &egress {
            Egress::Closed => SecretReach::None,
            Egress::Open { secrets: None, .. } => SecretReach::All,
            Egress::Open { secrets: Some(names), .. } => SecretReach::Only(names.clone()),
        };
        let shelf = Shelf::new(outside.books.clone(), who, reach);
        let gate =
            Gate::new(outside.books.clone(), Arc::clone(&outside.metrics), who, egress, link);
        let options = &outside.options;
        Self {
            gate: Arc::new(gate),
            shelf: Arc::new(shelf),
            who,
            authority: OnceLock::new(),
            meter: OnceCell::new(),
            pool: Pool::default(),
            pace: Bucket::new(Rate::new(options.request_burst, options.requests_per_second)),
            requests: Arc::new(Semaphore::new(options.concurrent)),
            bodies: Arc::new(Semaphore::new(options.held_units())),
            tunnels: Arc::new(Semaphore::new(options.tunnels)),
            fetches: Arc::new(Semaphore::new(options.fetches)),
            header_read,
            closing,
            _open: outside.tasks.token(),
            outside,
        }
    }

    pub(super) const fn workspace(&self) -> WorkspaceId {
        self.who.workspace
    }

    pub(super) fn options(&self) -> &EgressOptions {
        &self.outside.options
    }

    /// The secrets of this door.
    pub(crate) fn shelf(&self) -> &Arc<Shelf> {
        &self.shelf
    }

    /// The secrets as they are now; without them nothing goes out, as nothing could be masked.
    pub(super) async fn secrets(&self, host: &str) -> Result<Now, Denied> {
        self.shelf.look().await.map_err(|error| {
            tracing::error!(error = with_causes(&error), "a request is refused");
            Denied::new("internal", host, "the user's secrets could not be read")
        })
    }

    pub(super) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// The newest refusals, for the agent to show beside what its programs printed.
    pub(super) fn refusals_after(&self, seq: u64) -> Listing {
        self.gate.refusals_after(seq)
    }

    pub(super) fn authority(&self) -> Result<&Authority, Refusal> {
        if let Some(authority) = self.authority.get() {
            return Ok(authority);
        }
        let made = Authority::new(&self.who.workspace.to_string())
            .map_err(|error| Refusal::internal("make certificates for this door", &error))?;
        Ok(self.authority.get_or_init(|| made))
    }

    /// What this door may send. Read when the first request is to be sent.
    pub(super) async fn meter(&self, host: &str) -> Result<Arc<Meter>, Denied> {
        let made = self.meter.get_or_try_init(|| async {
            let account = self.outside.accounts.of(self.who.user).await?;
            Ok(Arc::new(Meter::new(self.options().door_bytes, account)))
        });
        made.await.cloned().map_err(|error: cloister_control::books::StoreError| {
            tracing::error!(
                error = with_causes(&error),
                "what a user sent today could not be read"
            );
            Denied::new("internal", host, "what was sent today could not be read")
        })
    }

    pub(super) fn give_back(&self, lease: Lease) {
        self.pool.put(lease.origin, lease.open);
    }

    pub(super) async fn record(&self, stopped: Stopped) -> Stopped {
        self.gate.record(stopped).await
    }

    /// Runs a future that belongs to this door and ends with it.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let closing = self.closing.clone();
        self.outside.tasks.spawn(async move {
            tokio::select! {
                () = work => {}
                () = closing.cancelled() => {}
            }
        });
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        let (gate, outside) = (Arc::clone(&self.gate), Arc::clone(&self.outside));
        let closed = async move {
            gate.close().await;
            outside.accounts.flush().await;
        };
        self.outside.tasks.spawn_on(closed, &self.outside.runtime);
    }
}
