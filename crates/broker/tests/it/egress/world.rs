//! A user with rules, a door that is open for egress, and who hears of its refusals.

use cloister_store::Actor;
use cloister_store::OverBudget;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use cloister_broker::Options;
use cloister_control::ports::{
    Attached, CameIn, ContentSource, Doors, Egress, Gated, LinkSide, More, NotRecorded, OpenDoor,
    Outward, Principal, RefusedEgress,
};
use cloister_policy::Class;
use cloister_policy::egress::Host;
use cloister_policy::engine::Names;
use cloister_policy::outgoing::git::Repositories;
use cloister_policy::outgoing::{Content, Outgoing};
use cloister_protocol::TaskId;
use cloister_store::secrets::NewSecret;
use cloister_store::users::User;
use cloister_vault::{Binding, Form, Owner, SecretValue};
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::internet::Internet;
use crate::harness::{Client, DOLLAR, PATIENCE, World, quick};
use crate::open_gate::{lets_go, lets_go_as};

pub(crate) struct Net {
    pub(crate) world: World,
    pub(crate) internet: Arc<Internet>,
}

impl Deref for Net {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

/// A door that is open for egress.
pub(crate) struct OpenNet {
    pub(crate) client: Client,
    pub(crate) told: Arc<Told>,
    pub(crate) door: Box<dyn OpenDoor>,
}

/// Control's side of a door: says what the test wants, and remembers what it heard.
#[derive(Default)]
pub(crate) struct Told {
    refusals: Mutex<Vec<RefusedEgress>>,
    gated: Mutex<Vec<Outward>>,
    came_in: Mutex<Vec<CameIn>>,
    judge: Mutex<Option<Judge>>,
    lost: Mutex<Vec<String>>,
    /// Nothing can be recorded.
    forgetful: AtomicBool,
}

/// What the gate says to a request.
type Judge = Box<dyn Fn(&Outward) -> Gated + Send>;

impl Told {
    /// The requests that the gate was asked about.
    pub(crate) fn gated(&self) -> Vec<Outward> {
        self.gated.lock().unwrap().clone()
    }

    pub(crate) fn came_in(&self) -> Vec<CameIn> {
        self.came_in.lock().unwrap().clone()
    }

    pub(crate) fn judge(&self, judge: impl Fn(&Outward) -> Gated + Send + 'static) {
        *self.judge.lock().unwrap() = Some(Box::new(judge));
    }

    pub(crate) fn forget_everything(&self) {
        self.forgetful.store(true, Ordering::SeqCst);
    }

    /// The hosts that nobody answered at, where the gate wanted them to be.
    pub(crate) fn lost(&self) -> Vec<String> {
        self.lost.lock().unwrap().clone()
    }

    /// Judges as for a task with foreign content in it: what leaves is built anew.
    pub(crate) fn be_foreign(self: &Arc<Self>) {
        let told = Arc::downgrade(self);
        self.judge(move |outward| {
            let mut known = Repositories::default();
            for CameIn { source, text, .. } in told.upgrade().unwrap().came_in() {
                if let ContentSource::Repository { place } = source {
                    known.learn(&place, &text);
                }
            }
            match Outgoing::rebuild(&outward.draft(), Content::Foreign(&known)) {
                Ok(request) if request.class() == Class::Safe && request.chosen().is_empty() => {
                    lets_go_as(request, None)
                }
                Ok(_) => Gated::Refused { reason: "it is asked about".to_owned(), approval: None },
                Err(error) => Gated::Refused { reason: error.to_string(), approval: None },
            }
        });
    }

    pub(crate) fn refusals(&self) -> Vec<RefusedEgress> {
        self.refusals.lock().unwrap().clone()
    }
}

impl LinkSide for Told {
    fn attach(&self) -> Attached {
        let (_down, down) = mpsc::channel(1);
        let (up, _up) = mpsc::channel(1);
        Attached { down, up }
    }

    fn refused(&self, refused: RefusedEgress) {
        self.refusals.lock().unwrap().push(refused);
    }

    fn gate(&self, outward: Outward) -> BoxFuture<'_, Gated> {
        let judge = self.judge.lock().unwrap();
        let gated = judge.as_ref().map_or_else(|| lets_go(&outward), |judge| judge(&outward));
        self.gated.lock().unwrap().push(outward);
        Box::pin(std::future::ready(gated))
    }

    fn models(&self) -> BoxFuture<'_, Names> {
        Box::pin(std::future::ready(Names::All))
    }

    fn lost(&self, host: Host) -> BoxFuture<'_, ()> {
        self.lost.lock().unwrap().push(host.to_string());
        Box::pin(std::future::ready(()))
    }

    fn out_of_budget(&self, _over: OverBudget) -> BoxFuture<'_, More> {
        Box::pin(std::future::ready(More::Nobody))
    }

    fn came_in(&self, content: CameIn) -> BoxFuture<'_, Result<(), NotRecorded>> {
        let lost = self.forgetful.load(Ordering::SeqCst);
        self.came_in.lock().unwrap().push(content);
        Box::pin(std::future::ready(if lost { Err(NotRecorded) } else { Ok(()) }))
    }
}

