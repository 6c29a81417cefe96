//! The way out for files: a file of a chat becomes an artifact and is delivered there.

use std::io::{Read, Write};

use cloister_policy::reach::CellRequest;
use cloister_protocol::{ChatId, SendFile, TaskId, TurnId, WorkspaceId};
use cloister_store::audit::{Entry, Fingerprint};

use crate::cells::Admitted;
use crate::chat_file::ChatFile;
use crate::control::Control;
use crate::error::Fault;
use crate::files::{RelPath, safe_name};
use crate::inbox::mime_of;
use crate::tasks::{TaskError, TaskRefusal, Tasks};

/// The files of one turn, or of one task. Each is kept, and each is a message to the person.
const MOST_FILES: u32 = 100;
/// In so long a workspace sends at most what it may have: what was sent is kept beside what it has.
const A_DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// How much of what it was called is noted of a file that is not sent.
const NOTED_CHARS: usize = 300;

/// A file that an agent wants the person to have.
pub(crate) struct FileToSend {
    pub(crate) chat: (WorkspaceId, ChatId),
    pub(crate) turn: TurnId,
    pub(crate) task: Option<TaskId>,
    /// As the agent named it.
    pub(crate) path: String,
    pub(crate) name: Option<String>,
    /// Scope and id of the request, which is carried out once.
    pub(crate) request: (String, String),
}

impl Tasks {
    pub(crate) async fn send_file(
        &self,
        leave: Admitted,
        wanted: FileToSend,
    ) -> Result<SendFile, TaskError> {
        leave.to(CellRequest::SendFile)?;
        self.control.stops().refuse_while_stopped()?;
        let (scope, request) = (wanted.request.0.as_str(), wanted.request.1.as_str());
        if let Some(sent) = self.control.store().outbox().sent_before(scope, request).await? {
            return Ok(sent);
        }
        match keep_artifact(&self.control, &wanted).await {
            Ok((id, file, print)) => {
                let told = self
                    .control
                    .store()
                    .outbox()
                    .send_artifact(
                        &id,
                        wanted.chat,
                        (&wanted.turn, wanted.task),
                        (&file, &print),
                        (scope, request),
                    )
                    .await?;
                self.control.hub().say_stored(told);
                Ok(file)
            }
            Err(error) => {
                let path: String = wanted.path.chars().take(NOTED_CHARS).collect();
                let entry = Entry::of_cell((wanted.chat.0, wanted.task), "file.refused", path);
                self.control.store().audit().record(entry.with(&error)).await?;
                Err(error)
            }
        }
    }
}

/// Copies the file, as it is now, to the object store.
async fn keep_artifact(
    control: &Control,
    wanted: &FileToSend,
) -> Result<(String, SendFile, Fingerprint), TaskError> {
    let chat = wanted.chat.1;
    let file = match wanted.task {
        Some(_) => ChatFile::of_executor(chat, &wanted.path)?,
        None => ChatFile::of_coordinator(chat, &wanted.path)?,
    };
    let path = file.path();
    let tree = control
        .layout()
        .tree(wanted.chat.0)
        .map_err(Fault::io("the workspace could not be opened"))?;
    let mut source = match wanted.in_layer(control, path).await? {
        Some(file) => file,
        None => tree.read(path)?,
    };
    let size = source.metadata().map_err(Fault::io("a file could not be measured"))?.len();
    wanted.room(control, size).await?;
    let id = random_name().map_err(Fault::io("no random name could be made"))?;
    let target = control.layout().objects().join(&id);
    let limit = control.work().max_upload_mb << 20;
    let copied = tokio::task::spawn_blocking(move || copy_bounded(&mut source, &target, limit))
        .await
        .map_err(Fault::interrupted("copying a file was interrupted"))?
        .map_err(Fault::io("a file could not be copied to the object store"))?;
    let Some((size, print)) = copied else {
        let (path, most_mb) = (wanted.path.clone(), limit >> 20);
        return Err(TaskRefusal::FileTooLarge { path, most_mb }.into());
    };
    let name = safe_name(wanted.name.as_deref().unwrap_or(path.file_name()));
    let url = format!("/cells/{}/v1/artifacts/{id}", wanted.chat.0);
    let file = SendFile {
        turn: Some(wanted.turn.clone()),
        task: wanted.task,
        path: path.as_str().to_owned(),
        mime: mime_of(&name),
        name,
        size,
        url: Some(url),
    };
    Ok((id, file, print))
}

impl FileToSend {
    /// The file as its task has it; none if that is as it is in the chat.
    async fn in_layer(
        &self,
        control: &Control,
        path: &RelPath,
    ) -> Result<Option<std::fs::File>, TaskError> {
        let Some(task) = self.task else { return Ok(None) };
        let files = format!("chats/{}/files/", self.chat.1);
        let Some(inside) = path.as_str().strip_prefix(&files) else { return Ok(None) };
        let task = control.store().tasks().task(task).await?;
        Ok(control.tasks().layers().read(&task, &RelPath::parse(inside)?).await?)
    }

    /// Refuses more files than one turn, and more of them than a workspace, may send.
    async fn room(&self, control: &Control, size: u64) -> Result<(), TaskError> {
        let (workspace, outbox) = (self.chat.0, control.store().outbox());
        if outbox.files_of_turn(workspace, &self.turn).await? >= MOST_FILES {
            return Err(TaskRefusal::TooManyFiles { most: MOST_FILES }.into());
        }
        let most = control.store().users().user_of(workspace).await?.limits.quota_bytes;
        let since = control.store().clock.now_ms().saturating_sub(A_DAY_MS);
        let sent = outbox.sent_since(workspace, since).await?;
        if sent.saturating_add(size) > most {
            return Err(TaskRefusal::TooMuchSent { most_mb: most >> 20 }.into());
        }
        Ok(())
    }
}

/// The size copied and what it was, or none if the source is larger than the limit.
fn copy_bounded(
    source: &mut std::fs::File,
    target: &std::path::Path,
    limit: u64,
) -> std::io::Result<Option<(u64, Fingerprint)>> {
    let mut out =
        Printed { file: std::fs::File::create_new(target)?, print: Fingerprint::default() };
    let size = std::io::copy(&mut source.take(limit + 1), &mut out)?;
    if size > limit {
        std::fs::remove_file(target)?;
        return Ok(None);
    }
    out.file.sync_all()?;
    Ok(Some((size, out.print)))
}

/// A file that is written, and what was.
struct Printed {
    file: std::fs::File,
    print: Fingerprint,
}

impl Write for Printed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.print.take(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// A name that can't be guessed.
pub(crate) fn random_name() -> std::io::Result<String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
#[path = "sending_tests.rs"]
mod tests;
