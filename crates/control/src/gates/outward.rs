//! Requests that are about to leave a sandbox.

use std::time::Duration;

use cloister_policy::engine::{CellAsk, CellCall, FetchKind};
use cloister_policy::gate::{self, Action, Asker, Effect, Surroundings};
use cloister_policy::provenance::{Address, Flow, Sink, TaskContext};
use cloister_policy::{Class, egress};
use cloister_protocol::TaskId;
use cloister_store::approvals::{Approval, ApprovalState};
use cloister_store::audit::Entry;
use cloister_store::grants::{GrantEnded, Passing};
use cloister_store::tasks::Task;
use tokio::time::{Instant, timeout_at};

use super::asking::{Then, pass_entry, said_no};
use super::content::Live;
use super::{Judged, Wanted, git, headers};
use crate::control::Control;
use crate::error::ControlError;
use crate::ports::{Gated, Outward, Principal};

/// How often one request is looked at again because something changed meanwhile.
const MAX_LOOKS: u32 = 8;

/// What one look at a request came to.
enum Look {
    Go,
    Denied(String),
    Asked(Vec<Approval>),
    /// What would have let it pass has just been used up.
    Again,
}

impl Control {
    /// Decides about one request, and holds it while people are asked.
    pub(crate) async fn gate_outward(&self, who: Principal, outward: Outward) -> Gated {
        let refused = |reason: &str| Gated::Refused { reason: reason.to_owned(), approval: None };
        let Some(task) = who.task else {
            return refused("a coordinator has no business outside");
        };
        match self.decide_outward(task, &outward).await {
            Ok(gated) => gated,
            Err(error) => {
                tracing::error!(workspace = %who.workspace, %task, error = error.chain(), "a request could not be judged");
                refused("the request could not be judged; the log of the control plane says why")
            }
        }
    }

    async fn decide_outward(&self, id: TaskId, outward: &Outward) -> Result<Gated, ControlError> {
        let hold = Duration::from_secs(self.inner.parts.gates.hold_s);
        let deadline = Instant::now() + hold;
        for _ in 0..MAX_LOOKS {
            // Before the look, so that no answer is missed between it and the wait.
            let mut answers = self.inner.gates.answers.subscribe();
            let asked = match self.look(id, outward).await? {
                Look::Go => return Ok(Gated::Go),
                Look::Denied(reason) => return Ok(Gated::Refused { reason, approval: None }),
                Look::Again => continue,
                Look::Asked(asked) => asked,
            };
            if let Some(gated) = settled_badly(&asked) {
                return Ok(gated);
            }
            while self.any_pending(&asked).await? {
                if timeout_at(deadline, answers.changed()).await.is_err() {
                    self.inner.gates.note_unanswered(id);
                    return Ok(not_answered(&asked));
                }
            }
        }
        let reason = "the request was looked at again and again; try it once more".to_owned();
        Ok(Gated::Refused { reason, approval: None })
    }

    async fn look(&self, id: TaskId, outward: &Outward) -> Result<Look, ControlError> {
        let (task, wanted) = {
            let mut guard = self.live(id).await?;
            let live = guard.get()?;
            (live.task.clone(), wanted_by(live, outward))
        };
        let cell = self.cell_of_task(&task).await?;
        let mut asked = Vec::new();
        let mut passing = Passing::default();
        for wanted in &wanted {
            match self.judge(&cell, wanted).await? {
                Judged::Denied { reason } => {
                    let entry = Entry::of_cell(task.workspace, "gate.deny", id);
                    let detail = format!("{}: {reason}", wanted.effect.title());
                    self.store().audit(entry.with(detail)).await?;
                    return Ok(Look::Denied(reason));
                }
                Judged::Asked(approval) => asked.push(*approval),
                Judged::Pass(passed) => {
                    // Plain reads are in the broker's own record.
                    let noted = passed.was_asked() || !is_plain_read(&wanted.ask);
                    let entry = noted
                        .then(|| pass_entry(task.workspace, Some(id), &wanted.effect, &passed));
                    let one = passed.into_passing(entry.into_iter().collect());
                    passing.entries.extend(one.entries);
                    passing.used_up.extend(one.used_up);
                }
            }
        }
        if !asked.is_empty() {
            return Ok(Look::Asked(asked));
        }
        if let Err(GrantEnded) = self.store().pass(passing).await? {
            return Ok(Look::Again);
        }
        Ok(Look::Go)
    }

