//! Egress: how requests of a sandbox reach the outside, and which don't.
//!
//! Owns: the proxy and the tunnels in it, `/fetch`, `/search`, the rules' enforcement, what went out.
//! Promises: nothing is looked up, dialled or sent that the rules don't allow now; what is dialled is
//! what was checked; a request is whole before control's gate decides on it, and what was decided on is
//! what is sent; the first request to a host is in the audit trail before it is sent; no answer is
//! handed over before it is recorded that it came, nor with a secret of the user's in it; a refusal says
//! which host, why, and what would allow it.

mod accounts;
mod authority;
mod body;
mod dial;
mod fetch;
mod forward;
mod gate;
mod headers;
mod known;
mod network;
mod options;
mod outlet;
mod pins;
mod pool;
mod proxy;
mod ready;
mod refusals;
mod request;
mod routes;
mod search;
mod stopped;
mod tls;
mod tunnel;
mod way_out;

use std::sync::Arc;
use std::time::Duration;

use cloister_control::{Books, Metrics};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use accounts::Accounts;
use dial::Dialer;
use search::Search;

use crate::keys::KeyRing;
use crate::options::Options;

pub use network::{Network, NetworkStream, SystemNetwork};
pub use options::{EgressOptions, SearchKind, SearchOptions};
pub(crate) use outlet::Outlet;
pub use pins::{PinnedHostError, Placed, PlacedFor};
pub(crate) use proxy::{is_for_proxy, serve as serve_proxy};
pub(crate) use routes::routes;
pub use search::SearchSetupError;
pub use way_out::ConnectorsWayOut;

#[derive(Debug, thiserror::Error)]
pub enum EgressSetupError {
    #[error(transparent)]
    Host(#[from] PinnedHostError),
    #[error(transparent)]
    Search(#[from] SearchSetupError),
}

/// What the outlets of all doors share.
pub(crate) struct Outside {
    options: EgressOptions,
    books: Books,
    metrics: Arc<Metrics>,
    dialer: Dialer,
    accounts: Arc<Accounts>,
    search: Option<Search>,
    /// Tunnels, connections and last entries, each of which ends with its door.
    tasks: TaskTracker,
    runtime: Handle,
}

impl Outside {
    pub(crate) fn new(
        options: &Options,
        books: Books,
        network: Arc<dyn Network>,
        runtime: Handle,
    ) -> Result<Self, EgressSetupError> {
        let egress = options.egress.clone();
        let search_keys = KeyRing::new(books.clone(), options.keys_dir.clone());
        Ok(Self {
            dialer: Dialer::new(network, egress.clone())?,
            accounts: Arc::new(Accounts::new(books.clone(), egress.user_day_bytes)),
            search: Search::new(&options.search, search_keys)?,
            options: egress,
            books,
            metrics: Arc::clone(&options.metrics),
            tasks: TaskTracker::new(),
            runtime,
        })
    }

    /// Writes what was counted, as long as the returned set lives.
    pub(crate) fn keep_accounts(&self) -> JoinSet<()> {
        let mut keeping = JoinSet::new();
        keeping.spawn_on(Arc::clone(&self.accounts).run(), &self.runtime);
        keeping
    }
}

/// Egress at the stop of the control plane.
#[derive(Clone)]
pub struct EgressHandle {
    outside: Arc<Outside>,
}

impl EgressHandle {
    pub(crate) fn new(outside: Arc<Outside>) -> Self {
        Self { outside }
    }

    /// Waits, after the doors are closed, until what they moved and refused is written; whether all
    /// of it is.
    pub async fn drain(&self, within: Duration) -> bool {
        let outside = &self.outside;
        outside.tasks.close();
        let ended = async {
            outside.tasks.wait().await;
            outside.accounts.flush().await;
        };
        timeout(within, ended).await.is_ok()
    }
}
