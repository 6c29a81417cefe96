//! A bare git repository of the control plane's own, with one branch.
//!
//! Nothing in it is ever interpreted: no hooks, no settings, no attributes. We write its objects and
//! read them back; `git --git-dir <data>/history log` reads them too.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::objects::{self, Commit, Folder, Id, Node, ObjectKind};
use crate::layout::private_dir;

const BRANCH: &str = "refs/heads/main";
/// `gc` would pack the objects in a form that we do not read.
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = false\n\tbare = true\n\
                      [gc]\n\tauto = 0\n";
/// A commit whose files are being written.
const PENDING: &str = "pending";
/// The largest object that is read.
const MAX_BYTES: u64 = 32 << 20;
/// How deep folders may nest.
const MAX_DEPTH: usize = 32;
/// The fewest letters by which a version can be named.
const LEAST_PREFIX: usize = 4;

#[derive(Debug, thiserror::Error)]
pub(crate) enum HistoryError {
    #[error("the history of the configuration could not be {what}")]
    Io { what: &'static str, source: io::Error },
    #[error("the history of the configuration is damaged: {object} {reason}")]
    Damaged { object: String, reason: &'static str },
    #[error(transparent)]
    Version(#[from] VersionError),
}

/// What is named is not one version.
#[derive(Debug, thiserror::Error)]
pub enum VersionError {
    #[error("there is no version {0:?}")]
    None(String),
    #[error("{0:?} names several versions: write more of it")]
    Several(String),
}

fn io(what: &'static str) -> impl FnOnce(io::Error) -> HistoryError {
    move |source| HistoryError::Io { what, source }
}

pub(super) struct Repository {
    dir: PathBuf,
}

/// Every file of a version, by its path.
pub(super) type Files = BTreeMap<String, Id>;

impl Repository {
    /// Opens the repository, and makes it if there is none.
    pub(super) fn open(dir: PathBuf) -> Result<Self, HistoryError> {
        let repository = Self { dir };
        let made = || -> io::Result<()> {
            for part in ["", "objects", "objects/info", "objects/pack", "refs", "refs/heads"] {
                private_dir(&repository.dir.join(part))?;
            }
            for (file, text) in [("config", CONFIG), ("HEAD", &format!("ref: {BRANCH}\n"))] {
                if !repository.dir.join(file).exists() {
                    repository.write(file, text.as_bytes())?;
                }
            }
            Ok(())
        };
        made().map_err(io("made"))?;
        Ok(repository)
    }

    /// Replaces a file of ours as a whole, on disk before it returns.
    fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let target = self.dir.join(path);
        let fresh = self.dir.join("new");
        let mut options = File::options();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&fresh, &target)?;
        sync_dir(target.parent().unwrap_or(&self.dir))
    }

    fn object_path(&self, id: Id) -> PathBuf {
        let name = id.to_string();
        let (folder, file) = name.split_at_checked(2).unwrap_or((&name, ""));
        self.dir.join("objects").join(folder).join(file)
    }

    pub(super) fn put(&self, kind: ObjectKind, body: &[u8]) -> Result<Id, HistoryError> {
        let (id, whole) = objects::encode(kind, body);
        let path = self.object_path(id);
        if path.exists() {
            return Ok(id);
        }
        let relative = path.strip_prefix(&self.dir).unwrap_or(&path).to_string_lossy().into_owned();
        let written = || {
            private_dir(path.parent().unwrap_or(&self.dir))?;
            self.write(&relative, &objects::stored(&whole))
        };
        written().map_err(io("written"))?;
        Ok(id)
    }

    fn get(&self, id: Id, wanted: ObjectKind) -> Result<Vec<u8>, HistoryError> {
        let damaged = |reason| HistoryError::Damaged { object: id.to_string(), reason };
        let file = match File::open(self.object_path(id)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(damaged(
                    "is missing (packed objects are not read: `git unpack-objects`)",
                ));
            }
            Err(error) => return Err(io("read")(error)),
        };
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(io("read"))?;
        let whole = objects::unstored(&bytes).ok_or_else(|| damaged("can't be read"))?;
        let (kind, body) =
            objects::decode(id, &whole).ok_or_else(|| damaged("is not what its name says"))?;
        if kind == wanted { Ok(body) } else { Err(damaged("is of another kind")) }
    }

    pub(super) fn blob(&self, id: Id) -> Result<Vec<u8>, HistoryError> {
        self.get(id, ObjectKind::Blob)
    }

    pub(super) fn commit(&self, id: Id) -> Result<Commit, HistoryError> {
        let body = self.get(id, ObjectKind::Commit)?;
        let reason = "can't be understood";
        Commit::parse(&body).ok_or(HistoryError::Damaged { object: id.to_string(), reason })
    }

    fn folder(&self, id: Id) -> Result<Folder, HistoryError> {
        let body = self.get(id, ObjectKind::Tree)?;
        let reason = "can't be understood";
        objects::parse_tree(&body).ok_or(HistoryError::Damaged { object: id.to_string(), reason })
    }

    fn reference(&self, path: &str) -> Result<Option<Id>, HistoryError> {
        match std::fs::read_to_string(self.dir.join(path)) {
            Ok(text) => {
                let reason = "names no object";
                let damaged = || HistoryError::Damaged { object: path.to_owned(), reason };
                Id::parse(&text).map(Some).ok_or_else(damaged)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io("read")(error)),
        }
    }

