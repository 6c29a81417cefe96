//! Answers of people, on whatever surface they came, and what they have granted.

use cloister_policy::Class;
use cloister_policy::engine::{Outcome, Person, Place, Request, WorkspaceCall};
use cloister_policy::gate::{Tally, tally};
use cloister_protocol::admin::{GrantReach, GrantView};
use cloister_protocol::{AgentFrame, Answer, ApprovalId, ErrorCode, Update, UserId, WorkspaceId};
use cloister_store::answers::{Answered, Given, Standing};
use cloister_store::approvals::{Approval, ApprovalKind, ApprovalState};
use cloister_store::audit::Entry;
use cloister_store::grants::{Grant, Reach};
use cloister_store::raises::Raise;
use cloister_store::tasks::Task;
use cloister_store::{Actor, StoreError};

use crate::error::Fault;
use crate::gates::{GateError, GateRefusal, Gates};
use crate::tasks::ReachedTask;

impl Gates {
    /// Takes a person's answer to a question of this workspace; a plain yes is taken for what is
    /// expected there. `digest` is of what they saw, where their surface has kept it.
    pub async fn answer_approval(
        &self,
        by: UserId,
        workspace: WorkspaceId,
        id: ApprovalId,
        answer: Answer,
        digest: Option<&str>,
    ) -> Result<Approval, GateError> {
        let answer = match self.control.store().approvals().approval(id).await {
            Ok(approval) if approval.workspace == workspace => answer.plainly(&approval.offered),
            Ok(_) | Err(StoreError::NotFound { .. }) => answer,
            Err(error) => return Err(error.into()),
        };
        self.take_answer(by, workspace, id, answer, digest).await
    }

