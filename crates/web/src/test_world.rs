//! A control plane on a temporary directory, without cells, for tests of who may do what.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use axum::Router;
use cloister_control::layout::Layout;
use cloister_control::ports::{
    CellBackend, Check, Doors, Egress, LaunchError, LinkSide, ModelDefaults, OpenDoor, Principal,
    Sandbox, SandboxSpec, Upstream,
};
use cloister_control::{Actor, AuditParts, Clients, Control, Metrics, Parts, Policies};
use cloister_protocol::admin::Key;
use cloister_protocol::{
    Answer, ApprovalId, ChatId, ErrorBody, ErrorCode, TaskId, TurnId, WorkspaceId,
};
use cloister_store::approvals::{ApprovalKind, NewApproval};
use cloister_store::models::Model;
use cloister_store::secrets::MasterPlace;
use cloister_store::tasks::NewTask;
use cloister_store::users::User;
use cloister_store::{Store, StoreOptions};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::logins::LoginThrottle;
use crate::mtls::{Remote, RemoteOptions};
use crate::{Operator, State};

/// Launches nothing, opens no door, knows no model.
struct Nothing;

impl CellBackend for Nothing {
    fn name(&self) -> &'static str {
        "nothing"
    }

    fn check(&self) -> BoxFuture<'_, Vec<Check>> {
        Box::pin(async { Vec::new() })
    }

    fn sweep(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn launch(&self, spec: SandboxSpec) -> BoxFuture<'_, Result<Box<dyn Sandbox>, LaunchError>> {
        let reason = "there is no backend".to_owned();
        Box::pin(async move { Err(LaunchError::Failed { name: spec.name, reason }) })
    }

    fn adopt(&self, _: WorkspaceId, _: &std::fs::File) -> std::io::Result<()> {
        Ok(())
    }

    fn show(&self, _: WorkspaceId, _: &std::fs::File) -> std::io::Result<()> {
        Ok(())
    }
}

impl Doors for Nothing {
    fn open(
        &self,
        _: PathBuf,
        _: Principal,
        _: Egress,
        _: Arc<dyn LinkSide>,
    ) -> std::io::Result<Box<dyn OpenDoor>> {
        Err(std::io::Error::other("there are no doors"))
    }
}

/// The default policies, read once: that takes longer than all else in a world.
fn policies() -> Policies {
    static DEFAULT: OnceLock<Policies> = OnceLock::new();
    DEFAULT.get_or_init(|| Policies::new(&[]).unwrap()).clone()
}

fn no_model() -> ErrorBody {
    ErrorBody::new(ErrorCode::ModelUnavailable, "there are no models")
}

impl Upstream for Nothing {
    fn defaults(&self, _: &str) -> ModelDefaults {
        ModelDefaults { prompt_price: 1, completion_price: 1, max_output_tokens: 1 }
    }

    fn probe<'a>(
        &'a self,
        _: &'a Model,
        _: Option<&'a Key>,
    ) -> BoxFuture<'a, Result<cloister_control::ports::TriedModel, ErrorBody>> {
        Box::pin(async { Err(no_model()) })
    }

    fn model_ids<'a>(
        &'a self,
        _: &'a str,
        _: Option<&'a Key>,
    ) -> BoxFuture<'a, Result<Vec<String>, ErrorBody>> {
        Box::pin(async { Err(no_model()) })
    }
}

/// What a user has in a test: a chat, a task, a question that waits.
#[derive(Clone, Debug)]
pub(crate) struct Belongings {
    pub(crate) user: User,
    pub(crate) task: TaskId,
    pub(crate) approval: ApprovalId,
}

pub(crate) struct World {
    _dir: tempfile::TempDir,
    store: Store,
    pub(crate) state: State,
}

