//! A door with a user behind it, and a client that talks through it as an agent would.

use cloister_store::{Actor, BudgetState, Store};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::open_gate::OpenLink;
use bytes::Bytes;
use cloister_broker::{DoorServer, Network, Options, SystemNetwork};
use cloister_control::Books;
use cloister_control::ports::{Attached, Doors, Egress, OpenDoor, Principal};
use cloister_protocol::Level;
use cloister_protocol::link::{Downlink, Uplink};
use cloister_protocol::{ChatId, ErrorBody, ErrorEnvelope, TaskId, UserName};
use cloister_store::models::{KeyRef, Model, key_secret};
use cloister_store::secrets::NewSecret;
use cloister_store::tasks::NewTask;
use cloister_store::users::{User, UserLimits};
use cloister_testkit::{ModelServer, rows};
use cloister_vault::{Binding, Form, Keyring, Owner};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
pub(crate) const DOLLAR: i64 = 1_000_000_000;

/// Prices at which sums are easy to follow: one and two thousandths of a dollar per token.
pub(crate) const PROMPT_PRICE: i64 = 1_000;
pub(crate) const COMPLETION_PRICE: i64 = 2_000;
pub(crate) const MAX_OUTPUT: u32 = 1_000;

pub(crate) struct World {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) store: Store,
    pub(crate) user: User,
    pub(crate) keys: Keyring,
    pub(crate) doors: DoorServer,
}

/// An open door and the other side of its link.
pub(crate) struct Opened {
    pub(crate) client: Client,
    pub(crate) links: mpsc::Receiver<ControlEnd>,
    pub(crate) door: Box<dyn OpenDoor>,
}

/// What control holds of an attached link.
pub(crate) struct ControlEnd {
    pub(crate) down: mpsc::Sender<Downlink>,
    pub(crate) up: mpsc::Receiver<Uplink>,
}

fn attached(ends: &mpsc::Sender<ControlEnd>) -> Attached {
    let (down, down_end) = mpsc::channel(4);
    let (up_end, up) = mpsc::channel(4);
    ends.try_send(ControlEnd { down, up }).expect("room for a link");
    Attached { down: down_end, up: up_end }
}

/// Timeouts that a test can wait for.
pub(crate) fn quick() -> Options {
    let mut options = Options::new(PathBuf::from("/nonexistent"));
    options.upstream.connect = Duration::from_millis(500);
    options.upstream.first_byte = Some(Duration::from_millis(300));
    options.upstream.idle = Some(Duration::from_millis(300));
    options.upstream.total = Duration::from_secs(5);
    options.upstream.attempts = 2;
    options.upstream.backoff = Duration::from_millis(5);
    options.upstream.retry_after_max = Duration::from_millis(20);
    options
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(quick(), DOLLAR).await
    }

    pub(crate) async fn with(options: Options, daily_budget: i64) -> Self {
        Self::over(options, daily_budget, Arc::new(SystemNetwork::default())).await
    }

    /// With an outside of the test's own.
    pub(crate) async fn over(
        mut options: Options,
        daily_budget: i64,
        network: Arc<dyn Network>,
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let keys = dir.path().join("keys");
        std::fs::create_dir(&keys).unwrap();
        options.keys_dir = keys;
        let (store, keys) = rows::store_in(dir.path(), true).await;
        let limits = UserLimits {
            quota_bytes: 1 << 30,
            max_executors: 2,
            daily_budget,
            task_budget: daily_budget,
        };
        let name: UserName = "ada".parse().unwrap();
        let user = store.users().add_user(&Actor::Operator, &name, limits).await.unwrap();
        let doors =
            DoorServer::with_network(options, Books::new(store.clone(), keys.clone()), network)
                .unwrap();
        Self { dir, store, user, keys, doors }
    }

    /// Keeps a provider's key as the control plane does.
    pub(crate) async fn seal_key(&self, name: &str, key: &str) {
        let form =
            Form::Header { name: "authorization".to_owned(), template: "Bearer {}".to_owned() };
        let new = NewSecret {
            owner: Owner::Platform,
            name: key_secret(name).unwrap(),
            binding: Binding::new(vec!["provider.test:443".parse().unwrap()], form).unwrap(),
            value: key.to_owned().into(),
        };
        self.store.secrets().set_secret(&Actor::person("test"), &self.keys, new).await.unwrap();
    }

    /// Makes the servers the chain of both levels, named `first`, `second`, ….
    pub(crate) async fn use_models(&self, servers: &[&ModelServer]) {
        let bases: Vec<String> = servers.iter().map(|server| server.base_url()).collect();
        self.use_addresses(&bases).await;
    }

    pub(crate) async fn use_addresses(&self, bases: &[String]) {
        let mut names = Vec::new();
        for (base_url, name) in bases.iter().zip(["first", "second", "third"]) {
            let model = model(name, base_url, KeyRef::None);
            self.store.models().add_model(&Actor::person("test"), &model).await.unwrap();
            names.push(name.to_owned());
        }
        self.use_chain(&names).await;
    }

    pub(crate) async fn use_chain(&self, names: &[String]) {
        for level in Level::ALL {
            self.store.models().set_chain(&Actor::person("test"), level, names).await.unwrap();
        }
    }

    /// The door of the coordinator.
    pub(crate) fn open(&self) -> Opened {
        self.open_at(self.dir.path().join("door.sock"), None)
    }

    pub(crate) fn open_at(&self, socket: PathBuf, task: Option<TaskId>) -> Opened {
        let (user, workspace, chat) =
            (self.user.id, self.user.workspace, cloister_protocol::ChatId::from_number(1));
        let who = Principal { user, workspace, chat, task };
        let (ends, links) = mpsc::channel(64);
        let door = self
            .doors
            .open(socket.clone(), who, Egress::Closed, Arc::new(OpenLink(move || attached(&ends))))
            .unwrap();
        Opened { client: Client { socket }, links, door }
    }

    pub(crate) async fn add_task(&self, parent: Option<TaskId>, budget: i64) -> TaskId {
        let chat = (self.user.workspace, ChatId::from_number(1));
        let new = NewTask { parent, budget, ..rows::task(chat, self.user.id) };
        let request = format!("{parent:?}");
        self.store.tasks().delegate(new, "test", &request).await.unwrap().id
    }

    pub(crate) async fn budget(&self) -> BudgetState {
        self.store.tasks().budget_state(self.user.id).await.unwrap()
    }

    /// Waits until calls that nobody waits for any more are settled.
    pub(crate) async fn settled(&self) -> BudgetState {
        let waiting = async {
            loop {
                let state = self.budget().await;
                if state.reserved == 0 {
                    return state;
                }
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, waiting).await.expect("a reservation was never settled")
    }
}