    /// The same, to the word: "allow" is for once.
    pub(crate) async fn take_answer(
        &self,
        by: UserId,
        workspace: WorkspaceId,
        id: ApprovalId,
        answer: Answer,
        digest: Option<&str>,
    ) -> Result<Approval, GateError> {
        let actor = self.control.accounts().acting(by).await?;
        let known = match self.control.store().approvals().approval(id).await {
            Ok(approval) if approval.workspace == workspace => Some(approval),
            Ok(_) | Err(StoreError::NotFound { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        if let Some(approval) = &known {
            self.may_answer(&actor, by, approval).await?;
        }
        let given = Given { workspace, id, user: by, answer, digest: digest.map(str::to_owned) };
        let settle = |people, answers: &[(UserId, Answer)]| match tally(people, answers) {
            Tally::Waiting { people } => Standing::Waiting { people },
            Tally::Allowed(narrowest) => Standing::Allowed(narrowest),
            Tally::Denied { stop: _ } => Standing::Denied,
        };
        match self.control.store().inbox().answer(&actor, &given, settle).await? {
            Answered::Refused(why) => Err(GateRefusal::AnswerNotTaken { approval: id, why }.into()),
            Answered::Taken { approval, standing } => {
                self.after_answer(&actor, &given, &approval, standing).await?;
                Ok(*approval)
            }
        }
    }

    /// Whether the policies let this person answer; a refusal is audited.
    async fn may_answer(
        &self,
        actor: &Actor,
        by: UserId,
        approval: &Approval,
    ) -> Result<(), GateError> {
        let person = self.control.people().person(by).await?;
        let place = self.control.people().place_of_chat(approval.workspace, approval.chat).await?;
        let request = who_answers(&person, &place, approval);
        let verdict = self.control.policies().engine().decide(&request);
        let reason = match verdict.outcome {
            Outcome::Allow => return Ok(()),
            Outcome::Ask { reason, .. } | Outcome::Deny { reason } => reason,
        };
        let entry = Entry::new(actor, "approval.refused", approval.id).with(&reason);
        self.control.store().audit().record(entry.of_workspace(approval.workspace)).await?;
        Err(GateRefusal::MayNotAnswer { approval: approval.id, reason }.into())
    }

    /// Tells who looks, wakes who waits, and carries out what the answer itself does.
    async fn after_answer(
        &self,
        actor: &Actor,
        given: &Given,
        approval: &Approval,
        standing: Standing,
    ) -> Result<(), GateError> {
        let left = match standing {
            Standing::Waiting { people } => people,
            Standing::Allowed(_) | Standing::Denied => 0,
        };
        let update = Update::Answered {
            approval: approval.id,
            by: actor.to_string(),
            answer: given.answer,
            left,
        };
        let chat = (approval.workspace, approval.chat);
        self.control.hub().say(chat.0, chat.1, AgentFrame::Update(update), None);
        if left > 0 {
            return Ok(());
        }
        if approval.kind == ApprovalKind::Proposal
            && let Some(allowed) = self.control.store().approvals().allowed(approval.id).await?
        {
            self.apply_proposal(allowed).await?;
        }
        self.control.inner.gates.answered();
        if let Some(task) = self.control.tasks().task_asking(approval).await? {
            if approval.stops_the_task() {
                self.stop_task(actor, &task).await?;
            } else {
                self.control.tasks().tell_task(task.task(), "answered");
            }
        }
        self.control.tasks().look();
        Ok(())
    }

    /// Somebody wants it stopped; that it has ended by itself meanwhile is as good.
    async fn stop_task(&self, actor: &Actor, task: &ReachedTask) -> Result<(), GateError> {
        match self.control.tasks().cancel_task(actor, task).await {
            Ok(_) => Ok(()),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends a task that somebody wants stopped, if a crash came between the answer and its end.
    pub(crate) async fn end_if_stopped(&self, task: &Task) -> Result<bool, GateError> {
        let asked = self.control.store().approvals().approvals_of(task.id).await?;
        let Some(by) = asked.iter().find(|approval| approval.stops_the_task()) else {
            return Ok(false);
        };
        let stops = by.answers.iter().find(|given| given.answer == Answer::DenyAndStop);
        let actor = Actor::person(stops.map(|given| given.by.as_str()).unwrap_or_default());
        if let Some(task) = self.control.tasks().task_asking(by).await? {
            self.stop_task(&actor, &task).await?;
        }
        Ok(true)
    }

    /// What people have answered, for an executor that starts again.
    pub(crate) async fn notes_for(&self, task: &Task) -> Result<Vec<String>, Fault> {
        let asked = self.control.store().approvals().approvals_of(task.id).await?;
        // Calls that waited are made again by themselves, or have their refusal in the ledger.
        let requests: Vec<&Approval> = asked
            .iter()
            .filter(|approval| approval.kind == ApprovalKind::Effect && approval.call.is_none())
            .filter(|approval| approval.raise.is_none())
            .collect();
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        let grants = self
            .control
            .store()
            .approvals()
            .live_grants(task.person, task.workspace, Some(task.id))
            .await?;
        let left = |id| grants.iter().any(|grant| grant.approval == id);
        let note = |approval: &&Approval| {
            let said = match approval.state {
                ApprovalState::Allowed if left(approval.id) => {
                    "was allowed: do it again now, exactly as before"
                }
                ApprovalState::Allowed | ApprovalState::Void => return None,
                ApprovalState::Denied => "was denied: do not try it again",
                ApprovalState::Pending => "has not been answered yet: go on without it if you can",
            };
            Some(format!("- {} ({}) {said}", approval.id, approval.title))
        };
        Ok(requests.iter().filter_map(note).collect())
    }

    /// What is remembered of people's answers in a workspace.
    pub async fn grants(&self, workspace: WorkspaceId) -> Result<Vec<GrantView>, Fault> {
        let grants = self.control.store().approvals().grants(workspace).await?;
        Ok(grants.into_iter().map(grant_view).collect())
    }

    /// Takes back what was granted.
    pub async fn revoke_grant(
        &self,
        by: UserId,
        workspace: WorkspaceId,
        id: u32,
    ) -> Result<(), Fault> {
        let actor = self.control.accounts().acting(by).await?;
        Ok(self.control.store().approvals().revoke_grant(&actor, workspace, id).await?)
    }
}

/// What the policies are asked about somebody's answer. A day's budget is given by whoever may change
/// budgets; everything else is answered by those whose agent asks.
pub(super) fn who_answers(person: &Person, place: &Place, approval: &Approval) -> Request {
    if let Some(Raise::Day { .. }) = approval.raise {
        return Request::workspace(person, WorkspaceCall::ChangeBudget, place);
    }
    // What can't be read is the most careful one.
    let class: Class = approval.class.parse().unwrap_or(Class::Outward);
    Request::answer(person, place, approval.chat, class, approval.user == person.user)
}

fn grant_view(grant: Grant) -> GrantView {
    let since = jiff::Timestamp::from_millisecond(grant.created_at);
    GrantView {
        id: grant.id,
        describes: grant.describes,
        reach: match grant.reach {
            Reach::Once => GrantReach::Once,
            Reach::Task => GrantReach::Task,
            Reach::Always => GrantReach::Always,
        },
        chat: grant.chat,
        task: grant.task,
        given_by: grant.given_by,
        since: since.map_or_else(|_out_of_range| grant.created_at.to_string(), |t| t.to_string()),
        approval: grant.approval,
    }
}
