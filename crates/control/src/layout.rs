//! Where things are under the data directory (`docs/architecture.md` has the whole map).

use std::fs::{DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use cloister_protocol::{AgentId, ChatId, WorkspaceId};

use crate::files::{FileError, RelPath, Tree, remove_tree};
use crate::ports::{Access, Mount};

/// The data directory.
#[derive(Clone, Debug)]
pub struct Layout {
    root: PathBuf,
}

/// What says who the agent is; only the control plane writes these, and each change is versioned.
pub(crate) const IDENTITY_FILES: [&str; 4] = ["SOUL.md", "USER.md", "MEMORY.md", "HEARTBEAT.md"];
/// Folders of what the agent is told to do and to use, with the same promise.
pub(crate) const STEERING_FOLDERS: [&str; 3] = ["skills", "tools", "schedules"];
/// The conversations, each with its journal and its files; a coordinator sees its own.
pub(crate) const CHATS_FOLDER: &str = "chats";
/// What the agents beside the first one have in the place of the workspace's own documents; an agent sees its own.
pub(crate) const AGENTS_FOLDER: &str = "agents";
/// Of the person, whoever of their agents reads it.
pub(crate) const SHARED_IDENTITY: &str = "USER.md";
/// What of a chat is files, and not its coordinator's own.
pub(crate) const FILE_FOLDERS: [&str; 2] = ["files", "incoming"];

/// How that Markdown begins.
const IDENTITY: &[(&str, &str)] = &[
    (
        "SOUL.md",
        "# Who the agent is\n\nYou are a helpful, honest assistant. You say what you know, what you did and what you \
         did not do.\n",
    ),
    ("USER.md", "# About the person\n\nNothing is known yet.\n"),
    ("MEMORY.md", "# What to keep in mind\n\nNothing yet.\n"),
    ("HEARTBEAT.md", "# What to look after\n\nNothing yet.\n"),
];

/// What a file of a workspace says before anybody has written to it.
pub(crate) fn initial_text(name: &str) -> &'static str {
    IDENTITY.iter().find(|(file, _)| *file == name).map_or("", |(_, text)| text)
}

/// Where a document of an agent is, below its workspace: the agent itself sees it as the path says. What is about the
/// person is every agent's.
pub(crate) fn document_of(agent: AgentId, path: &str) -> String {
    if agent.is_first() || path == SHARED_IDENTITY {
        return path.to_owned();
    }
    format!("{AGENTS_FOLDER}/{agent}/{path}")
}

/// Whose document a path below a workspace is, and what that agent sees it as.
pub(crate) fn agent_of_document(path: &str) -> (AgentId, &str) {
    let below = path.strip_prefix(AGENTS_FOLDER).and_then(|rest| rest.strip_prefix('/'));
    let theirs = below.and_then(|rest| rest.split_once('/')).and_then(|(agent, rest)| {
        Some((agent.parse::<AgentId>().ok().filter(|agent| !agent.is_first())?, rest))
    });
    theirs.unwrap_or((AgentId::FIRST, path))
}

