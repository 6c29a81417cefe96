//! Going on with what has been interrupted: by a kill, by a full disk, by whoever asked and went away.
//!
//! Promises: what has begun to move is moved to its end, at the next start and every half minute until it is; whose
//! files can't be moved for now is told once.

use std::sync::atomic::Ordering;
use std::time::Duration;

use cloister_protocol::TaskId;
use cloister_store::layers::LayerState;
use cloister_words::say;

use super::Layers;
use super::landing::with_lines;
use crate::crew::Rounds;
use crate::error::Fault;

const TRY_EVERY: Duration = Duration::from_secs(30);
const MOVING: [LayerState; 3] = [LayerState::Landing, LayerState::Undoing, LayerState::Redoing];

impl Layers {
    /// Goes on with everything that moves. Whose files can't be moved now waits for the next time.
    pub(crate) async fn take_up(&self) -> Result<(), Fault> {
        let left = &self.control.inner.landings.left;
        left.store(false, Ordering::Relaxed);
        for layer in self.control.store().layers().in_states(&MOVING).await? {
            if let Err(error) = self.go_on(layer.task).await {
                left.store(true, Ordering::Relaxed);
                tracing::error!(task = %layer.task, error = error.chain(), "the files of a task did not all move");
                if let Err(error) = self.tell_that_it_waits(layer.task).await {
                    tracing::error!(task = %layer.task, error = error.chain(), "it was not told that they wait");
                }
            }
        }
        Ok(())
    }

    /// Looks whether something is left to go on with.
    pub(crate) async fn keep_landings(&self, rounds: &Rounds) {
        loop {
            rounds.begins(TRY_EVERY);
            tokio::select! {
                () = self.control.inner.stop.cancelled() => return,
                () = tokio::time::sleep(TRY_EVERY) => {}
            }
            if !self.control.inner.landings.left.load(Ordering::Relaxed) {
                continue;
            }
            if let Err(error) = self.take_up().await {
                tracing::error!(error = error.chain(), "what moves could not be looked through");
            }
        }
    }

    async fn go_on(&self, task: TaskId) -> Result<(), Fault> {
        let layers = self.control.store().layers();
        let Some(layer) = layers.of(task).await? else { return Ok(()) };
        let alone = self.control.inner.landings.alone(layer.workspace).await;
        // Whoever moved it may be done by now.
        let layer = layers.of(task).await?.filter(|layer| layer.state.is_moving());
        let Some(layer) = layer else { return Ok(()) };
        self.take_up_documents(&layer).await?;
        let otherwise = self.carry_out(&layer, &alone).await?;
        if let Some(ending) = layer.ending {
            self.control.tasks().end_task(task, with_lines(ending, otherwise)).await?;
        }
        Ok(())
    }

    async fn tell_that_it_waits(&self, task: TaskId) -> Result<(), Fault> {
        let task = self.control.store().tasks().task(task).await?;
        let to = self.control.people().languages().language_in(task.workspace).await?;
        let text = say!(
            to,
            "The files of {id} can't all be moved for now, as when the disk is full. Nothing is lost: it is tried again every half minute.",
            id = task.id
        );
        let key = format!("moving-{}", task.id);
        self.control.notices().tell_once(task.workspace, task.chat, &key, text).await
    }
}
