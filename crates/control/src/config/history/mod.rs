//! The history of the configuration: every version of what steers agents and the platform, with who
//! changed it and why, in a git repository under `<data>/history`.
//!
//! Promises: what is versioned is written by the control plane alone, and not without a version; what
//! was changed by hand is taken up as found before anything is changed on top of it. A change that a
//! crash interrupted is finished at the next start, or was never begun. Nothing of the repository, and
//! nothing that a cell can write, is interpreted.

mod changes;
mod diff;
mod forget;
mod objects;
mod repository;
mod snapshot;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

pub use changes::{RolledBack, finish_interrupted_change};
pub(crate) use changes::{SettingsCheck, VersionedChange};
pub(crate) use diff::unified;
pub(super) use repository::HistoryError;
pub use repository::VersionError;
pub use snapshot::ConfigScope;
pub(crate) use snapshot::is_policy_file;

use self::objects::{Commit, Id, ObjectKind};
use self::repository::{Files, Repository};
use self::snapshot::Found;
use super::ConfigError;
use crate::error::Fault;
use crate::layout::Layout;

/// Who changed what was not changed through us.
const BY_HAND: &str = "found on disk";
/// How the newest version is named.
const LATEST: &str = "latest";
/// The most versions that are looked through for a list.
const MAX_LOOKED_AT: usize = 100_000;

/// What is to be in a file; nothing: the file goes.
type Contents = BTreeMap<String, Option<Vec<u8>>>;

/// Files of one scope that are to be changed together.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) scope: ConfigScope,
    /// By their paths in the history.
    pub(crate) files: Contents,
    pub(crate) author: String,
    pub(crate) why: String,
    /// Seconds since 1970.
    pub(crate) at: i64,
}

/// One version, as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub id: String,
    pub author: String,
    /// Seconds since 1970.
    pub at: i64,
    pub why: String,
    pub paths: Vec<String>,
}

/// Which files are meant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    /// None: every scope.
    pub(crate) scope: Option<ConfigScope>,
    /// A file or a folder; none: all.
    pub(crate) path: Option<String>,
}

