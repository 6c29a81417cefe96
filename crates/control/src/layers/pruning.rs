//! How long what tasks did can be taken back, or kept.
//!
//! Promises: what is younger than the limit is removed only where a workspace has too much of it, the oldest first; it is
//! said before it goes; a layer whose files move is not touched.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cloister_protocol::{ChatId, TaskId, WorkspaceId};
use cloister_store::Actor;
use cloister_store::audit::Entry;
use cloister_store::layers::{Layer, LayerState};
use cloister_words::say;
use ref_cast::RefCast as _;

use super::Layers;
use super::going::{Fates, Keeping, Undoable, fates};
use super::place::{BEFORE, HELD, LayerPlace, UNDONE};
use crate::control::part;
use crate::crew::Rounds;
use crate::error::Fault;
use crate::files::Tree;

const LOOK_EVERY: Duration = Duration::from_secs(60 * 60);
/// As many tasks are named at once.
const MOST_NAMED: usize = 20;
/// It is looked at out of turn when so much more was taken away.
const LOOK_AFTER: u64 = 256 << 20;
/// What can be removed.
const KEPT: [LayerState; 3] = [LayerState::Landed, LayerState::Undone, LayerState::Kept];

part! {
    /// What can be taken back, and for how long.
    pub(crate) struct Pruning;
}

