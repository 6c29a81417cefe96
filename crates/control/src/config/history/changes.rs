//! Changing the configuration: audited, versioned, written, in force.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use cloister_protocol::WorkspaceId;
use cloister_store::Actor;
use cloister_store::audit::Entry;

use super::snapshot::{self, POLICIES, SETTINGS};
use super::{Change, ConfigScope, Contents, History, Selection, Version};
use crate::config::{Config, ConfigError, ConfigRefusal};
use crate::control::Control;
use crate::error::Fault;
use crate::files::{FileError, RelPath};
use crate::layout::{Layout, SHARED_IDENTITY};
use crate::ports::CellBackend;

/// One change to one file of a workspace.
#[derive(Clone, Debug)]
pub struct VersionedChange {
    pub workspace: WorkspaceId,
    /// Below the workspace: one of the four Markdown files, or a file of `skills/`, `tools/` or
    /// `schedules/`; or such a file of another agent, below `agents/a2/`.
    pub path: String,
    /// The file's whole new text.
    pub text: String,
    pub why: String,
}

/// What is wrong with the text of `cloister.toml`, if something is.
pub(crate) type SettingsCheck = fn(&str) -> Result<(), String>;

/// What was put back to what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolledBack {
    /// The new version; none: everything was as it is.
    pub version: Option<String>,
    pub paths: Vec<String>,
}

impl Config {
    /// Writes a file that steers the agent, as a version of its own.
    pub async fn write_versioned(
        &self,
        actor: &Actor,
        change: VersionedChange,
    ) -> Result<(), ConfigError> {
        let VersionedChange { workspace, path, text, why } = change;
        let path = RelPath::parse(&path)?;
        if !snapshot::steers(&path) {
            let reason = "only SOUL.md, USER.md, MEMORY.md, HEARTBEAT.md and files of skills/, tools/ \
                          and schedules/ are versioned, of the workspace and of its agents";
            let path = path.as_str().to_owned();
            return Err(FileError::Refused { path, reason }.into());
        }
        if u64::try_from(text.len()).is_ok_and(|length| length > snapshot::MAX_FILE_BYTES) {
            let (path, bytes) = (path.as_str().to_owned(), text.len());
            return Err(ConfigRefusal::TooLarge { path, bytes }.into());
        }
        let path = format!("{workspace}/{}", path.as_str());
        let files = BTreeMap::from([(path, Some(text.into_bytes()))]);
        let scope = ConfigScope::Workspace(workspace);
        self.change_config(actor, scope, files, &why).await.map(drop)
    }

    /// Removes a file that steers the agent, as a version of its own.
    pub(crate) async fn remove_versioned(
        &self,
        actor: &Actor,
        (workspace, path): (WorkspaceId, &str),
        why: &str,
    ) -> Result<(), ConfigError> {
        let path = RelPath::parse(path)?;
        if !snapshot::steers(&path) {
            let reason = "it is no file that steers an agent";
            return Err(FileError::Refused { path: path.as_str().to_owned(), reason }.into());
        }
        let files = BTreeMap::from([(format!("{workspace}/{}", path.as_str()), None)]);
        let scope = ConfigScope::Workspace(workspace);
        self.change_config(actor, scope, files, why).await.map(drop)
    }

    /// Makes a change: its audit entry, its version, its files. None if nothing changes.
    pub(crate) async fn change_config(
        &self,
        actor: &Actor,
        scope: ConfigScope,
        files: Contents,
        why: &str,
    ) -> Result<Option<String>, ConfigError> {
        let paths: Vec<&str> = files.keys().map(String::as_str).collect();
        let entry = Entry::new(actor, "config.change", paths.join(" ")).with(why);
        let entry = match scope {
            ConfigScope::Platform => entry,
            ConfigScope::Workspace(workspace) => entry.of_workspace(workspace),
        };
        self.control.store().audit().record(entry).await?;
        let at = self.control.store().clock.now_ms() / 1000;
        let change = Change { scope, files, author: actor.to_string(), why: why.to_owned(), at };
        self.with_history(move |control| {
            let put =
                |files: &Contents| put_files(control.layout(), Some(control.backend()), files);
            control.inner.history.change(&change, put)
        })
        .await
    }

