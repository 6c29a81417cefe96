//! A gate that has nothing against anything: for whoever holds a door and has no control plane behind it. What it
//! lets through was judged all the same, by policies: there is no other way to a clearance.

use std::net::IpAddr;
use std::sync::LazyLock;

use cloister_control::ports::{
    Attached, CameIn, Clearance, Gated, LinkSide, More, NotRecorded, Outward, RefusedEgress,
};
use cloister_policy::egress::{self, Host};
use cloister_policy::engine::{
    Assignment, Cell, CellAsk, ContextLists, Engine, FetchKind, Known, Manifest, Names, Ownership,
    Part, Person, Place, Request,
};
use cloister_policy::gate::{self, Action, Asker, Decision, Effect, Surroundings};
use cloister_policy::outgoing::{Content, Outgoing};
use cloister_policy::provenance::{Flow, Labels};
use cloister_protocol::{ChatId, TaskId, UserId, WorkspaceId};
use cloister_store::OverBudget;
use futures_util::future::BoxFuture;

/// Read once: that takes longer than what is measured here.
static ENGINE: LazyLock<Option<Engine>> = LazyLock::new(|| Engine::new(&[]).ok());

/// Lets a request go as its own person's.
pub(crate) fn lets_go(outward: &Outward) -> Gated {
    match Outgoing::rebuild(&outward.draft(), Content::Own) {
        Ok(request) => lets_go_as(request, outward.addresses.clone()),
        Err(not_served) => Gated::Refused { reason: not_served.to_string(), approval: None },
    }
}

/// Lets this request go, to these addresses.
pub(crate) fn lets_go_as(request: Outgoing, addresses: Option<Vec<IpAddr>>) -> Gated {
    match try_to(request, addresses) {
        Ok(gated) => gated,
        Err(reason) => Gated::Refused { reason, approval: None },
    }
}

fn try_to(request: Outgoing, addresses: Option<Vec<IpAddr>>) -> Result<Gated, String> {
    let (user, workspace) = (UserId::from_number(1), WorkspaceId::from_number(1));
    let task = TaskId::from_number(1);
    let place = Place::workspace(workspace, Ownership::Private { owner: user });
    let role: Assignment = "member@workspace:w1".parse().map_err(|_unreadable| "no such role")?;
    let cell = Cell {
        part: Part::Executor { task, manifest: Manifest::plain() },
        person: Person { user, roles: vec![role] },
        place: place.clone(),
        chat: ChatId::from_number(1),
        lists: ContextLists::UNLIMITED,
    };
    let rules = egress::Decision::Allow;
    let host = request.to().host.clone();
    let ask = CellAsk::Fetch { host, kind: FetchKind::Reading, rules };
    let calm = Known { stopped: false, plan_pending: false, untrusted: false };
    let engine = ENGINE.as_ref().ok_or("the default policies can't be read")?;
    let verdict = engine.decide(&Request::cell(&cell, &ask, &place, calm));
    let asker = Asker {
        user,
        workspace,
        chat: cell.chat,
        task: Some(task),
        why: "a test".to_owned(),
        origin: Labels::default(),
    };
    let action = Action::Request(Box::new(request));
    let effect = Effect { action, surroundings: Surroundings::default(), asker };
    match gate::decide(&effect, &[], &verdict, &Flow::Run) {
        Decision::Run(pass) => {
            let cleared = pass.clear(effect).map_err(|changed| changed.to_string())?;
            let clearance = Clearance::of(cleared, addresses);
            clearance.map(Gated::Go).ok_or_else(|| "it is no request".to_owned())
        }
        Decision::Ask(question) => Err(question.reason),
        Decision::Deny { reason } => Err(reason),
    }
}

/// Control's side of a door that has such a gate; what comes over the link goes where the function says.
pub(crate) struct OpenLink<F>(pub(crate) F);

impl<F: Fn() -> Attached + Send + Sync + 'static> LinkSide for OpenLink<F> {
    fn attach(&self) -> Attached {
        (self.0)()
    }

    fn refused(&self, _refused: RefusedEgress) {}

    fn gate(&self, outward: Outward) -> BoxFuture<'_, Gated> {
        Box::pin(std::future::ready(lets_go(&outward)))
    }

    fn models(&self) -> BoxFuture<'_, Names> {
        Box::pin(std::future::ready(Names::All))
    }

    fn lost(&self, _host: Host) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn out_of_budget(&self, _over: OverBudget) -> BoxFuture<'_, More> {
        Box::pin(std::future::ready(More::Nobody))
    }

    fn came_in(&self, _content: CameIn) -> BoxFuture<'_, Result<(), NotRecorded>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
