//! Where things are under the data directory (`docs/architecture.md` has the whole map).

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use cloister_protocol::{ChatId, WorkspaceId};

use crate::files::{FileError, RelPath, Tree};

/// The data directory.
#[derive(Clone, Debug)]
pub struct Layout {
    root: PathBuf,
}

/// The Markdown that says who the agent is, written once and then the person's own.
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
        for dir in [self.root.clone(), self.workspaces(), self.objects(), self.keys(), self.run()] {
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

    /// Makes what a workspace with these chats must have, and opens all of it, so that it can be
    /// given to the cell.
    pub fn prepare(
        &self,
        workspace: WorkspaceId,
        chats: &[ChatId],
    ) -> Result<Vec<File>, FileError> {
        let dir = self.workspace(workspace);
        let failed = |source| FileError::Io { path: workspace.to_string(), source };
        let tree = self.tree(workspace).map_err(failed)?;
        let mut made = vec![File::open(&dir).map_err(failed)?];
        for (name, text) in IDENTITY {
            if let Some(file) = write_new(&dir.join(name), text).map_err(failed)? {
                made.push(file);
            }
        }
        made.push(tree.make_dir(&RelPath::parse("chats")?)?);
        for chat in chats {
            for place in ["", "/files", "/files/incoming", "/incoming"] {
                made.push(tree.make_dir(&RelPath::parse(&format!("chats/{chat}{place}"))?)?);
            }
        }
        Ok(made)
    }
}

pub fn private_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// The file, if it was not there before.
fn write_new(path: &Path, text: &str) -> io::Result<Option<File>> {
    match File::options().write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => io::Write::write_all(&mut file, text.as_bytes()).map(|()| Some(file)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(error),
    }
}
