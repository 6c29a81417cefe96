//! Deleting what people sent: by the control plane, after they have allowed exactly that.

use cloister_protocol::link::{CallStatus, Outcome};
use cloister_protocol::with_causes;
use cloister_store::audit::Entry;
use cloister_store::grants::Recorded;
use cloister_store::tasks::Task;

use crate::error::Fault;
use crate::files::{FileError, RelPath};
use crate::gates::Gates;

impl Gates {
    /// Deletes files of a task's chat that are named from its folder (`incoming/…`), and says what
    /// came of it, with what is recorded of that.
    pub(crate) async fn delete_sent(
        &self,
        task: &Task,
        files: Vec<String>,
        _leave: Recorded,
    ) -> Result<(Outcome, Vec<Entry>), Fault> {
        let (layout, workspace, chat) = (self.control.layout().clone(), task.workspace, task.chat);
        let failed = "what a person sent could not be deleted";
        let work = move || {
            let tree = layout.tree(workspace).map_err(Fault::io(failed))?;
            let deleted = files.into_iter().map(|file| {
                let path = RelPath::parse(&format!("chats/{chat}/{file}"));
                let done = path.and_then(|path| tree.remove(&path));
                (file, done)
            });
            Ok::<Vec<(String, Result<(), FileError>)>, Fault>(deleted.collect())
        };
        let done =
            tokio::task::spawn_blocking(work).await.map_err(Fault::interrupted(failed))??;
        let entry = |(file, done): &(String, Result<(), FileError>)| {
            let came_of_it =
                done.as_ref().map_or_else(|error| with_causes(error), |()| "done".to_owned());
            let detail = format!("{}: {came_of_it}", task.id);
            Entry::of_cell(
                (workspace, Some(task.id)),
                "file.delete",
                format!("chats/{chat}/{file}"),
            )
            .with(detail)
        };
        let noted = done.iter().map(entry).collect();
        let line = |(file, done): &(String, Result<(), FileError>)| match done {
            Ok(()) => format!("deleted {file}"),
            Err(FileError::NotFound { .. }) => format!("there is no {file}"),
            Err(error) => format!("could not delete {file}: {}", with_causes(error)),
        };
        let output = done.iter().map(line).collect::<Vec<_>>().join("\n");
        let all =
            done.iter().all(|(_, done)| matches!(done, Ok(()) | Err(FileError::NotFound { .. })));
        let status = if all { CallStatus::Ok } else { CallStatus::Failed };
        Ok((Outcome { status, output }, noted))
    }
}
