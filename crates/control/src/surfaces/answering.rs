//! Answers that are pressed, not typed: a reaction, a button.

use cloister_policy::engine::Ownership;
use cloister_protocol::{AgentFrame, Answer};
use cloister_store::approvals::Approval;
use cloister_store::conversations::ConversationId;

use crate::surfaces::{SurfaceError, SurfaceRefusal, Surfaces};

/// A reaction to, or a button on, a message of ours.
#[derive(Clone, Copy, Debug)]
pub struct Pressed<'a> {
    pub surface: &'a str,
    /// Whose account pressed it, as the surface vouches for.
    pub by: &'a str,
    pub conversation: ConversationId,
    /// The message, as the surface names it.
    pub message: &'a str,
    pub answer: Answer,
}

impl Surfaces {
    /// Answers the question that a message of ours asks, as the person whose account pressed it; none if the
    /// message asks nothing. Who may not answer it is refused.
    pub async fn press(&self, pressed: Pressed<'_>) -> Result<Option<Approval>, SurfaceError> {
        let told =
            self.control.store().outbox().told_by(pressed.conversation, pressed.message).await?;
        let Some((workspace, AgentFrame::Ask(ask))) = told.map(|row| (row.workspace, row.frame))
        else {
            return Ok(None);
        };
        let Some(identity) =
            self.control.store().users().identity(pressed.surface, pressed.by).await?
        else {
            return Err(SurfaceRefusal::Stranger.into());
        };
        // In a person's own conversation nobody presses for them, whatever they may do elsewhere.
        if let Ownership::Private { owner } =
            self.control.people().place(workspace).await?.ownership
            && owner != identity.user
        {
            return Err(SurfaceRefusal::AskedOfSomebodyElse.into());
        }
        let digest = Some(ask.digest.as_str()).filter(|digest| !digest.is_empty());
        let by = identity.user;
        // A touch is easily made, and by more than the person: it never stands for longer than it says.
        let taken = self
            .control
            .gates()
            .take_answer(by, workspace, ask.approval, pressed.answer, digest)
            .await?;
        Ok(Some(taken))
    }
}

#[cfg(test)]
#[path = "answering_tests.rs"]
mod tests;
