//! Files of chats that nobody has used for long: put away, so that a workspace holds what is in use.
//!
//! Owns: `<data>/retired`. Promises: no file of a chat moves in which something is under way, or that was said in, sent
//! to or worked in lately, and none that an undo could need; what is put away is on record before it moves, said in the
//! chat, and lies beside for as long as an undo would be possible.
//!
//! Times of reading that file systems keep are not relied on (many are mounted without): a chat that is used keeps its files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use cloister_protocol::admin::{RetentionView, UnusedFile};
use cloister_protocol::{ChatId, WorkspaceId};
use cloister_store::Actor;
use cloister_store::audit::Entry;
use cloister_store::layers::LayerState;
use cloister_store::retention::{RetiredFile, RetiredState};
use cloister_words::say;
use ref_cast::RefCast as _;
use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;

use super::Layers;
use super::landing::Landed;
use super::place::LayerPlace;
use crate::control::part;
use crate::error::Fault;
use crate::files::{FileError, RelPath, Tree};
use crate::layout::{FILE_FOLDERS, private_dir};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// As many files of a chat are put away in one round.
const MOST_FILES: usize = 500;
/// As many are named at once.
const MOST_NAMED: usize = 20;
/// The longest name that an agent is told.
const LONGEST_NAME: usize = 80;

/// What is to be put away.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Retiring {
    workspace: WorkspaceId,
    chat: ChatId,
    /// Below the chat, with their sizes.
    files: Vec<(String, u64)>,
}

part! {
    /// Files of chats that nobody uses.
    pub struct Retirement;
}

impl Layers {
    /// Files of chats that nobody uses.
    pub fn retirement(&self) -> &Retirement {
        Retirement::ref_cast(&self.control)
    }
}

impl Retirement {
    /// Puts away what nobody has used for long, and lets go of what was put away long ago.
    pub(crate) async fn retire_at(&self, now: i64) -> Result<(), Fault> {
        self.take_up_retired().await?;
        for retiring in self.retiring_at(now, None).await? {
            let landing = self.control.inner.landings.of(retiring.workspace);
            let _alone = landing.alone.lock().await;
            // Somebody may have come back meanwhile.
            let now_too = self.retiring_at(now, Some((retiring.workspace, retiring.chat))).await?;
            for retiring in now_too {
                self.retire(&retiring).await?;
            }
        }
        self.let_go_of_retired(now).await
    }

    /// What would be put away now of a workspace, and what was.
    pub async fn retention_of(&self, workspace: WorkspaceId) -> Result<RetentionView, Fault> {
        let now = self.control.store().clock.now_ms();
        let mut view = RetentionView::default();
        let next = self.retiring_at(now, None).await?.into_iter();
        for Retiring { chat, files, .. } in next.filter(|one| one.workspace == workspace) {
            view.next.extend(files.into_iter().map(|(path, size)| UnusedFile {
                chat,
                path,
                size,
                since: None,
                id: None,
            }));
        }
        let kept = self.control.store().retention().in_state(RetiredState::Kept).await?.into_iter();
        for file in kept.filter(|file| file.workspace == workspace) {
            let RetiredFile { id, chat, path, size, retired_at, .. } = file;
            let since = jiff::Timestamp::from_millisecond(retired_at).unwrap_or_default();
            let (since, id) = (Some(since.to_string()), Some(id));
            view.put_away.push(UnusedFile { chat, path, size, since, id });
        }
        Ok(view)
    }