    /// Work on the history, which is files: beside everything else.
    async fn with_history<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Control) -> Result<T, ConfigError> + Send + 'static,
    ) -> Result<T, ConfigError> {
        let control = self.control.clone();
        let done = tokio::task::spawn_blocking(move || work(&control)).await;
        let what = "work on the history of the configuration was interrupted";
        done.map_err(Fault::interrupted(what))?
    }

    /// Forgets every version of a scope.
    pub(crate) async fn forget_versions(&self, scope: ConfigScope) -> Result<(), ConfigError> {
        self.with_history(move |control| control.inner.history.forget(scope)).await
    }

    /// Takes up what was changed by hand since the last version, in the background.
    pub(crate) fn take_up_config(&self) {
        let control = self.control.clone();
        self.control.inner.crew.go("configuration", async move {
            let at = control.store().clock.now_ms() / 1000;
            let done = control
                .config()
                .with_history(move |control| control.inner.history.catch_up(at))
                .await;
            if let Err(error) = done {
                tracing::error!(error = error.chain(), "the configuration could not be versioned");
            }
        });
    }

    /// The newest versions, newest first: of a scope or of all, of a file or folder or of everything.
    pub async fn config_log(
        &self,
        scope: Option<ConfigScope>,
        path: Option<&str>,
        count: usize,
    ) -> Result<Vec<Version>, ConfigError> {
        let selection = selection(scope, path);
        self.with_history(move |control| control.inner.history.log(&selection, count)).await
    }

    /// What is different between two versions: their names, and a unified diff.
    pub async fn config_diff(
        &self,
        scope: Option<ConfigScope>,
        path: Option<&str>,
        from: &str,
        to: Option<&str>,
    ) -> Result<(String, String, String), ConfigError> {
        let selection = selection(scope, path);
        let (from, to) = (from.to_owned(), to.map(str::to_owned));
        self.with_history(move |control| {
            control.inner.history.diff(&selection, &from, to.as_deref())
        })
        .await
    }

    /// Puts a file, a folder or all of a scope back to what it was, as a new version, and in force.
    pub async fn config_rollback(
        &self,
        actor: &Actor,
        scope: ConfigScope,
        path: Option<&str>,
        version: &str,
    ) -> Result<RolledBack, ConfigError> {
        let path = path.map(|path| scope.full(path));
        let at = self.control.store().clock.now_ms() / 1000;
        let (named, back_to) = (path.clone(), version.to_owned());
        let contents = self
            .with_history(move |control| control.inner.history.contents(scope, named, &back_to, at))
            .await?;
        if contents.is_empty() {
            return Ok(RolledBack { version: None, paths: Vec::new() });
        }
        let paths: Vec<String> = contents.keys().cloned().collect();
        self.check_before_rollback(&contents)?;
        let what = path.as_deref().unwrap_or("everything");
        let why = format!("Put {what} back to {version}");
        let version = self.change_config(actor, scope, contents, &why).await?;
        if paths.iter().any(|path| is_policy(path)) {
            self.reload_policies()?;
        }
        Ok(RolledBack { version, paths })
    }

    /// What could not be used is not put back.
    fn check_before_rollback(&self, contents: &Contents) -> Result<(), ConfigError> {
        if contents.keys().any(|path| is_policy(path)) {
            self.check_policies_with(contents)?;
        }
        let Some(settings) = contents.get(SETTINGS) else { return Ok(()) };
        let text = String::from_utf8_lossy(settings.as_deref().unwrap_or_default()).into_owned();
        let check = self.control.inner.settings_check.get().copied();
        match check.map_or(Ok(()), |check| check(&text)) {
            Ok(()) => Ok(()),
            Err(wrong) => Err(ConfigRefusal::SettingsThen { wrong }.into()),
        }
    }

    /// How `cloister.toml` is checked before it is put back; said once.
    pub fn check_settings_with(&self, check: SettingsCheck) {
        // Said twice, the first one stands.
        self.control.inner.settings_check.set(check).ok();
    }
}

/// Finishes a change that a crash interrupted. Before anything reads the configuration.
pub fn finish_interrupted_change(layout: &Layout) -> Result<(), ConfigError> {
    History::new(layout.clone()).recover(|files| put_files(layout, None, files))
}

/// Writes files of the configuration, or removes them. Without a backend, what is of a workspace is
/// shown to its cell when that is launched.
fn put_files(
    layout: &Layout,
    backend: Option<&dyn CellBackend>,
    files: &Contents,
) -> Result<(), Fault> {
    for (path, content) in files {
        match ConfigScope::of(path) {
            Some(ConfigScope::Workspace(workspace)) => {
                let show =
                    |file: &File| backend.map_or(Ok(()), |backend| backend.show(workspace, file));
                let path = RelPath::parse(path.split_once('/').map_or("", |(_, path)| path))?;
                put_workspace_file(layout, (workspace, &path), content.as_deref(), show)?;
            }
            Some(ConfigScope::Platform) => {
                let failed = format!("{path} could not be written");
                put_platform_file(&layout.root().join(path), content.as_deref())
                    .map_err(Fault::io(failed))?;
            }
            None => {}
        }
    }
    Ok(())
}

fn put_workspace_file(
    layout: &Layout,
    (workspace, path): (WorkspaceId, &RelPath),
    content: Option<&[u8]>,
    show: impl Fn(&File) -> std::io::Result<()>,
) -> Result<(), Fault> {
    let failed = "the workspace could not be opened";
    let tree = layout.tree(workspace).map_err(Fault::io(failed))?;
    let Some(bytes) = content else {
        return match tree.remove(path) {
            Ok(()) | Err(FileError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        };
    };
    let failed = format!("{} could not be shown to the cell", path.as_str());
    for folder in path.folders() {
        show(&tree.make_dir(&folder)?).map_err(Fault::io(failed.clone()))?;
    }
    show(&tree.replace(path, bytes)?).map_err(Fault::io(failed.clone()))?;
    if path.as_str() != SHARED_IDENTITY {
        return Ok(());
    }
    layout.share_identity(workspace)?.iter().try_for_each(show).map_err(Fault::io(failed))
}

fn selection(scope: Option<ConfigScope>, path: Option<&str>) -> Selection {
    let path = path.map(|path| match scope {
        Some(scope) => scope.full(path),
        None => path.trim_matches('/').to_owned(),
    });
    Selection { scope, path }
}

fn is_policy(path: &str) -> bool {
    path.strip_prefix(POLICIES).is_some_and(|rest| rest.starts_with('/'))
}

fn put_platform_file(path: &Path, content: Option<&[u8]>) -> std::io::Result<()> {
    match content {
        Some(bytes) => crate::layout::replace_private(path, bytes),
        None => match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
    }
}
