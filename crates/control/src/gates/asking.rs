//! One decision: the policies' verdict, provenance and grants together, and the question to people
//! that may come of it.

use cloister_policy::engine::{Cell, CellAsk, Known, Manifest, Names, Outcome, Part, Request};
use cloister_policy::gate::{
    self, Cleared, Decision, Digest, Effect, Grant, GrantId, PassedBy, Question, Reach, Template,
};
use cloister_policy::provenance::Flow;
use cloister_protocol::{ChatId, UserId, WorkspaceId};
use cloister_store::StoreError;
use cloister_store::approvals::{Approval, ApprovalKind, NewApproval};
use cloister_store::audit::Entry;
use cloister_store::grants;
use cloister_store::tasks::Task;

use crate::error::Fault;
use crate::gates::{GateError, GateRefusal, Gates};

/// A question that is longer than this could not be shown whole, and is not put to anyone.
pub(super) const MAX_SHOWN_BYTES: usize = 512 << 10;

/// Something that a cell is about to do.
pub(crate) struct Wanted {
    pub(crate) effect: Effect,
    pub(crate) ask: CellAsk,
    pub(crate) flow: Flow,
    pub(crate) plan_pending: bool,
    /// The plans that the person has approved for it, as they were shown.
    pub(crate) plans: Vec<String>,
    /// What an answer leads to, besides a grant.
    pub(crate) then: Then,
}

/// What waits for the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// A request that a program made, to this host.
    Request { host: String },
    /// A call of the task's ledger, which is parked.
    Call { id: String },
    /// A lasting change, as JSON; a task is parked.
    Proposal { json: String },
}

/// What was decided.
pub(crate) enum Judged {
    Pass(Box<Cleared>),
    /// People are asked; or were, and have answered meanwhile.
    Asked(Box<Approval>),
    Denied {
        reason: String,
    },
}

/// The manifest of a task.
pub(crate) fn manifest_of(task: &Task) -> Manifest {
    let secrets = task.secrets.as_ref().map_or(Names::All, |names| Names::only(names.clone()));
    Manifest { secrets, ..Manifest::plain() }
}