impl Pruning {
    pub(crate) async fn keep_layers(&self, rounds: &Rounds) {
        loop {
            rounds.begins(LOOK_EVERY);
            if let Err(error) = self.prune().await {
                tracing::error!(
                    error = error.chain(),
                    "what can be taken back was not looked through"
                );
            }
            let now = self.control.store().clock.now_ms();
            if let Err(error) = self.layers().retirement().retire_at(now).await {
                tracing::error!(
                    error = error.chain(),
                    "files that nobody uses were not all put away"
                );
            }
            tokio::select! {
                () = self.control.inner.stop.cancelled() => return,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    fn layers(&self) -> &Layers {
        Layers::ref_cast(&self.control)
    }

    /// Landings have taken so much more away: soon it is looked whether that is too much.
    pub(super) fn took(&self, workspace: WorkspaceId, bytes: u64) {
        let landing = self.control.inner.landings.of(workspace);
        let taken = landing.taken.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if taken < LOOK_AFTER {
            return;
        }
        landing.taken.store(0, Ordering::Relaxed);
        let pruning = self.clone();
        self.control.inner.crew.go("layers of a workspace", async move {
            if let Err(error) = pruning.prune().await {
                tracing::error!(
                    error = error.chain(),
                    "what can be taken back was not looked through"
                );
            }
        });
    }

    async fn prune(&self) -> Result<(), Fault> {
        self.prune_at(self.control.store().clock.now_ms()).await
    }

    /// Removes what has been kept long enough, and says what will go next.
    pub(super) async fn prune_at(&self, now: i64) -> Result<(), Fault> {
        let keeping = Keeping::of(&self.control.inner.parts.files);
        let mut by_workspace: BTreeMap<WorkspaceId, Vec<Undoable>> = BTreeMap::new();
        let told = self.control.store().task_documents().told().await?;
        for layer in self.control.store().layers().in_states(&KEPT).await? {
            let place = LayerPlace::of(self.control.layout(), layer.workspace);
            let dir = place.task(layer.task);
            let size = tokio::task::spawn_blocking(move || size_of(&dir)).await;
            let bytes =
                size.map_err(Fault::interrupted("what can be taken back was not measured"))?;
            let Layer { task, chat, changed_at: at, .. } = layer;
            let told_at = told.get(&task).copied();
            let one = Undoable { task, chat, at, bytes, told_at };
            by_workspace.entry(layer.workspace).or_default().push(one);
        }
        for (workspace, chat, task, at) in self.control.store().task_documents().tasks().await? {
            let all = by_workspace.entry(workspace).or_default();
            match all.iter_mut().find(|one| one.task == task) {
                Some(one) => one.at = one.at.max(at),
                None => {
                    let told_at = told.get(&task).copied();
                    all.push(Undoable { task, chat, at, bytes: 0, told_at });
                }
            }
        }
        for (workspace, all) in by_workspace {
            self.prune_workspace(workspace, fates(all, keeping, now), (keeping, now)).await?;
        }
        Ok(())
    }

    async fn prune_workspace(
        &self,
        workspace: WorkspaceId,
        fates: Fates,
        (keeping, now): (Keeping, i64),
    ) -> Result<(), Fault> {
        let to = self.control.people().languages().language_in(workspace).await?;
        let (days, mb) = (keeping.days(), keeping.mb());
        let Fates { goes, goes_at_once, ages, is_pushed } = fates;
        let ages_words = |tasks: &str| {
            say!(
                to,
                "What {tasks} did can't be taken back much longer: it is kept for {days} days, which are over in a day or two. /undo with its number takes it back before that.",
                tasks,
                days
            )
        };
        self.tell_of(workspace, &ages, now, ages_words).await?;
        let pushed_words = |tasks: &str| {
            say!(
                to,
                "What {tasks} did can't be taken back for much longer than an hour: there is room for {mb} MB of that, and newer tasks need it. /undo with its number takes it back before that.",
                tasks,
                mb
            )
        };
        self.tell_of(workspace, &is_pushed, now, pushed_words).await?;
        let gone_words = |tasks: &str| {
            say!(
                to,
                "What {tasks} did can't be taken back any more: it took far more room than the {mb} MB that there are for that.",
                tasks,
                mb
            )
        };
        self.tell_of(workspace, &goes_at_once, now, gone_words).await?;
        for Undoable { task, at, .. } in goes.into_iter().chain(goes_at_once) {
            let _alone = self.control.inner.landings.alone(workspace).await;
            let layer = self.control.store().layers().of(task).await?;
            // Taken back or brought back meanwhile: it begins anew.
            if layer.as_ref().is_some_and(|layer| layer.changed_at > at) {
                continue;
            }
            let entry = Entry::new(&Actor::PLATFORM, "task.forget", task);
            let entry = entry.with("what it did can't be taken back any more");
            let entry = entry.of_workspace(workspace);
            self.control.store().task_documents().forget(task, entry).await?;
            tracing::info!(%workspace, %task, "what a task did can't be taken back any more");
            if let Some(layer) = layer.filter(|layer| KEPT.contains(&layer.state)) {
                self.layers().remove(&layer).await?;
            }
        }
        Ok(())
    }

    /// Says in each chat what becomes of what its tasks did, and that it was said.
    async fn tell_of(
        &self,
        workspace: WorkspaceId,
        all: &[Undoable],
        now: i64,
        words: impl Fn(&str) -> String,
    ) -> Result<(), Fault> {
        let mut by_chat: BTreeMap<ChatId, Vec<TaskId>> = BTreeMap::new();
        for one in all {
            by_chat.entry(one.chat).or_default().push(one.task);
        }
        for (chat, mut tasks) in by_chat {
            tasks.sort_unstable();
            let mut named: Vec<String> =
                tasks.iter().take(MOST_NAMED).map(ToString::to_string).collect();
            if tasks.len() > MOST_NAMED {
                named.push("…".to_owned());
            }
            let key = format!("undo-goes-{chat}-{now}");
            let notices = self.control.notices();
            notices.tell_once(workspace, chat, &key, words(&named.join(", "))).await?;
            self.control.store().task_documents().set_told(&tasks, now).await?;
        }
        Ok(())
    }
}

/// What the folders of a landing and an undo take.
fn size_of(task: &Path) -> u64 {
    let folders =
        [BEFORE, UNDONE, HELD].into_iter().filter_map(|name| Tree::open(&task.join(name)).ok());
    folders.filter_map(|tree| tree.usage().ok()).map(|usage| usage.bytes).sum()
}

#[cfg(test)]
#[path = "pruning_tests.rs"]
mod tests;
