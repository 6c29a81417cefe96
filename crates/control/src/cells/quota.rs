//! Quotas: overcommitted, checked, never reserved.
//!
//! Without filesystem quotas the rule is held by accounting: an executor starts with a file-size limit
//! of the room that is left, and while executors run a watcher measures their workspaces and turns
//! writes off (reads and deletes still work) or on again. Between two measurements a workspace can
//! pass its quota by what the disk takes in that time; the documentation says so.

use std::collections::BTreeSet;
use std::time::Duration;

use cloister_protocol::{ChatId, WorkspaceId};
use cloister_words::{noted, say, text_of};

use crate::cells::Cells;
use crate::crew::Rounds;
use crate::error::Fault;

const WATCH_EVERY: Duration = Duration::from_millis(500);
/// Measuring may take at most this share of the time: a large tree is measured less often.
const MEASURE_SHARE: u32 = 10;
/// What a workspace takes that hides part of it from being counted: more than anybody may.
const UNCOUNTABLE: u64 = u64::MAX;
const HIDDEN: &str = noted!(
    "Your workspace has folders that can't be counted, closed or nested too deep: writes are refused, reads and deletes still work. Delete those folders."
);

impl Cells {
    /// Makes the directories of a workspace and its chats, and gives them to the cell.
    pub(crate) async fn prepare_workspace(
        &self,
        workspace: WorkspaceId,
        chats: Vec<ChatId>,
    ) -> Result<(), Fault> {
        let failed = "the workspace could not be prepared";
        let control = self.control.clone();
        let prepared = tokio::task::spawn_blocking(move || -> Result<(), Fault> {
            let prepared = control.layout().prepare(workspace, &chats)?;
            for file in &prepared.given {
                control.backend().adopt(workspace, file).map_err(Fault::io(failed))?;
            }
            for file in &prepared.shown {
                control.backend().show(workspace, file).map_err(Fault::io(failed))?;
            }
            Ok(())
        })
        .await;
        prepared.map_err(Fault::interrupted(failed))?
    }

    /// What a workspace may still grow by; notes when that has become nothing.
    pub(crate) async fn room(&self, workspace: WorkspaceId) -> Result<u64, Fault> {
        let user = self.control.store().users().user_of(workspace).await?;
        let used = self.measure(workspace).await?;
        let over = used >= user.limits.quota_bytes;
        if over != user.over_quota {
            self.control.store().users().set_over_quota(workspace, over).await?;
            self.tell_of_quota(workspace, over, used, user.limits.quota_bytes).await?;
            tracing::info!(%workspace, used, quota = user.limits.quota_bytes, over, "the quota changed sides");
        }
        Ok(user.limits.quota_bytes.saturating_sub(used))
    }

    /// Tells the people in whose chats work goes on that writes are refused now.
    async fn tell_of_quota(
        &self,
        workspace: WorkspaceId,
        over: bool,
        used: u64,
        quota: u64,
    ) -> Result<(), Fault> {
        if !over {
            return Ok(());
        }
        let to = self.control.people().languages().language_in(workspace).await?;
        if used == UNCOUNTABLE {
            let text = text_of(to, HIDDEN).to_owned();
            return self.tell_where_work_goes_on(workspace, text).await;
        }
        let text = say!(
            to,
            "Your workspace is over its quota ({used} of {quota} MB): writes are refused, reads and deletes still work. Delete files you no longer need, or ask the operator for a larger quota.",
            used = used >> 20,
            quota = quota >> 20
        );
        self.tell_where_work_goes_on(workspace, text).await
    }

    async fn tell_where_work_goes_on(
        &self,
        workspace: WorkspaceId,
        text: String,
    ) -> Result<(), Fault> {
        let open = self.control.store().tasks().open_tasks(workspace).await?;
        let chats: BTreeSet<ChatId> = open.iter().map(|task| task.chat).collect();
        let key = format!("quota-{}", self.control.store().clock.now_ms());
        for chat in chats {
            self.control
                .notices()
                .tell_once(workspace, chat, &format!("{key}-{chat}"), text.clone())
                .await?;
        }
        Ok(())
    }

    /// What a workspace takes on disk.
    pub async fn measure(&self, workspace: WorkspaceId) -> Result<u64, Fault> {
        let failed = "the workspace could not be measured";
        let tree = self.control.layout().tree(workspace).map_err(Fault::io(failed))?;
        let layers = self.control.tasks().layers().clone();
        let both = move || Ok((tree.usage()?, layers.usage(workspace)?));
        let both = tokio::task::spawn_blocking(both).await.map_err(Fault::interrupted(failed))?;
        let (files, layers) = both.map_err(Fault::io(failed))?;
        let hidden = files.hidden || layers.hidden;
        Ok(if hidden { UNCOUNTABLE } else { files.bytes.saturating_add(layers.bytes) })
    }

    /// Watches the workspaces in which executors run.
    pub(crate) async fn watch_quotas(&self, rounds: &Rounds) {
        let mut pause = WATCH_EVERY;
        loop {
            rounds.begins(pause);
            tokio::select! {
                () = self.control.inner.stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
            let began = tokio::time::Instant::now();
            for workspace in self.control.tasks().busy_workspaces() {
                match self.room(workspace).await {
                    Ok(room) => self.allow_writes(workspace, room > 0).await,
                    Err(error) => {
                        tracing::error!(%workspace, error = error.chain(), "a quota could not be checked");
                    }
                }
            }
            pause = WATCH_EVERY.max(began.elapsed() * MEASURE_SHARE);
        }
    }

    async fn allow_writes(&self, workspace: WorkspaceId, writable: bool) {
        for sandbox in self.control.tasks().sandboxes_of(workspace) {
            sandbox.set_writable(writable).await;
        }
    }
}