impl Layout {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Makes the directories that only the control plane uses.
    pub fn create(&self) -> io::Result<()> {
        let own = [
            self.workspaces(),
            self.layers(),
            self.objects(),
            self.keys(),
            self.run(),
            self.policies(),
        ];
        for dir in [self.root.clone()].into_iter().chain(own) {
            private_dir(&dir)?;
        }
        Ok(())
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn database(&self) -> PathBuf {
        self.root.join("cloister.db")
    }

    pub fn workspaces(&self) -> PathBuf {
        self.root.join("workspaces")
    }

    /// What tasks do to the files of their chats, until it lands. Beside the workspaces, on the same file system: landing
    /// moves, and copies nothing.
    pub fn layers(&self) -> PathBuf {
        self.root.join("layers")
    }

    /// Files of chats that were put away because nobody used them.
    pub(crate) fn retired(&self, workspace: WorkspaceId) -> PathBuf {
        self.root.join("retired").join(workspace.to_string())
    }

    pub fn objects(&self) -> PathBuf {
        self.root.join("objects")
    }

    pub fn keys(&self) -> PathBuf {
        self.root.join("keys")
    }

    pub fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    /// The operator's own policies.
    pub fn policies(&self) -> PathBuf {
        self.root.join("policies")
    }

    /// The versions of the configuration.
    pub fn history(&self) -> PathBuf {
        self.root.join("history")
    }

    pub fn workspace(&self, workspace: WorkspaceId) -> PathBuf {
        self.workspaces().join(workspace.to_string())
    }

    /// What a coordinator sees as its workspace: the workspace, or what of it is its agent's.
    pub(crate) fn workspace_of(&self, workspace: WorkspaceId, agent: AgentId) -> PathBuf {
        let dir = self.workspace(workspace);
        if agent.is_first() { dir } else { dir.join(AGENTS_FOLDER).join(agent.to_string()) }
    }

    /// The files of a chat, as an executor sees them.
    pub fn chat_files(&self, workspace: WorkspaceId, chat: ChatId) -> PathBuf {
        self.workspace(workspace).join("chats").join(chat.to_string()).join("files")
    }

    pub fn chat_incoming(&self, workspace: WorkspaceId, chat: ChatId) -> PathBuf {
        self.workspace(workspace).join("chats").join(chat.to_string()).join("incoming")
    }

    /// What people sent into a chat, as any sandbox sees it: to read, whatever was allowed. An answer
    /// of theirs opens what it showed, and no folder for the code that runs later.
    pub fn incoming_mount(&self, workspace: WorkspaceId, chat: ChatId, target: PathBuf) -> Mount {
        let source = self.chat_incoming(workspace, chat);
        Mount { source, target, access: Access::ReadOnly }
    }

    /// What a surface's connector keeps, made if it is not there.
    pub fn surface_state(&self, surface: &str) -> io::Result<PathBuf> {
        let all = self.root.join("surfaces");
        private_dir(&all)?;
        let dir = all.join(surface);
        private_dir(&dir)?;
        Ok(dir)
    }

    /// Moves what a surface's connector kept beside everything else before every surface had a place. Not for a name
    /// that somebody else chose: it could be that of another directory.
    pub fn adopt_surface_state(&self, surface: &str) -> io::Result<()> {
        let all = self.root.join("surfaces");
        let (dir, before) = (all.join(surface), self.root.join(surface));
        if before.is_dir() && !dir.exists() {
            private_dir(&all)?;
            std::fs::rename(before, dir)?;
        }
        Ok(())
    }

    /// A sandbox's own run directory, made anew.
    pub fn sandbox_run(&self, name: &str) -> io::Result<PathBuf> {
        let dir = self.run().join(name);
        match std::fs::remove_dir_all(&dir) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        private_dir(&dir)?;
        Ok(dir)
    }

    /// What a coordinator sees in the place of all chats, and of all other agents: a folder with an empty one for its
    /// own, and an empty one. In the run directory of its sandbox, which is there.
    pub(crate) fn only_own(&self, name: &str, chat: ChatId) -> io::Result<OnlyOwn> {
        let run = self.run().join(name);
        let (chats, agents) = (run.join(CHATS_FOLDER), run.join(AGENTS_FOLDER));
        // The cell's uid looks through it; there is nothing to see.
        for dir in [&chats, &chats.join(chat.to_string()), &agents] {
            DirBuilder::new().create(dir)?;
            std::fs::set_permissions(dir, Permissions::from_mode(0o755))?;
        }
        Ok(OnlyOwn { chats, agents })
    }

    /// Removes everything that the coordinator of a chat has kept there for itself: its journal, and whatever
    /// else it wrote. Not while it runs.
    pub(crate) fn forget_journal(&self, workspace: WorkspaceId, chat: ChatId) -> io::Result<()> {
        let dir = self.workspace(workspace).join(CHATS_FOLDER).join(chat.to_string());
        let found = match std::fs::symlink_metadata(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => found?,
        };
        if !found.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        for entry in std::fs::read_dir(&dir)? {
            let entry = entry?;
            if FILE_FOLDERS.iter().any(|folder| entry.file_name() == *folder) {
                continue;
            }
            remove_tree(&entry.path())?;
        }
        File::open(&dir)?.sync_all()
    }

    /// Removes what sandboxes of a killed control plane left in `run/`.
    pub fn clear_run(&self) -> io::Result<()> {
        std::fs::remove_dir_all(self.run())?;
        private_dir(&self.run())
    }

    /// The workspace's tree.
    pub fn tree(&self, workspace: WorkspaceId) -> io::Result<Tree> {
        let dir = self.workspace(workspace);
        private_dir(&dir)?;
        Tree::open(&dir)
    }

    /// Makes what a workspace with these chats must have, and opens all of it: what the cell is given,
    /// and what it is only shown.
    pub fn prepare(&self, workspace: WorkspaceId, chats: &[ChatId]) -> Result<Prepared, FileError> {
        let dir = self.workspace(workspace);
        let failed = |source| FileError::Io { path: workspace.to_string(), source };
        let tree = self.tree(workspace).map_err(failed)?;
        let mut shown = vec![File::open(&dir).map_err(failed)?];
        for (name, text) in IDENTITY {
            let (file, _) = there_or(&tree, (workspace, &RelPath::parse(name)?), text.as_bytes())?;
            shown.push(file);
        }
        for folder in STEERING_FOLDERS.into_iter().chain([AGENTS_FOLDER]) {
            shown.push(tree.make_dir(&RelPath::parse(folder)?)?);
        }
        let mut given = vec![tree.make_dir(&RelPath::parse(CHATS_FOLDER)?)?];
        for chat in chats {
            for place in ["", "/files", "/files/incoming", "/incoming"] {
                given.push(tree.make_dir(&RelPath::parse(&format!("chats/{chat}{place}"))?)?);
            }
        }
        Ok(Prepared { given, shown })
    }

    /// Makes what an agent beside the first one must have, and opens all of it, for a cell to read. What is about the
    /// person is a copy: the file itself lies where no agent but the first one sees it.
    pub(crate) fn prepare_agent(
        &self,
        workspace: WorkspaceId,
        agent: AgentId,
    ) -> Result<Vec<File>, FileError> {
        let tree = self
            .tree(workspace)
            .map_err(|source| FileError::Io { path: workspace.to_string(), source })?;
        let dir = RelPath::parse(&format!("{AGENTS_FOLDER}/{agent}"))?;
        let mut shown = vec![tree.make_dir(&dir)?];
        for folder in STEERING_FOLDERS.into_iter().chain([CHATS_FOLDER]) {
            shown.push(tree.make_dir(&in_folder(&dir, folder)?)?);
        }
        for (name, text) in IDENTITY.iter().filter(|(name, _)| *name != SHARED_IDENTITY) {
            let at = in_folder(&dir, name)?;
            shown.push(there_or(&tree, (workspace, &at), text.as_bytes())?.0);
        }
        shown.push(copy_shared(&tree, (workspace, &dir))?);
        Ok(shown)
    }

    /// Gives the agents beside the first one what is about the person, as it is now; what they are to be shown.
    pub(crate) fn share_identity(&self, workspace: WorkspaceId) -> Result<Vec<File>, FileError> {
        let failed = |source| FileError::Io { path: workspace.to_string(), source };
        let tree = self.tree(workspace).map_err(failed)?;
        let entries = match std::fs::read_dir(self.workspace(workspace).join(AGENTS_FOLDER)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut shown = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            let agent = name.to_str().and_then(|name| name.parse::<AgentId>().ok());
            let Some(agent) = agent else { continue };
            let dir = RelPath::parse(&format!("{AGENTS_FOLDER}/{agent}"))?;
            shown.push(copy_shared(&tree, (workspace, &dir))?);
        }
        Ok(shown)
    }
}

fn in_folder(dir: &RelPath, name: &str) -> Result<RelPath, FileError> {
    RelPath::parse(&format!("{}/{name}", dir.as_str()))
}

/// The file that is there, or a new one that says this; whether it was there.
fn there_or(
    tree: &Tree,
    (workspace, path): (WorkspaceId, &RelPath),
    text: &[u8],
) -> Result<(File, bool), FileError> {
    match tree.read(path) {
        Ok(file) => Ok((file, true)),
        Err(FileError::NotFound { .. }) => Ok((tree.replace(path, text)?, false)),
        // Nothing that the control plane wrote; it is not read, and makes room.
        Err(FileError::Refused { path: odd, reason }) => {
            tracing::warn!(%workspace, path = odd, reason, "a file that steers the agent is replaced");
            Ok((tree.replace(path, text)?, false))
        }
        Err(error) => Err(error),
    }
}

/// What is about the person, in an agent's own folder, as it is now.
fn copy_shared(tree: &Tree, (workspace, dir): (WorkspaceId, &RelPath)) -> Result<File, FileError> {
    let failed = |path: &RelPath| {
        let path = path.as_str().to_owned();
        move |source| FileError::Io { path, source }
    };
    let original = RelPath::parse(SHARED_IDENTITY)?;
    let first = initial_text(SHARED_IDENTITY).as_bytes();
    let (mut file, _) = there_or(tree, (workspace, &original), first)?;
    let mut text = Vec::new();
    io::Read::read_to_end(&mut file, &mut text).map_err(failed(&original))?;
    let at = in_folder(dir, SHARED_IDENTITY)?;
    let (mut copy, was_there) = there_or(tree, (workspace, &at), &text)?;
    let mut there = Vec::new();
    if was_there {
        io::Read::read_to_end(&mut copy, &mut there).map_err(failed(&at))?;
    }
    if was_there && there == text { Ok(copy) } else { tree.replace(&at, &text) }
}

/// What covers the chats and the agents that a coordinator does not see.
#[derive(Debug)]
pub(crate) struct OnlyOwn {
    pub(crate) chats: PathBuf,
    pub(crate) agents: PathBuf,
}

/// What there is of a workspace when a cell is launched.
#[derive(Debug)]
pub struct Prepared {
    /// The cell's own.
    pub given: Vec<File>,
    /// The control plane's; the cell reads it.
    pub shown: Vec<File>,
}

pub fn private_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Puts a file with this content in the place of whatever is there, on disk before it returns. For
/// places that only the control plane writes to.
pub(crate) fn replace_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let no_name = || io::Error::from(io::ErrorKind::InvalidInput);
    let (dir, name) = (path.parent().ok_or_else(no_name)?, path.file_name().ok_or_else(no_name)?);
    let fresh = dir.join(format!(".{}.new", name.to_string_lossy()));
    let mut options = File::options();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    io::Write::write_all(&mut file, bytes)?;
    file.sync_all()?;
    std::fs::rename(&fresh, path)?;
    File::open(dir)?.sync_all()
}
