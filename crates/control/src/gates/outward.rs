//! Requests that are about to leave a sandbox: what is sent in their place, and whether it may be.
//!
//! Promises: what is judged, shown, digested and cleared is one value, made in the same look at the task
//! that says whose content is in it; what a task with foreign content chooses unasked is counted before
//! it leaves; what a person has decided on goes to an address that they were shown, or that was looked
//! up once after they allowed the name.

use std::net::IpAddr;
use std::time::Duration;

use cloister_policy::engine::{Cell, CellAsk, CellCall, FetchKind};
use cloister_policy::gate::{Action, Asker, Cleared, Effect, PassedBy, Surroundings};
use cloister_policy::outgoing::{Content, NotServed, Outgoing};
use cloister_policy::provenance::{Address, FREE_BITS, Flow, Mark, Sink, TaskContext};
use cloister_policy::{Class, egress};
use cloister_protocol::TaskId;
use cloister_store::approvals::{Approval, ApprovalState};
use cloister_store::audit::Entry;
use cloister_store::grants::Passing;
use cloister_store::tasks::Task;
use tokio::time::{Instant, timeout_at};

use super::asking::{Then, pass_entry, said_no};
use super::content::Live;
use super::{Judged, Wanted};
use crate::error::Fault;
use crate::gates::{GateError, Gates};
use crate::ports::{Clearance, Gated, Outward, Principal};

/// How often one request is looked at again because something changed meanwhile.
const MAX_LOOKS: u32 = 8;

/// What one look at a request came to.
enum Look {
    Go(Box<Clearance>),
    /// It must be known first where the host is.
    Where,
    Denied(String),
    Asked(Vec<Approval>),
    /// What would have let it pass has just been used up.
    Again,
}

impl Gates {
    /// Decides about one request, and holds it while people are asked.
    pub(crate) async fn gate_outward(&self, who: Principal, outward: Outward) -> Gated {
        let refused = |reason: &str| Gated::Refused { reason: reason.to_owned(), approval: None };
        let Some(task) = who.task else {
            return refused("a coordinator has no business outside");
        };
        let pace = &self.control.inner.gates.pace;
        if !pace.turn(who).await {
            return refused(
                "too much has been asked for lately; ask for less, or try again in a minute",
            );
        }
        let decided = self.decide_outward(task, &outward).await;
        if !matches!(decided, Ok(Gated::Go(_))) {
            pace.stayed(who);
        }
        match decided {
            Ok(gated) => gated,
            Err(error) => {
                tracing::error!(workspace = %who.workspace, %task, error = error.chain(), "a request could not be judged");
                refused("the request could not be judged; the log of the control plane says why")
            }
        }
    }

    async fn decide_outward(&self, id: TaskId, outward: &Outward) -> Result<Gated, GateError> {
        let hold = Duration::from_secs(self.control.inner.parts.gates.hold_s);
        let deadline = Instant::now() + hold;
        for _ in 0..MAX_LOOKS {
            // Before the look, so that no answer is missed between it and the wait.
            let mut answers = self.control.inner.gates.answers.subscribe();
            let asked = match self.look(id, outward).await? {
                Look::Go(clearance) => return Ok(Gated::Go(*clearance)),
                Look::Where => return Ok(Gated::LookUp),
                Look::Denied(reason) => return Ok(Gated::Refused { reason, approval: None }),
                Look::Again => continue,
                Look::Asked(asked) => asked,
            };
            if let Some(gated) = settled_badly(&asked) {
                return Ok(gated);
            }
            while self.any_pending(&asked).await? {
                if timeout_at(deadline, answers.changed()).await.is_err() {
                    self.control.inner.gates.note_unanswered(id);
                    return Ok(not_answered(&asked));
                }
            }
        }
        let reason = "the request was looked at again and again; try it once more".to_owned();
        Ok(Gated::Refused { reason, approval: None })
    }