pub(crate) fn model(name: &str, base_url: &str, key: KeyRef) -> Model {
    Model {
        name: name.to_owned(),
        base_url: base_url.to_owned(),
        model: format!("test/{name}"),
        key,
        prompt_price: PROMPT_PRICE,
        completion_price: COMPLETION_PRICE,
        max_output_tokens: MAX_OUTPUT,
        profile: cloister_protocol::ModelProfile::default(),
        settings: cloister_protocol::ModelSettings::default(),
    }
}

pub(crate) fn ask(text: &str) -> Value {
    json!({"stream": true, "messages": [{"role": "user", "content": text}]})
}

#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) socket: PathBuf,
}

/// An answer whose body is read piece by piece. Dropping it hangs up.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: hyper::HeaderMap,
    body: Incoming,
    _connection: JoinSet<()>,
}

impl Client {
    pub(crate) async fn chat(&self, body: &Value) -> Answer {
        self.request("POST", "/v1/chat/completions", body.to_string()).await
    }

    /// The whole text of the answer to a question.
    pub(crate) async fn said(&self, text: &str) -> String {
        let answer = self.chat(&ask(text)).await;
        assert_eq!(answer.status, 200);
        text_of(&answer.events().await)
    }

    pub(crate) async fn request(&self, method: &str, path: &str, body: impl Into<Bytes>) -> Answer {
        request_over(connect(&self.socket).await, method, path, body).await
    }
}

pub(crate) async fn request_over(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    method: &str,
    path: &str,
    body: impl Into<Bytes>,
) -> Answer {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    let mut connections = JoinSet::new();
    connections.spawn(async move { connection.await.unwrap_or_default() });
    let request = hyper::Request::builder()
        .method(method)
        .uri(path)
        .header("host", "cloister")
        .header("authorization", "Bearer forged-by-the-cell")
        .header("x-from-the-cell", "1")
        .body(Full::new(body.into()))
        .unwrap();
    let response = timeout(PATIENCE, sender.send_request(request)).await.unwrap().unwrap();
    let (head, body) = response.into_parts();
    let (status, headers) = (head.status.as_u16(), head.headers);
    Answer { status, headers, body, _connection: connections }
}

/// Dials a socket at a path of any length.
pub(crate) async fn connect(socket: &Path) -> UnixStream {
    use std::os::fd::AsRawFd;
    let dir = std::fs::File::open(socket.parent().unwrap()).unwrap();
    let name = socket.file_name().unwrap();
    let short = Path::new("/proc/self/fd").join(dir.as_raw_fd().to_string()).join(name);
    UnixStream::connect(short).await.unwrap()
}

impl Answer {
    /// The next piece as it came; `None` at the end.
    pub(crate) async fn piece(&mut self) -> Option<String> {
        let frame = timeout(PATIENCE, self.body.frame()).await.expect("no piece came")?;
        let bytes = frame.unwrap().into_data().ok()?;
        Some(String::from_utf8(bytes.to_vec()).unwrap())
    }

    pub(crate) async fn body(self) -> String {
        let bytes = timeout(PATIENCE, self.body.collect()).await.unwrap().unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    pub(crate) async fn json(self) -> Value {
        serde_json::from_str(&self.body().await).unwrap()
    }

    pub(crate) async fn error(self) -> ErrorBody {
        let body = self.body().await;
        let envelope: ErrorEnvelope = serde_json::from_str(&body).expect(&body);
        envelope.error
    }

    /// The data of every event.
    pub(crate) async fn events(self) -> Vec<String> {
        let body = self.body().await;
        body.lines().filter_map(|line| line.strip_prefix("data: ")).map(str::to_owned).collect()
    }
}

/// The text that is left after the last restart.
pub(crate) fn text_of(events: &[String]) -> String {
    let mut text = String::new();
    for event in events {
        let json: Value = serde_json::from_str(event).unwrap_or_default();
        if json["cloister"] == "restart" {
            text.clear();
        }
        text.push_str(json["choices"][0]["delta"]["content"].as_str().unwrap_or_default());
    }
    text
}