pub(crate) fn all() -> Egress {
    Egress::Open { only: None, reads_only: false, secrets: None }
}

/// Options under which a test can ask as fast as it likes.
pub(crate) fn fast() -> Options {
    let mut options = quick();
    options.door.requests_per_second = 100_000.0;
    options.door.request_burst = 100_000.0;
    options.egress.requests_per_second = 100_000.0;
    options.egress.request_burst = 100_000.0;
    options
}

impl Net {
    /// `allowed.test` and `other.test` exist; the rules are the test's.
    pub(crate) async fn new(rules: &[&str]) -> Self {
        Self::with(fast(), rules).await
    }

    pub(crate) async fn with(options: Options, rules: &[&str]) -> Self {
        let internet = Internet::new();
        for host in ["allowed.test", "sub.allowed.test", "other.test", "a.test", "b.test", "c.test"]
        {
            internet.public(host);
        }
        let network: Arc<dyn cloister_broker::Network> = Arc::clone(&internet) as _;
        let world = World::over(options, DOLLAR, network).await;
        let net = Self { world, internet };
        net.allow(rules).await;
        net
    }

    pub(crate) async fn allow(&self, rules: &[&str]) {
        for rule in rules {
            self.store
                .egress()
                .allow_egress(&Actor::person("test"), self.user.id, rule)
                .await
                .unwrap();
        }
    }

    pub(crate) async fn forbid(&self, rule: &str) {
        assert!(
            self.store
                .egress()
                .forbid_egress(&Actor::person("test"), self.user.id, rule)
                .await
                .unwrap()
        );
    }

    pub(crate) fn open(&self) -> OpenNet {
        self.open_with("door.sock", all(), None)
    }

    pub(crate) fn open_with(&self, name: &str, egress: Egress, task: Option<TaskId>) -> OpenNet {
        let socket: PathBuf = self.dir.path().join(name);
        let (user, workspace, chat) =
            (self.user.id, self.user.workspace, cloister_protocol::ChatId::from_number(1));
        let who = Principal { user, workspace, chat, task };
        let told = Arc::new(Told::default());
        let door = self.doors.open(socket.clone(), who, egress, Arc::clone(&told) as _).unwrap();
        OpenNet { client: Client { socket }, told, door }
    }

    /// A door of somebody else.
    pub(crate) fn open_as(&self, name: &str, user: &User) -> OpenNet {
        let socket: PathBuf = self.dir.path().join(name);
        let chat = cloister_protocol::ChatId::from_number(1);
        let who = Principal { user: user.id, workspace: user.workspace, chat, task: None };
        let told = Arc::new(Told::default());
        let door = self.doors.open(socket.clone(), who, all(), Arc::clone(&told) as _).unwrap();
        OpenNet { client: Client { socket }, told, door }
    }

    /// Gives the user a secret.
    pub(crate) async fn secret(&self, name: &str, hosts: &[&str], form: Form, value: &str) {
        let hosts = hosts.iter().map(|host| host.parse().unwrap()).collect();
        let new = NewSecret {
            owner: Owner::User(self.user.id),
            name: name.parse().unwrap(),
            binding: Binding::new(hosts, form).unwrap(),
            value: SecretValue::from(value.to_owned()),
        };
        self.store.secrets().set_secret(&Actor::person("test"), &self.keys, new).await.unwrap();
    }

    /// Audit entries of one action, oldest first, as (subject, detail).
    pub(crate) async fn audited(&self, action: &str) -> Vec<(String, String)> {
        let mut rows = self.store.audit().audit_tail(1_000).await.unwrap();
        rows.reverse();
        rows.into_iter()
            .filter(|row| row.action == action)
            .map(|row| (row.subject, row.detail))
            .collect()
    }

    /// From now on nothing can be put into the audit trail.
    pub(crate) fn break_audit(&self) {
        let database = rusqlite::Connection::open(self.dir.path().join("cloister.db")).unwrap();
        let broken = "CREATE TRIGGER broken BEFORE INSERT ON audit_entries BEGIN SELECT RAISE(ABORT, 'no'); END";
        database.execute_batch(broken).unwrap();
    }

    /// Waits for an audit entry that is written after the fact.
    pub(crate) async fn wait_audited(&self, action: &str) -> Vec<(String, String)> {
        let waiting = async {
            loop {
                let rows = self.audited(action).await;
                if !rows.is_empty() {
                    return rows;
                }
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, waiting).await.expect("no such audit entry came")
    }
}

impl OpenNet {
    /// The handle of a secret, as the sandbox is told.
    pub(crate) async fn handle(&self, name: &str) -> String {
        let listed = self.client.request("GET", "/secrets", "").await.json().await;
        let found = listed.as_array().unwrap().iter().find(|secret| secret["name"] == name);
        found.map(|secret| secret["handle"].as_str().unwrap().to_owned()).unwrap_or_default()
    }

    /// The refusals as the agent reads them.
    pub(crate) async fn refusals(&self, after: u64) -> Value {
        self.client
            .request("GET", &format!("/egress/refusals?after={after}"), "")
            .await
            .json()
            .await
    }
}
