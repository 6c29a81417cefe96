//! A coordinator in its sandbox, and how it is launched.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use cloister_policy::reach::{Asker, CellRequest, Reach};
use cloister_protocol::AgentId;
use cloister_protocol::link::WORKSPACE_PATH;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::ending::Owed;
use super::slots::Slot;
use super::{ChatKey, Doorway, LinkEnd};
use crate::control::Control;
use crate::error::Fault;
use crate::layout::{AGENTS_FOLDER, CHATS_FOLDER, FILE_FOLDERS, Layout, OnlyOwn};
use crate::ports::{
    Access, Egress, Inhabitant, Mount, OpenDoor, Principal, Role, Sandbox, SandboxSpec,
};

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
    /// What its chat began with was handed over on the present link, if it is a branch.
    pub(super) begun: bool,
    _door: Box<dyn OpenDoor>,
    slot: Slot,
}

/// A coordinator has no row for anything outside.
const WAY_OUT: Egress = match CellRequest::Proxy.row().reach(Asker::Coordinator) {
    Reach::Nothing => Egress::Closed,
    Reach::Itself | Reach::Chat | Reach::Context => panic!("a coordinator has no business outside"),
};

/// The name of a chat's coordinator among sandboxes.
pub(super) fn sandbox_name((workspace, chat): ChatKey) -> String {
    format!("{workspace}-{chat}")
}

/// The whole workspace to read, or what of it is the chat's agent's, so that nothing in it can be replaced, renamed or
/// made where it is missing; over its chats a folder with a place for this one alone, and over the other agents an empty
/// one; and there the chat, which is the agent's own, but for the files: those are the executors' to write and the
/// person's, and what a coordinator has heard must not get among them unmarked.
fn mounts(
    layout: &Layout,
    (workspace, chat): ChatKey,
    agent: AgentId,
    only: OnlyOwn,
) -> Vec<Mount> {
    let (inside, chat) = (Path::new(WORKSPACE_PATH), chat.to_string());
    let source = layout.workspace(workspace).join(CHATS_FOLDER).join(&chat);
    let target = inside.join(CHATS_FOLDER);
    let seen = layout.workspace_of(workspace, agent);
    let read =
        |source: PathBuf, target: PathBuf| Mount { source, target, access: Access::ReadOnly };
    let mut mounts = vec![read(seen, inside.into()), read(only.chats, target.clone())];
    if agent.is_first() {
        mounts.push(read(only.agents, inside.join(AGENTS_FOLDER)));
    }
    let target = target.join(&chat);
    let own = Mount { source: source.clone(), target: target.clone(), access: Access::ReadWrite };
    mounts.push(own);
    mounts.extend(FILE_FOLDERS.map(|folder| read(source.join(folder), target.join(folder))));
    mounts
}

impl Cell {
    pub(super) async fn launch(control: &Control, key: ChatKey, slot: Slot) -> Result<Self, Fault> {
        let (workspace, chat) = key;
        let user = control.store().users().user_of(workspace).await?;
        let agent = control.store().chats().agent_of_chat(workspace, chat).await?;
        control.cells().prepare_workspace(workspace, vec![chat]).await?;
        control.chats().agents().prepare(workspace, agent).await?;
        let name = sandbox_name(key);
        let who = Principal { user: user.id, workspace, chat, task: None };
        let Doorway { socket, connections, door } =
            control.cells().open_door(&name, who, WAY_OUT)?;
        let layout = control.layout();
        let only = layout
            .only_own(&name, chat)
            .map_err(Fault::io("the view of a coordinator could not be made"))?;
        let spec = SandboxSpec {
            name,
            inhabitant: Inhabitant::Agent(Role::Coordinator),
            owner: workspace.into(),
            mounts: mounts(layout, key, agent, only),
            door: socket,
            cwd: WORKSPACE_PATH.into(),
            limits: control.inner.parts.cells.coordinator_limits(),
        };
        let sandbox = control.cells().launch_sandbox(spec).await?;
        Ok(Self {
            sandbox,
            connections,
            link: None,
            unlinked_at: Instant::now(),
            sent: HashMap::new(),
            newest: 0,
            begun: false,
            _door: door,
            slot,
        })
    }

    /// Whether somebody waits for the place that it has.
    pub(super) fn is_in_the_way(&self) -> bool {
        self.slot.is_wanted()
    }

    /// Whether it has nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        self.link.is_some() && self.sent.is_empty()
    }
}