    /// The newest version.
    pub(super) fn head(&self) -> Result<Option<Id>, HistoryError> {
        self.reference(BRANCH)
    }

    /// Makes this the newest version; one that was announced is thereby done.
    pub(super) fn set_head(&self, id: Id) -> Result<(), HistoryError> {
        self.write(BRANCH, format!("{id}\n").as_bytes()).map_err(io("written"))?;
        self.forget_announced()
    }

    /// Notes a version whose files are about to be written, for whoever starts after a crash.
    pub(super) fn announce(&self, id: Id) -> Result<(), HistoryError> {
        self.write(PENDING, format!("{id}\n").as_bytes()).map_err(io("written"))
    }

    pub(super) fn announced(&self) -> Result<Option<Id>, HistoryError> {
        self.reference(PENDING)
    }

    pub(super) fn forget_announced(&self) -> Result<(), HistoryError> {
        match std::fs::remove_file(self.dir.join(PENDING)) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(io("written")(error)),
        }
    }

    /// Stores a version of these files.
    pub(super) fn record(&self, files: &Files, commit: Commit) -> Result<Id, HistoryError> {
        let entries: Vec<(&str, Id)> =
            files.iter().map(|(path, id)| (path.as_str(), *id)).collect();
        let tree = self.put_tree(&entries)?;
        self.put(ObjectKind::Commit, &Commit { tree, ..commit }.body())
    }

    fn put_tree(&self, entries: &[(&str, Id)]) -> Result<Id, HistoryError> {
        let mut folder = Folder::new();
        let mut below: BTreeMap<&str, Vec<(&str, Id)>> = BTreeMap::new();
        for (path, id) in entries {
            match path.split_once('/') {
                None => {
                    folder.insert((*path).to_owned(), Node::File(*id));
                }
                Some((name, rest)) => below.entry(name).or_default().push((rest, *id)),
            }
        }
        for (name, entries) in below {
            folder.insert(name.to_owned(), Node::Folder(self.put_tree(&entries)?));
        }
        self.put(ObjectKind::Tree, &objects::tree_body(&folder))
    }

    /// Every file of a version.
    pub(super) fn files(&self, commit: Id) -> Result<Files, HistoryError> {
        let mut files = Files::new();
        self.files_below(self.commit(commit)?.tree, "", 0, &mut files)?;
        Ok(files)
    }

    fn files_below(
        &self,
        tree: Id,
        above: &str,
        depth: usize,
        files: &mut Files,
    ) -> Result<(), HistoryError> {
        if depth > MAX_DEPTH {
            let reason = "nests too deeply";
            return Err(HistoryError::Damaged { object: tree.to_string(), reason });
        }
        for (name, node) in self.folder(tree)? {
            let path = format!("{above}{name}");
            match node {
                Node::File(id) => {
                    files.insert(path, id);
                }
                Node::Folder(id) => {
                    self.files_below(id, &format!("{path}/"), depth + 1, files)?;
                }
            }
        }
        Ok(())
    }

    /// The paths that differ between two trees, the first of which may be none.
    pub(super) fn changed(&self, from: Option<Id>, to: Id) -> Result<Vec<String>, HistoryError> {
        let mut paths = Vec::new();
        self.changed_below(from.map(Node::Folder), Some(Node::Folder(to)), "", 0, &mut paths)?;
        Ok(paths)
    }

    fn changed_below(
        &self,
        from: Option<Node>,
        to: Option<Node>,
        path: &str,
        depth: usize,
        paths: &mut Vec<String>,
    ) -> Result<(), HistoryError> {
        if from == to || depth > MAX_DEPTH {
            return Ok(());
        }
        let is_file = |node: Option<Node>| matches!(node, Some(Node::File(_)));
        if is_file(from) || is_file(to) {
            paths.push(path.to_owned());
        }
        let folder = |node: Option<Node>| match node {
            Some(Node::Folder(id)) => self.folder(id),
            Some(Node::File(_)) | None => Ok(Folder::new()),
        };
        let (from, to) = (folder(from)?, folder(to)?);
        let names: std::collections::BTreeSet<_> = from.keys().chain(to.keys()).collect();
        for name in names {
            let below = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            let (from, to) = (from.get(name).copied(), to.get(name).copied());
            self.changed_below(from, to, &below, depth + 1, paths)?;
        }
        Ok(())
    }

    /// The version whose id begins like this.
    pub(super) fn find(&self, named: &str) -> Result<Id, HistoryError> {
        let missing = || VersionError::None(named.chars().take(80).collect());
        let newest = self.head()?.ok_or_else(missing)?;
        if named.len() < LEAST_PREFIX || !named.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(missing().into());
        }
        let (named, mut found) = (named.to_ascii_lowercase(), None);
        for version in self.versions(newest) {
            let (id, _) = version?;
            if id.to_string().starts_with(&named) && found.replace(id).is_some() {
                return Err(VersionError::Several(named).into());
            }
        }
        Ok(found.ok_or_else(missing)?)
    }

    /// This version and those before it, newest first.
    pub(super) fn versions(
        &self,
        newest: Id,
    ) -> impl Iterator<Item = Result<(Id, Commit), HistoryError>> + '_ {
        let mut next = Some(newest);
        std::iter::from_fn(move || {
            let id = next.take()?;
            let commit = self.commit(id);
            if let Ok(commit) = &commit {
                next = commit.parent;
            }
            Some(commit.map(|commit| (id, commit)))
        })
    }
}

fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

#[cfg(test)]
#[path = "repository_tests.rs"]
mod tests;
