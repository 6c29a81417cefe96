//! What people hear of, and decide about, where their agent may go.

use cloister_protocol::{AgentFrame, Update};

use crate::control::Control;
use crate::error::ControlError;
use crate::ports::{Principal, RefusedEgress};

impl Control {
    /// Tells the chat of a task that a destination was refused, once per task and destination.
    pub(crate) fn hear_of_refusal(&self, who: Principal, refused: RefusedEgress) {
        let control = self.clone();
        self.inner.tracker.spawn(async move {
            if let Err(error) = control.tell_refusal(who, refused).await {
                tracing::error!(workspace = %who.workspace, error = error.chain(), "a refusal could not be told");
            }
        });
    }

    async fn tell_refusal(
        &self,
        who: Principal,
        refused: RefusedEgress,
    ) -> Result<(), ControlError> {
        let Some(task) = who.task else { return Ok(()) };
        let task = self.store().task(task).await?;
        let key = format!("egress-{}-{}", task.id, refused.host);
        let frame = AgentFrame::Update(Update::Blocked {
            task: Some(task.id),
            host: refused.host,
            reason: refused.reason,
            allow: refused.rule.map(|rule| format!("/allow {rule}")),
        });
        let told = self.store().notify((task.workspace, task.chat), &key, &frame).await?;
        if let Some(told) = told {
            self.hub().say_stored(told);
        }
        Ok(())
    }
}
