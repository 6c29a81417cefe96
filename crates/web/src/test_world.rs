//! A control plane on a temporary directory, without cells, for tests of who may do what.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use cloister_control::ports::{ModelDefaults, Upstream};
use cloister_control::{Actor, Clients, Control};
use cloister_protocol::admin::Key;
use cloister_protocol::{ApprovalId, ChatId, ErrorBody, ErrorCode, TaskId};
use cloister_store::Store;
use cloister_store::models::Model;
use cloister_store::users::User;
use cloister_testkit::rows;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::logins::LoginThrottle;
use crate::mtls::{Remote, RemoteOptions};
use crate::{Operator, State};

cloister_testkit::control_plane_without_cells!(cloister_control);

fn no_model() -> ErrorBody {
    ErrorBody::new(ErrorCode::ModelUnavailable, "there are no models")
}

/// It knows no model.
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
        let parts = parts_in(dir.path(), true).await;
        let store = parts.store.clone();
        let remote = Remote::open(
            &dir.path().join("ca"),
            Clients::new(store.clone()),
            RemoteOptions::default(),
        )
        .unwrap();
        let control = Control::new(parts);
        let state = State {
            control,
            operator: Operator::load(&dir.path().join("operator.token")).unwrap(),
            stop: CancellationToken::new(),
            url: "http://127.0.0.1:8484".to_owned(),
            upstream: Arc::new(Nothing),
            logins: LoginThrottle::default(),
            pace: Default::default(),
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
        let chat = (user.workspace, ChatId::from_number(1));
        let work = rows::task(chat, person.id);
        let task = self.store().tasks().delegate(work, "test", user.name.as_str()).await.unwrap();
        let question = rows::question(chat, person.id, Some(task.id));
        let asked = self.store().approvals().ask(question).await.unwrap();
        Belongings { user, task: task.id, approval: asked.approval.id }
    }
}