    async fn retiring_at(
        &self,
        now: i64,
        only: Option<(WorkspaceId, ChatId)>,
    ) -> Result<Vec<Retiring>, Fault> {
        let Some(days) = self.control.inner.parts.files.chat_days.number() else {
            return Ok(Vec::new());
        };
        let oldest = now.saturating_sub(i64::from(days).saturating_mul(DAY_MS));
        let mut found = Vec::new();
        for (workspace, chat, used_at) in self.control.store().retention().last_uses().await? {
            if used_at > oldest || only.is_some_and(|only| only != (workspace, chat)) {
                continue;
            }
            let needed = match self.needed(workspace, chat).await {
                Ok(needed) => needed,
                Err(error) => {
                    // What it is not known of stays.
                    tracing::warn!(%workspace, %chat, error = error.chain(), "what an undo needs is not known");
                    continue;
                }
            };
            let layout = self.control.layout().clone();
            let failed = "the files of a chat could not be looked through";
            let look = move || -> Result<Vec<(String, u64)>, Fault> {
                let tree = layout.tree(workspace).map_err(Fault::io(failed))?;
                untouched(&tree, chat, oldest, &needed)
            };
            let files =
                tokio::task::spawn_blocking(look).await.map_err(Fault::interrupted(failed))??;
            if !files.is_empty() {
                found.push(Retiring { workspace, chat, files });
            }
        }
        Ok(found)
    }

