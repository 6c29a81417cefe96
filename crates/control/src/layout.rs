//! Where things are under the data directory (`docs/architecture.md` has the whole map).

use std::fs::{DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use cloister_protocol::{ChatId, WorkspaceId};

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
/// What of a chat is files, and not its coordinator's own.
const FILE_FOLDERS: [&str; 2] = ["files", "incoming"];

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

impl Layout {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Makes the directories that only the control plane uses.
    pub fn create(&self) -> io::Result<()> {
        let own = [self.workspaces(), self.objects(), self.keys(), self.run(), self.policies()];
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

    /// What a coordinator sees in the place of all chats: a folder with an empty one for its own. In the run
    /// directory of its sandbox, which is there.
    pub(crate) fn only_chat(&self, name: &str, chat: ChatId) -> io::Result<PathBuf> {
        let chats = self.run().join(name).join(CHATS_FOLDER);
        // The cell's uid looks through it; there is nothing to see.
        for dir in [&chats, &chats.join(chat.to_string())] {
            DirBuilder::new().create(dir)?;
            std::fs::set_permissions(dir, Permissions::from_mode(0o755))?;
        }
        Ok(chats)
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
            let path = RelPath::parse(name)?;
            shown.push(match tree.read(&path) {
                Ok(file) => file,
                Err(FileError::NotFound { .. }) => tree.replace(&path, text.as_bytes())?,
                // Nothing that the control plane wrote; it is not read, and makes room.
                Err(FileError::Refused { path: odd, reason }) => {
                    tracing::warn!(%workspace, path = odd, reason, "a file that steers the agent is replaced");
                    tree.replace(&path, text.as_bytes())?
                }
                Err(error) => return Err(error),
            });
        }
        for folder in STEERING_FOLDERS {
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
