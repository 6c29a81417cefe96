//! Files of people: up into a chat's `incoming/`, down from the artifacts that were sent.

use std::io::Write;

use cloister_protocol::{Attachment, ChatId, UserId, WorkspaceId, with_causes};
use cloister_store::Actor;
use cloister_store::audit::{Entry, Fingerprint};

use crate::control::Control;
use crate::error::Fault;
use crate::files::{RelPath, Tree, Unnamed};
use crate::inbox::{Inbox, InboxError, InboxRefusal};
use crate::limits::Permit;

/// A file that is being taken in. It has no name before it is whole: dropped unfinished or killed on the way,
/// nothing of it is there.
pub struct Upload {
    control: Control,
    tree: Tree,
    workspace: WorkspaceId,
    /// Whose it is, by their name.
    actor: Actor,
    wanted: String,
    file: Unnamed,
    written: u64,
    print: Fingerprint,
    limit: u64,
    /// A larger file would not fit into the workspace any more.
    to_the_quota: bool,
    _permit: Permit,
}

/// An artifact to be read.
#[derive(Debug)]
pub struct Download {
    pub name: String,
    pub mime: String,
    pub size: u64,
    pub file: std::fs::File,
}

/// The type of a file by its name.
pub(crate) fn mime_of(name: &str) -> String {
    mime_guess::from_path(name).first_raw().unwrap_or("application/octet-stream").to_owned()
}

impl Inbox {
    /// Begins to take a file of a person's into a chat, under a safe and unique name.
    pub async fn upload(
        &self,
        by: UserId,
        (workspace, chat): (WorkspaceId, ChatId),
        name: &str,
    ) -> Result<Upload, InboxError> {
        let permit = self.control.inner.limiter.upload(workspace, by).inspect_err(|too_much| {
            self.control.metrics().refused("upload", too_much.reason);
        })?;
        self.control.store().chats().chat(workspace, chat).await?;
        self.control.cells().prepare_workspace(workspace, vec![chat]).await?;
        let tree = self
            .control
            .layout()
            .tree(workspace)
            .map_err(Fault::io("the workspace could not be opened"))?;
        let room = self.control.cells().room(workspace).await?;
        if room == 0 {
            return Err(InboxRefusal::OverQuota.into());
        }
        let actor = self.control.accounts().acting(by).await?;
        let begins = Entry::new(&actor, "file.upload", chat).with(format!("begins: {name}"));
        self.control
            .provenance()
            .file_comes_in(workspace, chat, name, begins.of_workspace(workspace))
            .await?;
        let dir = RelPath::parse(&format!("chats/{chat}/incoming"))?;
        let file = tree.create_unnamed(&dir)?;
        let upload_limit = self.control.work().max_upload_mb << 20;
        Ok(Upload {
            control: self.control.clone(),
            tree,
            workspace,
            actor,
            wanted: name.to_owned(),
            file,
            written: 0,
            print: Fingerprint::default(),
            limit: upload_limit.min(room),
            to_the_quota: room < upload_limit,
            _permit: permit,
        })
    }

    /// Removes a file that came with a message which was not taken.
    pub fn discard_upload(&self, workspace: WorkspaceId, file: &Attachment) {
        let removed = RelPath::parse(&file.path).map_err(Fault::from).and_then(|path| {
            let failed = "the workspace could not be opened";
            let tree = self.control.layout().tree(workspace).map_err(Fault::io(failed))?;
            Ok(tree.remove(&path)?)
        });
        if let Err(error) = removed {
            tracing::warn!(%workspace, error = error.chain(), "a file that nobody needs stays");
        }
    }

    /// Opens a file that somebody sent to a chat, by its name there. Who may read it is decided before.
    pub async fn incoming(
        &self,
        (workspace, chat): (WorkspaceId, ChatId),
        name: &str,
    ) -> Result<Download, InboxError> {
        self.control.store().chats().chat(workspace, chat).await?;
        let layout = self.control.layout().clone();
        let name = name.to_owned();
        let failed = "a file that was sent could not be opened";
        tokio::task::spawn_blocking(move || {
            let missing = || InboxError::from(InboxRefusal::NoSuchFile);
            let path = RelPath::parse(&format!("chats/{chat}/incoming/{name}"));
            let path = path.ok().filter(|path| path.file_name() == name).ok_or_else(missing)?;
            let tree = layout.tree(workspace).map_err(Fault::io(failed))?;
            let file = tree.read(&path).map_err(|_not_there| missing())?;
            let about = file.metadata().map_err(Fault::io(failed))?;
            if !about.is_file() {
                return Err(missing());
            }
            Ok(Download { mime: mime_of(&name), name, size: about.len(), file })
        })
        .await
        .map_err(Fault::interrupted(failed))?
    }