    async fn look(&self, id: TaskId, outward: &Outward) -> Result<Look, GateError> {
        let prepared = {
            let mut guard = self.control.provenance().live(id).await?;
            let live = guard.get()?;
            if let Some(addresses) = &outward.addresses {
                self.control.provenance().keep_found(live, &outward.to.host, addresses).await?;
            }
            match Prepared::of(live, outward) {
                Ok(prepared) => prepared,
                Err(not_served) => return Ok(Look::Denied(not_served.to_string())),
            }
        };
        if prepared.needs_address() {
            return Ok(Look::Where);
        }
        let cell = self.cell_of_task(&prepared.task).await?;
        let mut seen = Verdicts::default();
        let wanted = prepared.secrets().into_iter().chain([prepared.request(outward)]);
        for wanted in wanted {
            if let Some(denied) = self.weigh(&cell, wanted, &mut seen).await? {
                return Ok(denied);
            }
        }
        let bits = self.choice(&prepared, &seen).await?;
        if let Some(choosing) = self.too_much(&prepared, bits).await?
            && let Some(denied) = self.weigh(&cell, choosing, &mut seen).await?
        {
            return Ok(denied);
        }
        if !seen.asked.is_empty() {
            return Ok(Look::Asked(seen.asked));
        }
        // A name that nobody but the task knew is looked up after the answer, and once.
        if seen.by_grant && prepared.found.is_none() && outward.search.is_none() {
            return Ok(Look::Where);
        }
        Ok(self.let_go(prepared, seen, bits).await?)
    }

    /// Judges one of the things that are decided by themselves: each secret on the request, the request, and more
    /// choices than are free. A look, where that settles it.
    async fn weigh(
        &self,
        cell: &Cell,
        wanted: Wanted,
        seen: &mut Verdicts,
    ) -> Result<Option<Look>, GateError> {
        let (title, plain) = (wanted.effect.title(), is_plain_read(&wanted.ask));
        let asker = &wanted.effect.asker;
        let asker = (asker.user, asker.workspace, asker.task);
        match self.judge(cell, wanted).await? {
            Judged::Denied { reason } => {
                let detail = format!("{title}: {reason}");
                self.record_denied(asker, &detail).await?;
                return Ok(Some(Look::Denied(reason)));
            }
            Judged::Asked(approval) => seen.asked.push(*approval),
            Judged::Pass(cleared) => seen.pass(*cleared, plain),
        }
        Ok(None)
    }

    /// How many bits it chooses: by itself, or among what a person has allowed more than once. Two requests that
    /// are allowed for a task spell a message out by their order.
    async fn choice(&self, prepared: &Prepared, seen: &Verdicts) -> Result<u32, Fault> {
        if prepared.sources.is_empty() || !seen.by_lasting_grant {
            return Ok(prepared.bits);
        }
        let Asker { user, workspace, .. } = prepared.asker;
        let with_www = format!("www.{}", prepared.listener);
        let names = [prepared.listener.as_str(), with_www.as_str()];
        let who = (user, workspace, prepared.task.id);
        let granted = self.control.store().approvals().lasting_grants_at(who, names).await?;
        Ok(prepared.bits.max(TaskContext::granted_choice(granted)))
    }

    /// The question whether the task may go on choosing, where it has chosen as much as is free.
    async fn too_much(&self, prepared: &Prepared, bits: u32) -> Result<Option<Wanted>, Fault> {
        if bits == 0 {
            return Ok(None);
        }
        let place = prepared.listener.as_str();
        let used = self.control.store().approvals().chosen_bits(prepared.first, place).await?;
        Ok((used.saturating_add(bits) > FREE_BITS).then(|| prepared.choosing(used)))
    }

    /// Records that it goes, and what it chose, before it does.
    async fn let_go(&self, prepared: Prepared, seen: Verdicts, bits: u32) -> Result<Look, Fault> {
        let Prepared { first, found, listener, asks, .. } = prepared;
        let (place, approvals) = (listener.as_str(), self.control.store().approvals());
        let counted = seen.choosing.is_none() && bits > 0;
        if counted && !approvals.choose(first, place, bits, FREE_BITS).await? {
            return Ok(Look::Again);
        }
        let Some(passing) = seen.passing else { return Ok(Look::Again) };
        let Ok(recorded) = approvals.pass(passing).await? else { return Ok(Look::Again) };
        if let Some(Choosing::Once) = seen.choosing {
            approvals.choose_anew(first, place).await?;
            approvals.choose(first, place, bits.min(FREE_BITS), FREE_BITS).await?;
        }
        let addresses = found.filter(|_| asks || seen.by_grant).map(|(addresses, _)| addresses);
        let is_request = |cleared: &Cleared| matches!(cleared.effect().action, Action::Request(_));
        let request = recorded.into_cleared().into_iter().find(is_request);
        let clearance = request.and_then(|request| Clearance::of(request, addresses));
        Ok(clearance.map_or(Look::Again, |clearance| Look::Go(Box::new(clearance))))
    }

