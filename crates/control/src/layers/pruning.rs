//! How long what tasks did can be taken back, or kept.
//!
//! Promises: what is younger than the limit is removed only where a workspace has too much of it, the oldest first; a
//! layer whose files move is not touched.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cloister_protocol::WorkspaceId;
use cloister_store::layers::{Layer, LayerState};

use super::Layers;
use super::place::{BEFORE, HELD, LayerPlace, UNDONE};
use crate::crew::Rounds;
use crate::error::Fault;
use crate::files::Tree;

const LOOK_EVERY: Duration = Duration::from_secs(60 * 60);
const MOST_AGE_MS: i64 = 30 * 24 * 60 * 60 * 1000;
/// What a workspace may take beside its files for what can be taken back.
const MOST_BYTES: u64 = 2 << 30;
/// It is looked at out of turn when so much more was taken away.
const LOOK_AFTER: u64 = 256 << 20;
/// What can be removed.
const KEPT: [LayerState; 3] = [LayerState::Landed, LayerState::Undone, LayerState::Kept];

impl Layers {
    pub(crate) async fn keep_layers(&self, rounds: &Rounds) {
        loop {
            rounds.begins(LOOK_EVERY);
            if let Err(error) = self.prune().await {
                tracing::error!(
                    error = error.chain(),
                    "what can be taken back was not looked through"
                );
            }
            tokio::select! {
                () = self.control.inner.stop.cancelled() => return,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    /// Landings have taken so much more away: soon it is looked whether that is too much.
    pub(super) fn took(&self, workspace: WorkspaceId, bytes: u64) {
        let landing = self.control.inner.landings.of(workspace);
        let taken = landing.taken.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if taken < LOOK_AFTER {
            return;
        }
        landing.taken.store(0, Ordering::Relaxed);
        let layers = self.clone();
        self.control.inner.crew.go("layers of a workspace", async move {
            if let Err(error) = layers.prune().await {
                tracing::error!(
                    error = error.chain(),
                    "what can be taken back was not looked through"
                );
            }
        });
    }

    async fn prune(&self) -> Result<(), Fault> {
        let mut by_workspace: BTreeMap<WorkspaceId, Vec<Layer>> = BTreeMap::new();
        for layer in self.control.store().layers().in_states(&KEPT).await? {
            by_workspace.entry(layer.workspace).or_default().push(layer);
        }
        for (workspace, layers) in by_workspace {
            self.prune_workspace(workspace, layers).await?;
        }
        Ok(())
    }

    async fn prune_workspace(
        &self,
        workspace: WorkspaceId,
        layers: Vec<Layer>,
    ) -> Result<(), Fault> {
        let oldest = self.control.store().clock.now_ms().saturating_sub(MOST_AGE_MS);
        let landing = self.control.inner.landings.of(workspace);
        let place = LayerPlace::of(self.control.layout(), workspace);
        let mut bytes = 0_u64;
        // The newest first.
        for layer in layers.into_iter().rev() {
            let dir = place.task(layer.task);
            let size = tokio::task::spawn_blocking(move || size_of(&dir)).await;
            let failed = "what can be taken back was not measured";
            bytes = bytes.saturating_add(size.map_err(Fault::interrupted(failed))?);
            if layer.changed_at >= oldest && bytes <= MOST_BYTES {
                continue;
            }
            let _alone = landing.alone.lock().await;
            let now = self.control.store().layers().of(layer.task).await?;
            if now.is_some_and(|now| KEPT.contains(&now.state)) {
                tracing::info!(%workspace, task = %layer.task, "what a task did can't be taken back any more");
                self.remove(&layer).await?;
            }
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