impl Gates {
    /// A part of a cell, as the policies see it.
    pub(crate) async fn cell(
        &self,
        part: Part,
        person: UserId,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<Cell, Fault> {
        let person = self.control.people().person(person).await?;
        let place = self.control.people().place_of_chat(workspace, chat).await?;
        let lists = self.control.contexts().context_lists(workspace, chat).await?;
        Ok(Cell { part, person, place, chat, lists })
    }

    pub(crate) async fn cell_of_task(&self, task: &Task) -> Result<Cell, Fault> {
        let part = Part::Executor { task: task.id, manifest: manifest_of(task) };
        self.cell(part, task.person, task.workspace, task.chat).await
    }

    /// Decides, and asks people if they must be asked.
    pub(crate) async fn judge(&self, cell: &Cell, wanted: Wanted) -> Result<Judged, GateError> {
        // A call in the sandbox sends nothing by itself: that untrusted content is behind it makes a
        // question more careful, and is none of its own.
        let bounds = wanted.ask.bounds();
        let known = Known {
            stopped: self.control.stops().is_stopped(),
            plan_pending: wanted.plan_pending,
            untrusted: matches!(wanted.flow, Flow::Ask { .. }) && !bounds.confined(),
        };
        let request = Request::cell(cell, &wanted.ask, &cell.place, known);
        let verdict = self.control.policies().engine().decide(&request);
        // What can be taken back needs no question, whoever's content is in the task, unless a policy wants one.
        let by_policy_alone = bounds.layered() && verdict.outcome == Outcome::Allow;
        let flow = if by_policy_alone { &Flow::Run } else { &wanted.flow };
        // Most is simply allowed, and needs no look at what people have granted.
        let mut decision = gate::decide(&wanted.effect, &[], &verdict, flow);
        if let Decision::Ask(_) = decision {
            let asker = &wanted.effect.asker;
            let approvals = self.control.store().approvals();
            let grants = approvals.live_grants(asker.user, asker.workspace, asker.task).await?;
            let known: Vec<Grant> = grants.iter().filter_map(as_policy).collect();
            decision = gate::decide(&wanted.effect, &known, &verdict, flow);
        }
        let pass = match decision {
            Decision::Run(pass) => pass,
            Decision::Deny { reason } => return Ok(Judged::Denied { reason }),
            Decision::Ask(question) => match question.settled_by(&wanted.plans, &wanted.effect) {
                Ok(pass) => pass,
                Err(question) => return Ok(self.put(cell, &wanted, *question).await?),
            },
        };
        let cleared = pass.clear(wanted.effect).map_err(GateRefusal::Changed)?;
        Ok(Judged::Pass(Box::new(cleared)))
    }

    /// Puts a question to people, once.
    async fn put(&self, cell: &Cell, wanted: &Wanted, question: Question) -> Result<Judged, Fault> {
        let Question { class, people, reason, sources, rendered, offered } = question;
        if rendered.text.len() > MAX_SHOWN_BYTES {
            let reason = format!(
                "{reason}; and it is too long to be shown to a person whole: do it in smaller pieces"
            );
            return Ok(Judged::Denied { reason });
        }
        let asker = &wanted.effect.asker;
        let template = Template::of(&wanted.effect);
        let describes =
            template.as_ref().map_or_else(|| rendered.title.clone(), Template::describe);
        let template = template.and_then(|template| serde_json::to_string(&template).ok());
        let mut new = NewApproval {
            workspace: asker.workspace,
            chat: cell.chat,
            task: asker.task,
            user: asker.user,
            kind: ApprovalKind::Effect,
            digest: rendered.digest,
            class: class.as_str().to_owned(),
            reason,
            sources: sources.iter().map(ToString::to_string).collect(),
            people,
            offered,
            title: rendered.title,
            text: rendered.text,
            describes,
            template,
            host: None,
            call: None,
            proposal: None,
            raise: None,
            park: false,
        };
        match &wanted.then {
            Then::Request { host } => new.host = Some(host.clone()),
            Then::Call { id } => {
                new.call = Some(id.clone());
                new.park = true;
            }
            Then::Proposal { json } => {
                new.kind = ApprovalKind::Proposal;
                new.proposal = Some(json.clone());
                new.park = true;
            }
        }
        match self.ask_people(new).await {
            Ok(approval) => Ok(Judged::Asked(Box::new(approval))),
            Err(Fault::Store(flood @ StoreError::TooMany { .. })) => {
                Ok(Judged::Denied { reason: flood.to_string() })
            }
            Err(error) => Err(error),
        }
    }

    /// Stores a question and tells it, if it is a new one.
    pub(super) async fn ask_people(&self, new: NewApproval) -> Result<Approval, Fault> {
        let asked = self.control.store().approvals().ask(new).await?;
        if let Some(told) = asked.told {
            self.control.hub().say_stored(told);
        }
        Ok(asked.approval)
    }
}

/// What a person has said no to.
pub(super) fn said_no(approval: &Approval) -> String {
    format!("the person said no to this ({}): do not try it again", approval.id)
}

/// A stored grant as the policies know it; one that can't be read covers nothing.
fn as_policy(grant: &grants::Grant) -> Option<Grant> {
    let effect = Digest::parse(&grant.digest)?;
    let reach = match grant.reach {
        grants::Reach::Once => Reach::Once { task: grant.task, effect },
        grants::Reach::Task => Reach::Task { task: grant.task?, effect },
        grants::Reach::Always => {
            Reach::Always { template: serde_json::from_str(grant.template.as_ref()?).ok()? }
        }
    };
    Some(Grant {
        id: GrantId(grant.id),
        user: grant.user,
        workspace: grant.workspace,
        chat: grant.chat,
        reach,
        ended: false,
    })
}

/// The entry that records what passes.
pub(super) fn pass_entry(cleared: &Cleared) -> Entry {
    let effect = cleared.effect();
    let (workspace, task) = (effect.asker.workspace, effect.asker.task);
    let subject = task.map_or_else(|| workspace.to_string(), |task| task.to_string());
    let by = match cleared.by() {
        PassedBy::Grant { id: GrantId(id), .. } => format!(" by G{id}"),
        PassedBy::Plan => " by an approved plan".to_owned(),
        PassedBy::Policy => String::new(),
    };
    let detail = format!("{}{by} {}", effect.title(), effect.digest());
    Entry::of_cell((workspace, task), "gate.pass", subject).with(detail)
}