    async fn any_pending(&self, asked: &[Approval]) -> Result<bool, Fault> {
        for approval in asked {
            if self.control.store().approvals().approval(approval.id).await?.state
                == ApprovalState::Pending
            {
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

/// What the judgements of one look came to.
#[derive(Default)]
struct Verdicts {
    asked: Vec<Approval>,
    passing: Option<Passing>,
    by_grant: bool,
    /// Something passes by what a person has allowed more than once.
    by_lasting_grant: bool,
    /// A person has let the task choose more than is free.
    choosing: Option<Choosing>,
}

enum Choosing {
    Once,
    ForTask,
}

impl Verdicts {
    fn pass(&mut self, cleared: Cleared, plain: bool) {
        let by = cleared.by();
        self.by_grant |= matches!(by, PassedBy::Grant { .. });
        let lasts = matches!(by, PassedBy::Grant { once: false, .. });
        if matches!(cleared.effect().action, Action::Choose { .. }) {
            self.choosing = Some(if lasts { Choosing::ForTask } else { Choosing::Once });
        } else {
            self.by_lasting_grant |= lasts;
        }
        // That a plain read passes is no news; what it says is on record all the same.
        let noted = cleared.was_asked() || !plain;
        let entries = noted.then(|| pass_entry(&cleared)).into_iter().chain(sent_entry(&cleared));
        let entries = entries.collect();
        let one = Passing::of(cleared, entries);
        self.passing = Some(match self.passing.take() {
            Some(others) => others.and(one),
            None => one,
        });
    }
}

/// The entry of a request, made before it leaves: whether or not anybody answers, it says what was sent. Secrets
/// stand in it as their handles.
fn sent_entry(cleared: &Cleared) -> Option<Entry> {
    let effect = cleared.effect();
    let Action::Request(request) = &effect.action else { return None };
    let detail = format!("{} {} {}", request.method().as_str(), request.url(), effect.digest());
    let (workspace, task) = (effect.asker.workspace, effect.asker.task);
    let host = request.to().authority();
    Some(Entry::of_cell((workspace, task), "egress.request", host).with(detail))
}

/// A request in the form in which it would leave, with what is known of its task in the same moment.
struct Prepared {
    task: Task,
    /// Whose count its choices are added to.
    first: TaskId,
    asker: Asker,
    /// What in the task may not direct it.
    sources: Vec<Mark>,
    plan_pending: bool,
    host: egress::Host,
    /// Who hears it: its choices are counted under this name.
    listener: egress::Host,
    request: Outgoing,
    kind: FetchKind,
    flow: Flow,
    /// Each secret on it, by name.
    secrets: Vec<(String, Flow)>,
    /// What it chooses if nobody is asked about it.
    bits: u32,
    /// A person is asked about it, as a rule.
    asks: bool,
    knows_host: bool,
    /// Where the host was found, and whether that is shown.
    found: Option<(Vec<IpAddr>, bool)>,
    is_search: bool,
}

impl Prepared {
    fn of(live: &Live, outward: &Outward) -> Result<Self, NotServed> {
        let Live { task, context, plan_pending, first, repositories, found, plans: _ } = live;
        let own = context.is_trusted();
        let content = if own { Content::Own } else { Content::Foreign(repositories) };
        let request = Outgoing::rebuild(&outward.draft(), content)?;
        let kind = match request.class() {
            Class::Safe => FetchKind::Reading,
            Class::Middle | Class::Destructive | Class::Outward => FetchKind::Writing,
        };
        let (flow, bits) = match (&outward.search, own) {
            (_, true) => (Flow::Run, 0),
            (Some(words), false) => {
                (context.decide(&Sink::Search { words }), context.search_choice())
            }
            (None, false) => flow_of(live, &request, kind),
        };
        let unasked = flow == Flow::Run && kind == FetchKind::Reading;
        // That a secret is on it, or not, is a choice as well.
        let borne = u32::try_from(outward.secrets.len()).unwrap_or(u32::MAX);
        let host = outward.to.host.clone();
        let secrets = outward
            .secrets
            .iter()
            .map(|name| (name.clone(), context.decide(&Sink::UseSecret { name, host: &host })));
        let secrets = secrets.collect();
        Ok(Self {
            bits: if own || !unasked { 0 } else { bits.saturating_add(borne) },
            asks: !unasked,
            knows_host: context.knows_host(&host),
            found: found.get(&host).map(|found| (found.addresses.clone(), found.shown)),
            is_search: outward.search.is_some(),
            task: task.clone(),
            first: *first,
            asker: asker(task, context),
            sources: context.untrusted(),
            plan_pending: *plan_pending,
            secrets,
            listener: host.to_bare(),
            host,
            request,
            kind,
            flow,
        })
    }

    /// Whether a person is to be shown where the host is, and nobody knows yet.
    const fn needs_address(&self) -> bool {
        self.asks && self.knows_host && self.found.is_none() && !self.is_search
    }

    fn wanted(&self, action: Action, ask: CellAsk, flow: Flow) -> Wanted {
        Wanted {
            effect: Effect {
                action,
                surroundings: Surroundings::default(),
                asker: self.asker.clone(),
            },
            ask,
            flow,
            plan_pending: self.plan_pending,
            plans: Vec::new(),
            then: Then::Request { host: self.host.to_string() },
        }
    }

    fn secrets(&self) -> Vec<Wanted> {
        let wanted = |(name, flow): &(String, Flow)| {
            let action = Action::UseSecret { name: name.clone(), host: self.host.clone() };
            self.wanted(action, CellAsk::UseSecret { secret: name.clone() }, flow.clone())
        };
        self.secrets.iter().map(wanted).collect()
    }

    /// The task has chosen as much at this host as it may by itself.
    fn choosing(&self, used: u32) -> Wanted {
        let host = &self.listener;
        let reason = format!(
            "content that is not yours is in this task, and by what it chose to ask {host} for (which pages, \
             how often) it could have told that host {used} bits of what it knows; after {FREE_BITS} you are \
             asked. Next is {}. \"Once\" lets it choose {FREE_BITS} bits more, \"for this task\" all it needs",
            self.request.url()
        );
        let flow = Flow::Ask { sources: self.sources.clone(), reason };
        let rules = egress::Decision::Allow;
        let ask = CellAsk::Fetch { host: host.clone(), kind: FetchKind::Reading, rules };
        self.wanted(Action::Choose { host: host.clone() }, ask, flow)
    }

    fn request(&self, outward: &Outward) -> Wanted {
        let ask = match &outward.search {
            Some(_) => CellAsk::Chat(CellCall::WebSearch),
            None => {
                let rules = egress::Decision::Allow;
                CellAsk::Fetch { host: self.host.clone(), kind: self.kind, rules }
            }
        };
        let action = Action::Request(Box::new(self.request.clone()));
        let mut wanted = self.wanted(action, ask, self.flow.clone());
        if let Some((addresses, true)) = &self.found {
            wanted.effect.surroundings.addresses.clone_from(addresses);
        }
        wanted
    }
}

/// Whether a request of a task with foreign content goes on unasked, and what it chooses then.
fn flow_of(live: &Live, request: &Outgoing, kind: FetchKind) -> (Flow, u32) {
    let Live { context, repositories, .. } = live;
    let asked = |reason: String| (Flow::Ask { sources: context.untrusted(), reason }, 0);
    let Some(to) = Address::parse(&request.url()) else {
        return asked("the address is one that can't be compared with what you named".to_owned());
    };
    if kind == FetchKind::Writing {
        return (context.decide(&Sink::Submit { to: &to }), 0);
    }
    if let Some(name) = request.chosen().first() {
        return asked(format!("the header {name} was put together in the task"));
    }
    let Some(read) = request.git() else {
        return (context.decide(&Sink::Read { to: &to }), context.choice(&to));
    };
    // What git asks with is always the same; the repository is what it asks about.
    let place = read.place(request.to());
    let named = [place.as_str(), place.strip_suffix(".git").unwrap_or(&place)];
    let named: Vec<Address> = named.iter().filter_map(|place| Address::parse(place)).collect();
    let Some(repository) = named.first() else {
        return asked("the address is one that can't be compared with what you named".to_owned());
    };
    let bits = context.choice(repository).saturating_add(read.bits);
    let flows = |to: &Address| context.decide(&Sink::Read { to }) == Flow::Run;
    // One that has answered this task already was decided on then.
    if repositories.knows(&place) || named.iter().any(flows) {
        return (Flow::Run, bits);
    }
    (context.decide(&Sink::Read { to: repository }), bits)
}

/// Who asks: a task, in the words that the agent gave it.
pub(super) fn asker(task: &Task, context: &TaskContext) -> Asker {
    Asker {
        user: task.person,
        workspace: task.workspace,
        chat: task.chat,
        task: Some(task.id),
        why: task.title.clone(),
        origin: context.labels().clone(),
    }
}