    /// Opens an artifact of this workspace for a person who fetches it.
    pub async fn download(
        &self,
        by: UserId,
        workspace: WorkspaceId,
        id: &str,
    ) -> Result<Download, Fault> {
        let download = self.artifact(workspace, id).await?;
        let actor = self.control.accounts().acting(by).await?;
        let detail = format!("{}: {} bytes", download.name, download.size);
        let entry = Entry::new(&actor, "file.download", id).with(detail);
        self.control.store().audit().record(entry.of_workspace(workspace)).await?;
        Ok(download)
    }

    /// Opens an artifact of this workspace, to be sent where its telling goes.
    pub(crate) async fn artifact(
        &self,
        workspace: WorkspaceId,
        id: &str,
    ) -> Result<Download, Fault> {
        let artifact = self.control.store().outbox().artifact(workspace, id).await?;
        let file = std::fs::File::open(self.control.layout().objects().join(&artifact.id))
            .map_err(Fault::io("a sent file could not be opened"))?;
        Ok(Download {
            name: artifact.name,
            mime: artifact.mime,
            size: u64::try_from(artifact.size).unwrap_or(0),
            file,
        })
    }
}

impl Upload {
    /// Appends a piece.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), InboxError> {
        self.written = self.written.saturating_add(bytes.len() as u64);
        if self.written > self.limit {
            return Err(if self.to_the_quota {
                InboxRefusal::OverQuota.into()
            } else {
                InboxRefusal::FileTooLarge { most_mb: self.limit >> 20 }.into()
            });
        }
        self.print.take(bytes);
        let written = self.file.file.write_all(bytes);
        Ok(written.map_err(Fault::io("an upload could not be written"))?)
    }

    /// Keeps the file, and puts into the audit trail what it is. What can't be recorded is not kept.
    pub async fn finish(self) -> Result<Attachment, InboxError> {
        let failed = "an upload could not be kept";
        let kept = tokio::task::spawn_blocking(move || self.keep())
            .await
            .map_err(Fault::interrupted(failed))??;
        let Kept { control, tree, workspace, path, entry, attachment } = kept;
        if let Err(error) = control.store().audit().record(entry.of_workspace(workspace)).await {
            if let Err(error) = tree.remove(&path) {
                tracing::warn!(
                    error = with_causes(&error),
                    "an upload that could not be recorded could not be removed"
                );
            }
            return Err(error.into());
        }
        Ok(attachment)
    }

    fn keep(mut self) -> Result<Kept, Fault> {
        let failed = "an upload could not be kept";
        self.file.file.sync_all().map_err(Fault::io(failed))?;
        let path = self.file.name(&self.wanted)?;
        if let Err(error) = self.control.backend().adopt(self.workspace, &self.file.file) {
            if let Err(error) = self.tree.remove(&path) {
                tracing::warn!(
                    error = with_causes(&error),
                    "an upload that could not be kept could not be removed"
                );
            }
            return Err(Fault::io(failed)(error));
        }
        let attachment = Attachment {
            path: path.as_str().to_owned(),
            name: path.file_name().to_owned(),
            mime: mime_of(path.file_name()),
            size: self.written,
        };
        let entry = Entry::new(&self.actor, "file.upload", &attachment.path).with(&self.print);
        let (control, tree, workspace) = (self.control, self.tree, self.workspace);
        Ok(Kept { control, tree, workspace, path, entry, attachment })
    }
}

/// A file that has its name, and is not recorded yet.
struct Kept {
    control: Control,
    tree: Tree,
    workspace: WorkspaceId,
    path: RelPath,
    entry: Entry,
    attachment: Attachment,
}

#[cfg(test)]
#[path = "uploads_tests.rs"]
mod tests;
