//! The doors: one Unix socket per sandbox, served apart from every other.

mod limits;
mod link;
mod serve;
mod socket;

use std::path::PathBuf;
use std::sync::Arc;

use cloister_control::ports::{Doors, Egress, LinkSide, OpenDoor, Principal};
use cloister_store::Store;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::chat::ModelGateway;
use crate::options::{DoorOptions, Options};
use serve::Door;
use socket::Socket;

#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("the client for model providers could not be built")]
    Client(#[source] reqwest::Error),
    #[error("the broker was built outside of a runtime")]
    NoRuntime(#[source] tokio::runtime::TryCurrentError),
}

/// Opens doors. Must be made inside the runtime that is to serve them.
pub struct DoorServer {
    gateway: ModelGateway,
    options: DoorOptions,
    runtime: Handle,
}

impl DoorServer {
    pub fn new(options: Options, store: Store) -> Result<Self, BuildError> {
        let gateway = ModelGateway::new(&options, store).map_err(BuildError::Client)?;
        let runtime = Handle::try_current().map_err(BuildError::NoRuntime)?;
        Ok(Self { gateway, options: options.door, runtime })
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
        _egress: Egress,
        link: Arc<dyn LinkSide>,
    ) -> std::io::Result<Box<dyn OpenDoor>> {
        let _inside = self.runtime.enter();
        let (listener, socket) = Socket::listen(socket)?;
        let closing = CancellationToken::new();
        let door =
            Door::new(self.gateway.clone(), self.options.clone(), principal, link, closing.clone());
        let mut serving = JoinSet::new();
        serving.spawn_on(serve::serve(listener, Arc::new(door)), &self.runtime);
        Ok(Box::new(Open { _serving: serving, _closing: closing.drop_guard(), _socket: socket }))
    }
}

/// An open door. Dropping it stops the server with all its connections, closes the link and removes
/// the socket; calls under way see that nobody reads them any more, and are settled.
struct Open {
    _serving: JoinSet<()>,
    _closing: DropGuard,
    _socket: Socket,
}

impl OpenDoor for Open {}