impl World {
    pub(crate) async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path());
        layout.create().unwrap();
        let store =
            Store::open_with(&layout.database(), StoreOptions { readers: 1 }).await.unwrap();
        let master = dir.path().join("master.key");
        store.secrets().create_master(&master).await.unwrap();
        let keys = store.secrets().unlock(&MasterPlace::file(&master)).await.unwrap();
        let remote = Remote::open(
            &dir.path().join("ca"),
            Clients::new(store.clone()),
            RemoteOptions::default(),
        )
        .unwrap();
        let control = Control::new(Parts {
            store: store.clone(),
            layout,
            cells: Default::default(),
            users: Default::default(),
            work: Default::default(),
            limits: Default::default(),
            backend: Arc::new(Nothing),
            doors: Arc::new(Nothing),
            metrics: Arc::new(Metrics::default()),
            keys,
            policies: policies(),
            audit: AuditParts { options: Default::default(), witnesses: Vec::new() },
            master: Arc::new(move || Ok((MasterPlace::file(&master), false))),
            gates: Default::default(),
            surfaces: Default::default(),
        });
        let state = State {
            control,
            operator: Operator::load(&dir.path().join("operator.token")).unwrap(),
            stop: CancellationToken::new(),
            url: "http://127.0.0.1:8484".to_owned(),
            upstream: Arc::new(Nothing),
            logins: LoginThrottle::default(),
            remote,
            surfaces: Default::default(),
        };
        Self { _dir: dir, store, state }
    }

    pub(crate) fn control(&self) -> &Control {
        &self.state.control
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Everything that is kept, as it is on disk: the same, nothing was changed.
    pub(crate) fn kept(&self) -> Vec<String> {
        let database = self.control().layout().database();
        let wal = database.with_extension("db-wal");
        let read = |file: &PathBuf| std::fs::read(file).unwrap_or_default();
        let hash =
            |bytes: Vec<u8>| cloister_store::tokens::token_hash(&String::from_utf8_lossy(&bytes));
        [database, wal].iter().map(|file| hash(read(file))).collect()
    }

    /// The admin API, without a listener that says who calls.
    pub(crate) fn admin(&self) -> Router {
        crate::admin::admin_routes(&self.state)
    }

    /// A user with something of everything.
    pub(crate) async fn add(&self, name: &str) -> Belongings {
        let limits = self.control().users().limits();
        let user = self
            .store()
            .users()
            .add_user(&Actor::Operator, &name.parse().unwrap(), limits)
            .await
            .unwrap();
        self.store()
            .chats()
            .ensure_first_chat(&Actor::person("test"), user.workspace)
            .await
            .unwrap();
        self.give_work(user.clone(), &user).await
    }

    /// A community whose member has something of everything there.
    pub(crate) async fn add_club(&self, name: &str, member: &User) -> Belongings {
        let (actor, name) = (Actor::person("root"), name.parse().unwrap());
        let club = self.control().people().add_community(&actor, &name).await.unwrap();
        self.store().chats().ensure_first_chat(&actor, club.workspace).await.unwrap();
        self.give_work(club, member).await
    }

    async fn give_work(&self, user: User, person: &User) -> Belongings {
        let work = NewTask { person: person.id, ..task_of(&user) };
        let task = self.store().tasks().delegate(work, "test", user.name.as_str()).await.unwrap();
        let question = NewApproval { user: person.id, ..question_of(&user, task.id) };
        let asked = self.store().approvals().ask(question).await.unwrap();
        Belongings { user, task: task.id, approval: asked.approval.id }
    }
}

const C1: ChatId = ChatId::from_number(1);

fn task_of(user: &User) -> NewTask {
    NewTask {
        workspace: user.workspace,
        chat: C1,
        person: user.id,
        parent: None,
        turn: TurnId::of_message(1),
        title: "a task".into(),
        instructions: String::new(),
        request: String::new(),
        files: Vec::new(),
        plan_first: false,
        budget: 1,
        hosts: None,
        secrets: None,
        marks: Vec::new(),
    }
}

fn question_of(user: &User, task: TaskId) -> NewApproval {
    NewApproval {
        workspace: user.workspace,
        chat: C1,
        task: Some(task),
        user: user.id,
        kind: ApprovalKind::Effect,
        digest: "0".repeat(64),
        class: "outward".into(),
        reason: "it sends something out".into(),
        sources: Vec::new(),
        people: 1,
        offered: vec![Answer::Allow, Answer::Deny],
        title: "a question".into(),
        text: "send it?".into(),
        describes: String::new(),
        template: None,
        host: None,
        call: None,
        proposal: None,
        raise: None,
        park: false,
    }
}
