//! Forgetting a scope: the repository is written anew without it, and takes the old one's place in one step.

use std::io;
use std::sync::PoisonError;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::History;
use super::objects::{Commit, Id, ObjectKind};
use super::repository::{Files, HistoryError, Repository};
use super::snapshot::ConfigScope;
use crate::config::ConfigError;
use crate::error::Fault;

impl History {
    /// Forgets every version of what is in a scope. Other versions stay, under new ids. Cut short, it can be
    /// asked for again.
    pub(crate) fn forget(&self, scope: ConfigScope) -> Result<(), ConfigError> {
        let failed = "the history of the configuration could not be written anew";
        let dir = self.layout.history();
        let fresh_dir = dir.with_file_name("history.new");
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let repository = match open.take() {
            Some(repository) => repository,
            None => Repository::open(dir.clone())?,
        };
        remove(&fresh_dir).map_err(Fault::io(failed))?;
        let fresh = Repository::open(fresh_dir.clone())?;
        copy_without(&repository, &fresh, scope)?;
        renameat_with(CWD, &fresh_dir, CWD, &dir, RenameFlags::EXCHANGE)
            .map_err(|errno| Fault::io(failed)(errno.into()))?;
        // What has the name now is the old one.
        Ok(remove(&fresh_dir).map_err(Fault::io(failed))?)
    }
}

fn remove(dir: &std::path::Path) -> io::Result<()> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Copies every version, oldest first, without what is in the scope; those that changed nothing else are left out.
fn copy_without(
    from: &Repository,
    to: &Repository,
    scope: ConfigScope,
) -> Result<(), HistoryError> {
    let Some(head) = from.head()? else { return Ok(()) };
    let versions: Vec<(Id, Commit)> = from.versions(head).collect::<Result<_, _>>()?;
    let (mut parent, mut before) = (None, Files::new());
    for (id, commit) in versions.into_iter().rev() {
        let mut files = from.files(id)?;
        files.retain(|path, _| !scope.has(path));
        if files == before {
            continue;
        }
        for (path, blob) in &files {
            if before.get(path) != Some(blob) {
                to.put(ObjectKind::Blob, &from.blob(*blob)?)?;
            }
        }
        parent = Some(to.record(&files, Commit { parent, ..commit })?);
        before = files;
    }
    parent.map_or(Ok(()), |newest| to.set_head(newest))
}
