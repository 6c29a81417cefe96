//! What of the data directory is versioned, read from disk.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};

use cloister_protocol::WorkspaceId;

use crate::error::Fault;
use crate::files::{FileError, RelPath, Tree};
use crate::layout::{
    AGENTS_FOLDER, IDENTITY_FILES, Layout, SHARED_IDENTITY, STEERING_FOLDERS, agent_of_document,
};

pub(super) const SETTINGS: &str = "cloister.toml";
pub(super) const POLICIES: &str = "policies";
/// A file that is larger is left alone.
pub(super) const MAX_FILE_BYTES: u64 = 1 << 20;
/// As many files of one folder are versioned.
const MAX_FILES: usize = 2000;

/// Whose configuration it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigScope {
    /// `cloister.toml` and `policies/`.
    Platform,
    /// Who an agent is, and what steers it: the files beneath `w1/`.
    Workspace(WorkspaceId),
}

impl ConfigScope {
    /// The scope that a path of the history is in.
    pub(super) fn of(path: &str) -> Option<Self> {
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        match (first, rest) {
            (SETTINGS, "") | (POLICIES, _) => Some(Self::Platform),
            (workspace, _) => workspace.parse().ok().map(Self::Workspace),
        }
    }

    pub(super) fn has(self, path: &str) -> bool {
        Self::of(path) == Some(self)
    }

    /// A path as people write it, as the history has it.
    pub(super) fn full(self, path: &str) -> String {
        let path = path.trim_matches('/');
        match self {
            Self::Platform => path.to_owned(),
            Self::Workspace(id) if Self::of(path) == Some(self) || path == id.to_string() => {
                path.to_owned()
            }
            Self::Workspace(id) => format!("{id}/{path}"),
        }
    }
}

/// Whether a file of a workspace steers the agent: only those are versioned, and only the control
/// plane writes them.
pub(super) fn steers(path: &RelPath) -> bool {
    let (agent, path) = agent_of_document(path.as_str());
    // What they read of the person is a copy.
    let copied = !agent.is_first() && path == SHARED_IDENTITY;
    let hidden = path.split('/').any(|name| name.starts_with('.'));
    let below = |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    let in_folder = STEERING_FOLDERS.into_iter().any(below);
    !hidden && !copied && (in_folder || IDENTITY_FILES.contains(&path))
}

/// Whether a file of `policies/` is one of ours: policies, or an operator's own cases.
pub(crate) fn is_policy_file(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let ours = name.ends_with(".cedar") || name.ends_with(".cases");
    ours && !name.starts_with('.') && name.len() <= 100 && name.bytes().all(plain)
}

/// The files of a scope, by their paths in the history.
pub(super) type Found = BTreeMap<String, Vec<u8>>;

pub(super) fn read(layout: &Layout, scope: ConfigScope) -> Result<Found, Fault> {
    match scope {
        ConfigScope::Platform => read_platform(layout),
        ConfigScope::Workspace(workspace) => read_workspace(layout, workspace),
    }
}

fn read_platform(layout: &Layout) -> Result<Found, Fault> {
    let failed = "the configuration could not be read";
    let mut found = Found::new();
    let settings = open_if_there(File::open(layout.root().join(SETTINGS)));
    if let Some(file) = settings.map_err(Fault::io(failed))? {
        found.extend(content(file, SETTINGS)?);
    }
    let names = match std::fs::read_dir(layout.policies()) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(Fault::io(failed)(error)),
    };
    for entry in names.take(MAX_FILES) {
        let entry = entry.map_err(Fault::io(failed))?;
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| is_policy_file(name)) else { continue };
        let file = open_if_there(File::open(entry.path())).map_err(Fault::io(failed))?;
        if let Some(file) = file {
            found.extend(content(file, &format!("{POLICIES}/{name}"))?);
        }
    }
    Ok(found)
}

fn read_workspace(layout: &Layout, workspace: WorkspaceId) -> Result<Found, Fault> {
    let mut found = Found::new();
    let failed = "the workspace could not be opened";
    let opened = open_if_there(Tree::open(&layout.workspace(workspace)));
    let Some(tree) = opened.map_err(Fault::io(failed))? else { return Ok(found) };
    let mut paths: Vec<RelPath> =
        IDENTITY_FILES.iter().map(|name| RelPath::parse(name)).collect::<Result<_, _>>()?;
    for folder in STEERING_FOLDERS.into_iter().chain([AGENTS_FOLDER]) {
        paths.extend(tree.files_below(&RelPath::parse(folder)?, MAX_FILES)?);
    }
    for path in paths.iter().filter(|path| steers(path)) {
        let file = match tree.read(path) {
            Ok(file) => file,
            // A link or a device is nothing that we wrote, and nothing that we read.
            Err(FileError::NotFound { .. } | FileError::Refused { .. }) => continue,
            Err(error) => return Err(error.into()),
        };
        found.extend(content(file, &format!("{workspace}/{}", path.as_str()))?);
    }
    Ok(found)
}

fn open_if_there<T>(opened: io::Result<T>) -> io::Result<Option<T>> {
    match opened {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn content(file: File, path: &str) -> Result<Option<(String, Vec<u8>)>, Fault> {
    let mut bytes = Vec::new();
    let read = file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(Fault::io(format!("{path} could not be read")))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_FILE_BYTES) {
        tracing::warn!(path, "a file is too large to be versioned");
        return Ok(None);
    }
    Ok(Some((path.to_owned(), bytes)))
}