    async fn any_pending(&self, asked: &[Approval]) -> Result<bool, ControlError> {
        for approval in asked {
            if self.store().approval(approval.id).await?.state == ApprovalState::Pending {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

const fn is_plain_read(ask: &CellAsk) -> bool {
    matches!(
        ask,
        CellAsk::Fetch { kind: FetchKind::Reading, .. } | CellAsk::Chat(CellCall::WebSearch)
    )
}

/// A refusal, if one of the answers is no.
fn settled_badly(asked: &[Approval]) -> Option<Gated> {
    let reason = asked.iter().find_map(|approval| match approval.state {
        ApprovalState::Pending | ApprovalState::Allowed => None,
        ApprovalState::Denied => Some(said_no(approval)),
        ApprovalState::Void => Some("its task has ended".to_owned()),
    });
    reason.map(|reason| Gated::Refused { reason, approval: None })
}

fn not_answered(asked: &[Approval]) -> Gated {
    let first = asked.iter().find(|approval| approval.state == ApprovalState::Pending);
    let names: Vec<String> = asked
        .iter()
        .filter(|approval| approval.state == ApprovalState::Pending)
        .map(|approval| format!("{}: {}", approval.id, approval.title))
        .collect();
    let reason = format!(
        "a person is asked first ({}). The task waits for the answer, and the request has to be made \
         again then",
        names.join("; ")
    );
    Gated::Refused { reason, approval: first.map(|approval| approval.id) }
}

/// Everything about a request that is decided by itself: each secret on it, and the request.
fn wanted_by(live: &Live, outward: &Outward) -> Vec<Wanted> {
    let Live { task, context, plan_pending, plans: _ } = live;
    let host = &outward.to.host;
    let wanted = |action, surroundings, ask, flow| Wanted {
        effect: Effect { action, surroundings, asker: asker(task, context) },
        ask,
        flow,
        plan_pending: *plan_pending,
        in_plan: false,
        then: Then::Request { host: host.to_string() },
    };
    let secrets = outward.secrets.iter().map(|name| {
        let action = Action::UseSecret { name: name.clone(), host: host.clone() };
        let flow = context.decide(&Sink::UseSecret { name, host });
        let ask = CellAsk::UseSecret { secret: name.clone() };
        wanted(action, Surroundings::default(), ask, flow)
    });
    let mut all: Vec<Wanted> = secrets.collect();
    let kind = kind_of(outward);
    let action = Action::Request {
        method: outward.method.clone(),
        destination: outward.to.clone(),
        query: outward.query.clone(),
        body: headers::comparable_body(&outward.headers, &outward.body),
    };
    let environment = headers::shown(&outward.headers);
    let surroundings = Surroundings { environment, ..Surroundings::default() };
    let (ask, flow) = match &outward.search {
        Some(words) => {
            (CellAsk::Chat(CellCall::WebSearch), context.decide(&Sink::Search { words }))
        }
        None => {
            let rules = egress::Decision::Allow;
            let ask = CellAsk::Fetch { host: host.clone(), kind, rules };
            (ask, flow_of(context, outward, kind))
        }
    };
    all.push(wanted(action, surroundings, ask, flow));
    all
}

/// Whether it only asks. What has a body says more than its address.
fn kind_of(outward: &Outward) -> FetchKind {
    let reads = gate::request_class(&outward.method, &outward.to.path) == Class::Safe;
    let speaks = !outward.body.is_empty() && outward.method != "POST";
    if reads && !speaks { FetchKind::Reading } else { FetchKind::Writing }
}

fn flow_of(context: &TaskContext, outward: &Outward, kind: FetchKind) -> Flow {
    let query = outward.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
    let to = &outward.to;
    let base = format!("{}://{}", to.scheme, to.authority());
    let address = Address::parse(&format!("{base}{}{query}", to.path));
    match (address, kind) {
        // What git asks with is always the same; the repository is what it asks about.
        (Some(to), FetchKind::Reading) => match git::repository(&base, outward) {
            Some(repository) => context.decide(&Sink::Read { to: &repository }),
            // Anything else with a body could say anything.
            None if !outward.body.is_empty() => context.decide(&Sink::Submit { to: &to }),
            None => by_headers(context, outward)
                .unwrap_or_else(|| context.decide(&Sink::Read { to: &to })),
        },
        (Some(to), FetchKind::Writing) => context.decide(&Sink::Submit { to: &to }),
        (None, _) if context.is_trusted() => Flow::Run,
        (None, _) => Flow::Ask {
            sources: context.untrusted(),
            reason: "the address is one that can't be compared with what you named".to_owned(),
        },
    }
}

/// A question, if a header could carry what the task has read.
fn by_headers(context: &TaskContext, outward: &Outward) -> Option<Flow> {
    let (name, _) = headers::telling(&outward.headers).next()?;
    (!context.is_trusted()).then(|| Flow::Ask {
        sources: context.untrusted(),
        reason: format!("the header {name} was put together in the task"),
    })
}

/// Who asks: a task, in the words that the agent gave it.
pub(super) fn asker(task: &Task, context: &TaskContext) -> Asker {
    Asker {
        user: task.person,
        workspace: task.workspace,
        task: Some(task.id),
        why: task.title.clone(),
        origin: context.labels().clone(),
    }
}
