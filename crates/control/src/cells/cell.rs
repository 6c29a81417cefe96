//! A coordinator in its sandbox, and how it is launched.

use std::collections::HashMap;
use std::path::Path;

use cloister_protocol::WorkspaceId;
use cloister_protocol::link::WORKSPACE_PATH;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::ending::Owed;
use super::{Doorway, LinkEnd};
use crate::control::Control;
use crate::error::ControlError;
use crate::layout::WRITABLE_FOLDER;
use crate::ports::{Access, Egress, Mount, OpenDoor, Principal, Role, Sandbox, SandboxSpec};

/// A running coordinator.
pub(super) struct Cell {
    pub(super) sandbox: Box<dyn Sandbox>,
    pub(super) connections: mpsc::Receiver<LinkEnd>,
    pub(super) link: Option<LinkEnd>,
    /// Since when no coordinator is connected, while none is.
    pub(super) unlinked_at: Instant,
    /// Inbox rows handed over on the present link.
    pub(super) sent: HashMap<i64, Owed>,
    /// The newest of the rows that were.
    pub(super) newest: i64,
    _door: Box<dyn OpenDoor>,
}

/// The whole workspace to read, so that nothing in it can be replaced, renamed or made where it is
/// missing; and the chats, which are the agent's own, on top of it.
fn mounts(workspace: &Path) -> Vec<Mount> {
    let inside = Path::new(WORKSPACE_PATH);
    let chats = workspace.join(WRITABLE_FOLDER);
    vec![
        Mount { source: workspace.into(), target: inside.into(), access: Access::ReadOnly },
        Mount { source: chats, target: inside.join(WRITABLE_FOLDER), access: Access::ReadWrite },
    ]
}

impl Cell {
    pub(super) async fn launch(
        control: &Control,
        workspace: WorkspaceId,
    ) -> Result<Self, ControlError> {
        let user = control.store().user_of(workspace).await?;
        let chats = control.store().chats(workspace).await?;
        let chats = chats.iter().map(|chat| chat.id).collect();
        control.prepare_workspace(workspace, chats).await?;
        let name = workspace.to_string();
        let who = Principal { user: user.id, workspace, task: None };
        let Doorway { socket, connections, door } =
            control.open_door(&name, who, Egress::Closed)?;
        let spec = SandboxSpec {
            name,
            role: Role::Coordinator,
            workspace,
            mounts: mounts(&control.layout().workspace(workspace)),
            door: socket,
            cwd: WORKSPACE_PATH.into(),
            limits: control.inner.parts.cells.coordinator_limits(),
        };
        let sandbox = control.launch_sandbox(spec).await?;
        Ok(Self {
            sandbox,
            connections,
            link: None,
            unlinked_at: Instant::now(),
            sent: HashMap::new(),
            newest: 0,
            _door: door,
        })
    }
}
