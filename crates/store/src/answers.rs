//! Answers to approvals. Taking one, making the grant that it gives and queueing the task that waits
//! happen in one transaction, with the entry in the audit trail; so does refusing one.

use cloister_protocol::{Answer, ApprovalId, TaskId, UserId, WorkspaceId};

use crate::actor::Actor;
use crate::approvals::{self, Approval, ApprovalKind, ApprovalState};
use crate::audit;
use crate::db::Tx;
use crate::error::{StoreError, Tried};
use crate::inbox::Inbox;
use crate::raises;

/// One person's answer to what they saw.
#[derive(Clone, Debug)]
pub struct Given {
    pub workspace: WorkspaceId,
    pub id: ApprovalId,
    pub user: UserId,
    pub answer: Answer,
    /// Of what they saw, where that is known.
    pub digest: Option<String>,
}

/// What answers come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// This many people more must answer.
    Waiting {
        people: u8,
    },
    /// The narrowest of the answers.
    Allowed(Answer),
    Denied,
}

/// Why an answer counts for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerRefused {
    #[error("there is no such question here")]
    Unknown,
    #[error("it has been answered already")]
    Closed,
    #[error("nobody needs an answer to it any more")]
    Void,
    #[error("what was approved is not what is asked for now: look at it again")]
    Changed,
    #[error("this answer is not one of those that were offered")]
    NotOffered,
    #[error("you have answered; another person must answer as well")]
    SamePerson,
}

/// What became of an answer.
#[derive(Debug)]
pub enum Answered {
    Taken { approval: Box<Approval>, standing: Standing },
    Refused(AnswerRefused),
}

impl Inbox {
    /// Takes an answer. `settle` says what the answers of so many people come to.
    pub async fn answer(
        &self,
        actor: &Actor,
        given: &Given,
        settle: impl Fn(u8, &[(UserId, Answer)]) -> Standing + Send,
    ) -> Result<Answered, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let pending = match look(&mut tx, given).await? {
            Ok(pending) => pending,
            Err(refused) => {
                let entry = audit::Entry::new(actor, "approval.refused", given.id);
                audit::record(&mut tx, now, entry.with(refused).of(given.user)).await?;
                tx.commit().await.tried("refuse an answer")?;
                return Ok(Answered::Refused(refused));
            }
        };
        sqlx::query(
            "INSERT INTO approval_answers (approval_id, user_id, answer, at) VALUES (?, ?, ?, ?)",
        )
        .bind(given.id.number())
        .bind(given.user.number())
        .bind(given.answer.as_str())
        .bind(now)
        .execute(&mut *tx)
        .await
        .tried("take an answer")?;
        let mut answers: Vec<_> =
            pending.answers.iter().map(|earlier| (earlier.user, earlier.answer)).collect();
        answers.push((given.user, given.answer));
        let standing = settle(pending.people, &answers);
        match standing {
            Standing::Waiting { .. } => {}
            Standing::Allowed(narrowest) => {
                close(&mut tx, &pending, ApprovalState::Allowed, actor, now).await?;
                match &pending.raise {
                    Some(raise) => {
                        raises::raise(&mut tx, &pending, raise, actor, now).await?;
                    }
                    None => grant(&mut tx, &pending, narrowest, actor, now).await?,
                }
            }
            Standing::Denied => {
                close(&mut tx, &pending, ApprovalState::Denied, actor, now).await?;
            }
        }
        let entry = audit::Entry::new(actor, "approval.answer", given.id);
        let detail = format!("{} {}", given.answer.as_str(), pending.digest);
        audit::record(&mut tx, now, entry.with(detail).of_workspace(given.workspace)).await?;
        let approval = approvals::one(&mut tx, given.id).await?;
        tx.commit().await.tried("answer an approval")?;
        Ok(Answered::Taken { approval: Box::new(approval), standing })
    }
}

/// The approval, if this answer to it counts.
async fn look(tx: &mut Tx, given: &Given) -> Result<Result<Approval, AnswerRefused>, StoreError> {
    let approval = match approvals::one(tx, given.id).await {
        Ok(approval) if approval.workspace == given.workspace => approval,
        Ok(_) | Err(StoreError::NotFound { .. }) => return Ok(Err(AnswerRefused::Unknown)),
        Err(error) => return Err(error),
    };
    let refused = match approval.state {
        ApprovalState::Allowed | ApprovalState::Denied => Some(AnswerRefused::Closed),
        ApprovalState::Void => Some(AnswerRefused::Void),
        ApprovalState::Pending if given.digest.as_ref().is_some_and(|d| *d != approval.digest) => {
            Some(AnswerRefused::Changed)
        }
        ApprovalState::Pending if !given.answer.is_among(&approval.offered) => {
            Some(AnswerRefused::NotOffered)
        }
        ApprovalState::Pending => {
            let again = approval.answers.iter().any(|earlier| earlier.user == given.user);
            again.then_some(AnswerRefused::SamePerson)
        }
    };
    Ok(refused.map_or(Ok(approval), Err))
}

/// Settles an approval and queues the task that waits for it.
async fn close(
    tx: &mut Tx,
    approval: &Approval,
    state: ApprovalState,
    actor: &Actor,
    now: i64,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE approvals SET state = ?, answered_by = ?, answered_at = ? WHERE id = ?")
        .bind(state.as_str())
        .bind(actor.to_string())
        .bind(now)
        .bind(approval.id.number())
        .execute(&mut *tx)
        .await
        .tried("answer an approval")?;
    if let Some(task) = approval.task {
        sqlx::query("UPDATE tasks SET state = 'queued' WHERE id = ? AND state = 'waiting'")
            .bind(task.number())
            .execute(&mut *tx)
            .await
            .tried("queue a task again")?;
    }
    raises::wake(tx, approval).await
}

/// Remembers what was allowed. A plan needs no grant, and a proposal is carried out by the answer.
async fn grant(
    tx: &mut Tx,
    approval: &Approval,
    narrowest: Answer,
    actor: &Actor,
    now: i64,
) -> Result<(), StoreError> {
    let reach = match (approval.kind, narrowest) {
        (ApprovalKind::Plan, _) => return Ok(()),
        (_, Answer::AllowAlways) if approval.template.is_some() => "always",
        (ApprovalKind::Proposal, _) => return Ok(()),
        (ApprovalKind::Effect, Answer::AllowForTask) if approval.task.is_some() => "task",
        (ApprovalKind::Effect, _) => "once",
    };
    let (task, template) = match reach {
        "always" => (None, approval.template.as_ref()),
        _ => (approval.task.map(TaskId::number), None),
    };
    sqlx::query(
        "INSERT INTO grants (user_id, workspace_id, reach, task_id, digest, template, describes, approval_id, \
           given_by, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(approval.user.number())
    .bind(approval.workspace.number())
    .bind(reach)
    .bind(task)
    .bind(&approval.digest)
    .bind(template)
    .bind(&approval.describes)
    .bind(approval.id.number())
    .bind(actor.to_string())
    .bind(now)
    .execute(&mut *tx)
    .await
    .tried("remember a grant")?;
    Ok(())
}
