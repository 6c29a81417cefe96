//! The doors: one Unix socket per sandbox, served apart from every other.

pub(crate) mod limits;
mod link;
mod serve;
mod socket;

use std::path::PathBuf;
use std::sync::Arc;

use cloister_control::Books;
use cloister_control::ports::{Doors, Egress, LinkSide, OpenDoor, Principal};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::chat::ModelGateway;
use crate::egress::{EgressHandle, EgressSetupError, Network, Outlet, Outside, SystemNetwork};
use crate::options::{DoorOptions, Options};
use serve::Door;
use socket::Socket;

#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("the client for model providers could not be built")]
    Client(#[source] reqwest::Error),
    #[error(transparent)]
    Egress(#[from] EgressSetupError),
    #[error("the broker was built outside of a runtime")]
    NoRuntime(#[source] tokio::runtime::TryCurrentError),
}

/// Opens doors. Must be made inside the runtime that is to serve them.
pub struct DoorServer {
    gateway: ModelGateway,
    options: DoorOptions,
    outside: Arc<Outside>,
    _accounts: JoinSet<()>,
    runtime: Handle,
}

impl DoorServer {
    pub fn new(options: Options, books: Books) -> Result<Self, BuildError> {
        Self::with_network(options, books, Arc::new(SystemNetwork::default()))
    }

    /// With another outside than this machine's.
    pub fn with_network(
        options: Options,
        books: Books,
        network: Arc<dyn Network>,
    ) -> Result<Self, BuildError> {
        let runtime = Handle::try_current().map_err(BuildError::NoRuntime)?;
        let gateway = ModelGateway::new(&options, books.clone()).map_err(BuildError::Client)?;
        let outside = Outside::new(&options, books, network, runtime.clone())?;
        let accounts = outside.keep_accounts();
        let outside = Arc::new(outside);
        Ok(Self { gateway, options: options.door, outside, _accounts: accounts, runtime })
    }

    pub fn egress(&self) -> EgressHandle {
        EgressHandle::new(Arc::clone(&self.outside))
    }

    pub fn gateway(&self) -> &ModelGateway {
        &self.gateway
    }
}

impl Doors for DoorServer {
    fn open(
        &self,
        socket: PathBuf,
        principal: Principal,
        egress: Egress,
        link: Arc<dyn LinkSide>,
    ) -> std::io::Result<Box<dyn OpenDoor>> {
        let _inside = self.runtime.enter();
        let (listener, socket) = Socket::listen(socket)?;
        let closing = CancellationToken::new();
        let outlet = Outlet::new(
            Arc::clone(&self.outside),
            principal,
            egress,
            Arc::clone(&link),
            self.options.header_read,
            closing.clone(),
        );
        let gateway = self.gateway.clone();
        let door =
            Door::new(gateway, outlet, self.options.clone(), principal, link, closing.clone());
        let mut serving = JoinSet::new();
        serving.spawn_on(serve::serve(listener, Arc::new(door)), &self.runtime);
        Ok(Box::new(ServedDoor {
            _serving: serving,
            _closing: closing.drop_guard(),
            _socket: socket,
        }))
    }
}

/// An open door. Dropping it stops the server with all its connections, closes the link and removes
/// the socket; calls under way see that nobody reads them any more, and are settled.
struct ServedDoor {
    _serving: JoinSet<()>,
    _closing: DropGuard,
    _socket: Socket,
}

impl OpenDoor for ServedDoor {}
