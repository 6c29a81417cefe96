//! Taking back what a task changed in the documents that steer its agent: memory, skills, schedules, settings.
//!
//! Promises: what was changed in a document since stays, or the document stays as it is and is named; each step is a
//! version of its own, so that it can be taken back, too; a kill between two steps leaves what can be gone on with.

use std::io::Read as _;

use cloister_protocol::WorkspaceId;
use cloister_protocol::admin::DocumentChangeView;
use cloister_store::Actor;
use cloister_store::task_documents::{DocumentChange, UndoneDocument};

use super::merging::merged;
use crate::config::{ConfigError, VersionedChange, unified};
use crate::control::part;
use crate::error::Fault;
use crate::files::{FileError, RelPath};

/// A longer document is none that an agent wrote.
const MOST_BYTES: u64 = 1 << 20;

/// What an undo, or its undo, does to documents.
#[derive(Debug, Default)]
pub(super) struct DocumentPlan {
    steps: Vec<DocumentStep>,
    pub(super) views: Vec<DocumentChangeView>,
    pub(super) collides: Vec<String>,
}

#[derive(Debug)]
struct DocumentStep {
    path: String,
    /// What is to be there; none: nothing.
    text: Option<String>,
    /// It is there already.
    is_there: bool,
    marks: Vec<(i64, Option<UndoneDocument>)>,
}

impl DocumentPlan {
    pub(super) const fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Decides for each document; `now` reads what it says.
    pub(super) fn of(
        changes: &[DocumentChange],
        again: bool,
        mut now: impl FnMut(&str) -> Result<Option<String>, Fault>,
    ) -> Self {
        let mut plan = Self::default();
        let open: Vec<&DocumentChange> =
            changes.iter().filter(|change| change.undone.is_some() == again).collect();
        let mut paths: Vec<&str> = Vec::new();
        for change in &open {
            if !paths.contains(&change.path.as_str()) {
                paths.push(&change.path);
            }
        }
        for path in paths {
            let of_path = open.iter().copied().filter(|change| change.path == path);
            let of_path: Vec<&DocumentChange> = of_path.collect();
            let step = match now(path) {
                Ok(found) => step(path, &of_path, again, found),
                Err(error) => {
                    tracing::warn!(path, error = error.chain(), "a document could not be read");
                    None
                }
            };
            match step {
                Some(step) => {
                    plan.steps.push(step);
                    plan.views.extend(of_path.iter().map(|change| view(change)));
                }
                None => plan.collides.push(path.to_owned()),
            }
        }
        plan
    }
}

/// All that a task changed in one document is taken back, the newest first, or nothing of it; and made again in the
/// order in which it was made.
fn step(
    path: &str,
    changes: &[&DocumentChange],
    again: bool,
    found: Option<String>,
) -> Option<DocumentStep> {
    let (mut text, mut marks) = (found.clone(), Vec::new());
    let mut one = |change: &DocumentChange| {
        let next = match &change.undone {
            Some(undone) => merged(undone.to.as_deref(), undone.from.as_deref(), text.as_deref()),
            None => merged(Some(&change.after), change.before.as_deref(), text.as_deref()),
        }?;
        let from = std::mem::replace(&mut text, next);
        let undone = UndoneDocument { from, to: text.clone() };
        marks.push((change.id, (!again).then_some(undone)));
        Some(())
    };
    if again {
        changes.iter().try_for_each(|change| one(change))?;
    } else {
        changes.iter().rev().try_for_each(|change| one(change))?;
    }
    Some(DocumentStep { path: path.to_owned(), is_there: text == found, text, marks })
}

pub(super) fn view(change: &DocumentChange) -> DocumentChangeView {
    let (before, after) = (change.before.as_deref(), change.after.as_str());
    let diff = unified(&change.path, before.map(str::as_bytes), Some(after.as_bytes()));
    DocumentChangeView {
        path: change.path.clone(),
        change: if change.before.is_none() { "added" } else { "changed" }.to_owned(),
        diff: cloister_policy::legible(&diff).into_owned(),
        undone: change.undone.is_some(),
    }
}

part! {
    /// What an undo does to the documents of the agent.
    pub(super) struct DocumentUndo;
}

impl DocumentUndo {
    /// What an undo, or its undo, of these changes would do now.
    pub(super) fn plan_documents(
        &self,
        workspace: WorkspaceId,
        changes: &[DocumentChange],
        again: bool,
    ) -> DocumentPlan {
        DocumentPlan::of(changes, again, |path| self.document(workspace, path))
    }

    /// Does it; what could not be done is named.
    pub(super) async fn carry_out_documents(
        &self,
        actor: &Actor,
        (workspace, why): (WorkspaceId, &str),
        plan: DocumentPlan,
    ) -> Vec<String> {
        let mut failed = Vec::new();
        for DocumentStep { path, text, is_there, marks } in plan.steps {
            let done = async {
                if !is_there {
                    self.put_document(actor, (workspace, &path), text, why).await?;
                }
                Ok::<_, ConfigError>(
                    self.control.store().task_documents().set_undone(&marks).await?,
                )
            };
            if let Err(error) = done.await {
                tracing::error!(%workspace, path, error = error.chain(), "a document could not be put back");
                failed.push(path);
            }
        }
        failed
    }

    async fn put_document(
        &self,
        actor: &Actor,
        (workspace, path): (WorkspaceId, &str),
        text: Option<String>,
        why: &str,
    ) -> Result<(), ConfigError> {
        let config = self.control.config();
        let Some(text) = text else {
            return config.remove_versioned(actor, (workspace, path), why).await;
        };
        let (path, why) = (path.to_owned(), why.to_owned());
        config.write_versioned(actor, VersionedChange { workspace, path, text, why }).await
    }

    fn document(&self, workspace: WorkspaceId, path: &str) -> Result<Option<String>, Fault> {
        let failed = "a document could not be read";
        let tree = self.control.layout().tree(workspace).map_err(Fault::io(failed))?;
        let file = match tree.read(&RelPath::parse(path)?) {
            Ok(file) => file,
            Err(FileError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut text = String::new();
        file.take(MOST_BYTES).read_to_string(&mut text).map_err(Fault::io(failed))?;
        Ok(Some(text))
    }
}