impl Selection {
    fn has(&self, path: &str) -> bool {
        let in_scope = self.scope.is_none_or(|scope| scope.has(path));
        let named = self.path.as_ref().is_none_or(|wanted| {
            path.strip_prefix(wanted.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        in_scope && named
    }
}

/// The history; one change at a time.
pub(crate) struct History {
    layout: Layout,
    open: Mutex<Option<Repository>>,
}

impl History {
    pub(crate) fn new(layout: Layout) -> Self {
        Self { layout, open: Mutex::new(None) }
    }

    fn with<T>(
        &self,
        work: impl FnOnce(&Repository) -> Result<T, ConfigError>,
    ) -> Result<T, ConfigError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let repository = match open.take() {
            Some(repository) => repository,
            None => Repository::open(self.layout.history())?,
        };
        let done = work(&repository);
        *open = Some(repository);
        done
    }

    /// Finishes a change that was interrupted: what is not written yet is written. A file that says
    /// something else by now was changed by hand, and stays.
    pub(crate) fn recover(
        &self,
        write: impl FnOnce(&Contents) -> Result<(), Fault>,
    ) -> Result<(), ConfigError> {
        self.with(|repository| {
            let Some(announced) = repository.announced()? else { return Ok(()) };
            let wanted = repository.files(announced)?;
            let before = match repository.head()? {
                Some(head) => repository.files(head)?,
                None => Files::new(),
            };
            let mut contents = Contents::new();
            let paths: std::collections::BTreeSet<_> = wanted.keys().chain(before.keys()).collect();
            let differing: Vec<_> =
                paths.into_iter().filter(|path| wanted.get(*path) != before.get(*path)).collect();
            let mut on_disk = Found::new();
            for scope in differing.iter().filter_map(|path| ConfigScope::of(path)) {
                on_disk.extend(snapshot::read(&self.layout, scope)?);
            }
            for path in differing {
                let there =
                    on_disk.get(path).map(|bytes| objects::encode(ObjectKind::Blob, bytes).0);
                if there == before.get(path).copied() {
                    let bytes = wanted.get(path).map(|id| repository.blob(*id)).transpose()?;
                    contents.insert(path.clone(), bytes);
                }
            }
            write(&contents)?;
            tracing::info!(
                version = announced.short(),
                "a change of the configuration was finished"
            );
            Ok(repository.set_head(announced)?)
        })
    }

    /// Takes up what was changed by hand, in every scope.
    pub(crate) fn catch_up(&self, at: i64) -> Result<(), ConfigError> {
        let failed = "the workspaces could not be listed";
        let mut scopes = vec![ConfigScope::Platform];
        for entry in std::fs::read_dir(self.layout.workspaces()).map_err(Fault::io(failed))? {
            let name = entry.map_err(Fault::io(failed))?.file_name();
            let workspace = name.to_str().and_then(|name| name.parse().ok());
            scopes.extend(workspace.map(ConfigScope::Workspace));
        }
        self.with(|repository| self.take_up(repository, &scopes, at).map(drop))
    }

    /// A version of what is on disk, if that is not the newest one; every file of it.
    fn take_up(
        &self,
        repository: &Repository,
        scopes: &[ConfigScope],
        at: i64,
    ) -> Result<(Option<Id>, Files), ConfigError> {
        let head = repository.head()?;
        let mut files = match head {
            Some(head) => repository.files(head)?,
            None => Files::new(),
        };
        let before = files.clone();
        for scope in scopes {
            files.retain(|path, _| !scope.has(path));
            for (path, bytes) in snapshot::read(&self.layout, *scope)? {
                files.insert(path, repository.put(ObjectKind::Blob, &bytes)?);
            }
        }
        if files == before {
            return Ok((head, files));
        }
        let why = match head {
            Some(_) => "Changed outside of Cloister",
            None => "What was there at the start",
        };
        let found = record(repository, &files, head, (BY_HAND, why, at))?;
        repository.set_head(found)?;
        Ok((Some(found), files))
    }

    /// Makes a change: a version of it, and the files, by `write`. None if nothing changes.
    pub(crate) fn change(
        &self,
        change: &Change,
        write: impl FnOnce(&Contents) -> Result<(), Fault>,
    ) -> Result<Option<String>, ConfigError> {
        self.with(|repository| {
            let (head, before) = self.take_up(repository, &[change.scope], change.at)?;
            let mut files = before.clone();
            for (path, content) in &change.files {
                match content {
                    Some(bytes) => {
                        files.insert(path.clone(), repository.put(ObjectKind::Blob, bytes)?);
                    }
                    None => {
                        files.remove(path);
                    }
                }
            }
            if files == before {
                return Ok(None);
            }
            let said = (change.author.as_str(), change.why.as_str(), change.at);
            let version = record(repository, &files, head, said)?;
            repository.announce(version)?;
            match write(&change.files) {
                Ok(()) => {
                    repository.set_head(version)?;
                    Ok(Some(version.short()))
                }
                Err(error) => {
                    // As far as it went, it is found on disk next time.
                    repository.forget_announced()?;
                    Err(error.into())
                }
            }
        })
    }

    /// The newest versions that touch what is meant, newest first.
    pub(crate) fn log(
        &self,
        selection: &Selection,
        count: usize,
    ) -> Result<Vec<Version>, ConfigError> {
        self.with(|repository| {
            let Some(head) = repository.head()? else { return Ok(Vec::new()) };
            let mut versions = Vec::new();
            for version in repository.versions(head).take(MAX_LOOKED_AT) {
                let (id, commit) = version?;
                let parent = commit.parent.map(|id| repository.commit(id)).transpose()?;
                let mut paths = repository.changed(parent.map(|p| p.tree), commit.tree)?;
                paths.retain(|path| selection.has(path));
                if paths.is_empty() {
                    continue;
                }
                let Commit { author, at, why, .. } = commit;
                versions.push(Version { id: id.short(), author, at, why, paths });
                if versions.len() >= count {
                    break;
                }
            }
            Ok(versions)
        })
    }

    /// What is different between two versions, with the names of both.
    pub(crate) fn diff(
        &self,
        selection: &Selection,
        from: &str,
        to: Option<&str>,
    ) -> Result<(String, String, String), ConfigError> {
        self.with(|repository| {
            let from = resolve(repository, selection, from)?;
            let to = resolve(repository, selection, to.unwrap_or(LATEST))?;
            let (old, new) = (repository.files(from)?, repository.files(to)?);
            let paths: std::collections::BTreeSet<_> = old.keys().chain(new.keys()).collect();
            let mut text = String::new();
            for path in paths.into_iter().filter(|path| selection.has(path)) {
                let (a, b) = (old.get(path), new.get(path));
                if a != b {
                    let blob = |id: Option<&Id>| id.map(|id| repository.blob(*id)).transpose();
                    let (a, b) = (blob(a)?, blob(b)?);
                    text.push_str(&diff::unified(path, a.as_deref(), b.as_deref()));
                }
            }
            Ok((from.short(), to.short(), text))
        })
    }

    /// What a version has of what is meant, where that is not what is on disk now.
    pub(crate) fn contents(
        &self,
        scope: ConfigScope,
        path: Option<String>,
        version: &str,
        at: i64,
    ) -> Result<Contents, ConfigError> {
        let selection = Selection { scope: Some(scope), path };
        self.with(|repository| {
            let wanted = repository.files(resolve(repository, &selection, version)?)?;
            let (_, now) = self.take_up(repository, &[scope], at)?;
            let paths: std::collections::BTreeSet<_> = wanted.keys().chain(now.keys()).collect();
            let mut contents = Contents::new();
            for path in paths.into_iter().filter(|path| selection.has(path)) {
                if wanted.get(path) != now.get(path) {
                    let bytes = wanted.get(path).map(|id| repository.blob(*id)).transpose()?;
                    contents.insert(path.clone(), bytes);
                }
            }
            Ok(contents)
        })
    }
}

/// The version that is meant: by the beginning of its id, or `latest`, or `latest~2` for what was before
/// the two newest changes of what is selected.
fn resolve(
    repository: &Repository,
    selection: &Selection,
    named: &str,
) -> Result<Id, HistoryError> {
    let missing = || VersionError::None(named.chars().take(80).collect());
    let Some(back) = named.strip_prefix(LATEST) else { return repository.find(named) };
    let head = repository.head()?.ok_or_else(missing)?;
    let mut back: usize = match back.strip_prefix('~') {
        Some(back) => back.parse().or(Err(missing()))?,
        None if back.is_empty() => 0,
        None => return Err(missing().into()),
    };
    let mut at = head;
    for version in repository.versions(head).take(MAX_LOOKED_AT) {
        if back == 0 {
            return Ok(at);
        }
        let (_, commit) = version?;
        let parent = commit.parent.map(|id| repository.commit(id)).transpose()?;
        let paths = repository.changed(parent.map(|parent| parent.tree), commit.tree)?;
        back -= usize::from(paths.iter().any(|path| selection.has(path)));
        at = commit.parent.ok_or_else(missing)?;
    }
    if back == 0 { Ok(at) } else { Err(missing().into()) }
}

fn record(
    repository: &Repository,
    files: &Files,
    parent: Option<Id>,
    (author, why, at): (&str, &str, i64),
) -> Result<Id, HistoryError> {
    // The tree is put in by the repository, which makes it.
    let (tree, _) = objects::encode(ObjectKind::Tree, &[]);
    let (author, why) = (author.to_owned(), why.to_owned());
    repository.record(files, Commit { tree, parent, author, at, why })
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