    /// What an undo, or its undo, could need of a chat's files.
    async fn needed(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<BTreeSet<String>, Fault> {
        let layers = self.control.store().layers().of_workspace(workspace).await?;
        let place = LayerPlace::of(self.control.layout(), workspace);
        let mut needed = BTreeSet::new();
        for layer in layers.into_iter().filter(|layer| layer.chat == chat) {
            if !matches!(layer.state, LayerState::Landed | LayerState::Undone) {
                continue;
            }
            let failed = "what a task did could not be read";
            let landed = fs::read(place.landed(layer.task)).map_err(Fault::io(failed))?;
            let landed: Landed = serde_json::from_slice(&landed)
                .map_err(io::Error::other)
                .map_err(Fault::io(failed))?;
            needed.extend(landed.changes.iter().map(|one| format!("files/{}", one.at())));
        }
        Ok(needed)
    }

    async fn retire(&self, retiring: &Retiring) -> Result<(), Fault> {
        let (workspace, chat) = (retiring.workspace, retiring.chat);
        let retention = self.control.store().retention();
        let retired =
            retention.retire(&Actor::PLATFORM, (workspace, chat), &retiring.files).await?;
        let ids: Vec<i64> = retired.iter().map(|file| file.id).collect();
        for file in retired {
            self.move_away(file).await?;
        }
        tracing::info!(%workspace, %chat, files = ids.len(), "files that nobody used were put away");
        let to = self.control.people().languages().language_in(workspace).await?;
        let days = self.control.inner.parts.files.chat_days.number().unwrap_or_default();
        let named = retiring.files.iter().take(MOST_NAMED);
        let mut names: Vec<String> = named.map(|(path, _)| format!("`{}`", shown(path))).collect();
        if retiring.files.len() > MOST_NAMED {
            names.push("…".to_owned());
        }
        let text = say!(
            to,
            "Files of this chat that nobody has used for {days} days were put away: {files}. If one is needed, send it again, or ask whoever runs this to put it back.",
            days,
            files = names.join(", ")
        );
        let key = format!("retired-{}", ids.first().copied().unwrap_or_default());
        self.control.notices().tell_once(workspace, chat, &key, text).await
    }

    /// Goes on with what a kill has interrupted.
    async fn take_up_retired(&self) -> Result<(), Fault> {
        for file in self.control.store().retention().in_state(RetiredState::Moving).await? {
            self.move_away(file).await?;
        }
        Ok(())
    }

    async fn move_away(&self, file: RetiredFile) -> Result<(), Fault> {
        let failed = "a file could not be put away";
        let (id, to) = (file.id, self.retired(&file)?);
        let layout = self.control.layout().clone();
        let work = move || -> Result<(), Fault> {
            let tree = layout.tree(file.workspace).map_err(Fault::io(failed))?;
            let (folder, name) = parent(&tree, &file)?;
            match rustix::fs::renameat_with(
                &folder,
                name.as_str(),
                CWD,
                &to,
                RenameFlags::NOREPLACE,
            ) {
                // Gone already, or moved before a kill.
                Ok(()) | Err(Errno::NOENT | Errno::EXIST) => {}
                Err(errno) => return Err(Fault::io(failed)(errno.into())),
            }
            folder.sync_all().map_err(Fault::io(failed))
        };
        tokio::task::spawn_blocking(work).await.map_err(Fault::interrupted(failed))??;
        Ok(self.control.store().retention().set_state(id, RetiredState::Kept, None).await?)
    }

    async fn let_go_of_retired(&self, now: i64) -> Result<(), Fault> {
        let Some(days) = self.control.inner.parts.files.undo_days.number() else { return Ok(()) };
        let oldest = now.saturating_sub(i64::from(days).saturating_mul(DAY_MS));
        let retention = self.control.store().retention();
        for file in retention.in_state(RetiredState::Kept).await? {
            if file.retired_at > oldest {
                continue;
            }
            let entry = Entry::new(&Actor::PLATFORM, "file.remove", &file.path);
            let entry = entry.with(format!("{}, put away before", file.chat));
            let entry = entry.of_workspace(file.workspace);
            let at = self.retired(&file)?;
            retention.set_state(file.id, RetiredState::Gone, Some(entry)).await?;
            match fs::remove_file(at) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Fault::io("a file that was put away could not be removed")(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Where a file lies that was put away.
    fn retired(&self, file: &RetiredFile) -> Result<PathBuf, Fault> {
        let dir = self.control.layout().retired(file.workspace);
        private_dir(&dir).map_err(Fault::io("the place for files that are put away"))?;
        Ok(dir.join(file.id.to_string()))
    }

    /// What was put away of a chat, and is not there again, by its name: for its agent. A name that could be a sentence
    /// of somebody's is not told.
    pub(crate) async fn names(
        &self,
        chat: (WorkspaceId, ChatId),
    ) -> Result<BTreeMap<String, i64>, Fault> {
        let retired = self.control.store().retention().of_chat(chat).await?;
        let root = self.control.layout().workspace(chat.0).join("chats").join(chat.1.to_string());
        let mut names = BTreeMap::new();
        for file in retired.into_iter().filter(|file| is_plain(shown(&file.path))) {
            if fs::symlink_metadata(root.join(&file.path)).is_err() {
                names.entry(shown(&file.path).to_owned()).or_insert(file.retired_at);
            }
        }
        Ok(names)
    }
}

fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || ['.', '-', '_', '/'].contains(&c);
    name.chars().count() <= LONGEST_NAME && name.chars().all(plain)
}

/// As its executors know it.
fn shown(path: &str) -> &str {
    path.strip_prefix("files/").unwrap_or(path)
}

fn parent(tree: &Tree, file: &RetiredFile) -> Result<(File, String), FileError> {
    let path = RelPath::parse(&format!("chats/{}/{}", file.chat, file.path))?;
    let name = path.file_name().to_owned();
    let within = path.as_str().strip_suffix(&format!("/{name}")).unwrap_or_default();
    Ok((tree.make_dir(&RelPath::parse(within)?)?, name))
}

/// The files of a chat that nobody changed since, but for those that are needed.
fn untouched(
    tree: &Tree,
    chat: ChatId,
    oldest: i64,
    needed: &BTreeSet<String>,
) -> Result<Vec<(String, u64)>, Fault> {
    let failed = "the files of a chat could not be listed";
    let mut found = Vec::new();
    for folder in FILE_FOLDERS {
        let at = RelPath::parse(&format!("chats/{chat}/{folder}"))?;
        let Ok(inner) = tree.below(&at) else { continue };
        for path in inner.inventory().map_err(Fault::io(failed))?.files {
            let path = format!("{folder}/{path}");
            if needed.contains(&path) {
                continue;
            }
            let full = RelPath::parse(&format!("chats/{chat}/{path}"))?;
            // What can't be opened is none of those.
            let Ok(file) = tree.read(&full) else { continue };
            let about = file.metadata().map_err(Fault::io(failed))?;
            let newest = about.ctime().max(about.mtime()).saturating_mul(1000);
            if newest < oldest {
                found.push((path, about.len()));
            }
            if found.len() >= MOST_FILES {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
#[path = "retiring_tests.rs"]
mod tests;
