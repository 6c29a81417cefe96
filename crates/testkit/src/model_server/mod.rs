//! A provider in the OpenAI wire format that answers by script.
//!
//! Replies come from a queue (each used once), then from rules in order, then from a default rule
//! that echoes. Every request is kept, and checked against the wire format: a test asserts that
//! there were no violations. The same seed gives the same bytes.

mod default_rule;
mod received;
mod reply;
mod serve;
mod verify;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

pub use received::Received;
pub use reply::{Matcher, Reply, Rule, Steps, ToolCall};

type RuleFn = Box<dyn Fn(&Received) -> Option<Reply> + Send + Sync>;

/// Sets up a server before it starts.
pub struct ModelServerBuilder {
    port: u16,
    seed: u64,
    key: ExpectedKey,
    rules: Vec<RuleFn>,
    kept: usize,
    listed: Value,
}

/// What the Authorization header must say.
#[derive(Clone, Debug)]
enum ExpectedKey {
    None,
    Exactly(String),
    Any,
}

impl ModelServerBuilder {
    /// A fixed port instead of any free one.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Decides how answers are cut into pieces.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Every request must carry this key; without it none may carry one.
    pub fn key(mut self, key: &str) -> Self {
        self.key = ExpectedKey::Exactly(key.to_owned());
        self
    }

    /// Requests may carry any key, or none.
    pub fn any_key(mut self) -> Self {
        self.key = ExpectedKey::Any;
        self
    }

    /// Keeps only the newest requests, for runs that are too long to keep them all.
    pub fn keep(mut self, newest: usize) -> Self {
        self.kept = newest;
        self
    }

    /// What its list of models says of the one that it has.
    pub fn listed(mut self, model: Value) -> Self {
        self.listed = model;
        self
    }

    /// Answers what matches with this reply, each time.
    pub fn when(self, matcher: Matcher, reply: Reply) -> Self {
        self.rule(move |received| matcher.matches(received).then(|| reply.clone()))
    }

    /// Answers what the rule has a reply for.
    pub fn rule(
        mut self,
        rule: impl Fn(&Received) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        self.rules.push(Box::new(rule));
        self
    }

    pub async fn start(self) -> io::Result<ModelServer> {
        let listener = TcpListener::bind(("127.0.0.1", self.port)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            seed: self.seed,
            key: self.key,
            kept: self.kept,
            listed: self.listed,
            state: Mutex::new(State { rules: self.rules, ..State::default() }),
            changed: watch::channel(()).0,
        });
        let mut serving = JoinSet::new();
        serving.spawn(serve::serve(listener, Arc::clone(&shared)));
        Ok(ModelServer { address, shared, _serving: serving })
    }
}

/// A running server; dropping it stops it.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    _serving: JoinSet<()>,
}

struct Shared {
    seed: u64,
    key: ExpectedKey,
    kept: usize,
    listed: Value,
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Reply>,
    rules: Vec<RuleFn>,
    /// How many requests came; the newest of them are in `received`.
    count: usize,
    received: VecDeque<Received>,
    violations: Vec<String>,
    /// Answers under way, those that were sent whole, and those whose reader went away.
    open: usize,
    completed: usize,
    abandoned: usize,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.state());
        self.changed.send_replace(());
        result
    }
}

impl ModelServer {
    pub fn builder() -> ModelServerBuilder {
        let (key, rules) = (ExpectedKey::None, Vec::new());
        let listed = json!({"id": "test-model", "object": "model"});
        ModelServerBuilder { port: 0, seed: 0, key, rules, kept: usize::MAX, listed }
    }

    /// A server with nothing but the default rule.
    pub async fn start() -> io::Result<Self> {
        Self::builder().start().await
    }

    /// What `model add --base-url` takes.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers the next request that no earlier queued reply answers.
    pub fn enqueue(&self, reply: Reply) {
        self.shared.change(|state| state.queue.push_back(reply));
    }

    /// Adds a rule after those that are there.
    pub fn when(&self, matcher: Matcher, reply: Reply) {
        let rule = move |received: &Received| matcher.matches(received).then(|| reply.clone());
        self.shared.change(|state| state.rules.push(Box::new(rule)));
    }

    /// Every request that is kept, in the order they came.
    pub fn requests(&self) -> Vec<Received> {
        self.shared.state().received.iter().cloned().collect()
    }

    pub fn request_count(&self) -> usize {
        self.shared.state().count
    }

    /// Replies that nobody has asked for yet.
    pub fn queued(&self) -> usize {
        self.shared.state().queue.len()
    }

    /// Waits until at least `count` requests have come; `None` if they do not.
    pub async fn wait_for_n(&self, count: usize, within: Duration) -> Option<Vec<Received>> {
        self.wait_until(within, |state| state.count >= count).await?;
        Some(self.requests())
    }

    /// Waits until the reader of at least `count` answers has gone away before their end.
    pub async fn wait_for_abandoned(&self, count: usize, within: Duration) -> bool {
        self.wait_until(within, |state| state.abandoned >= count).await.is_some()
    }

    /// Answers that are being sent now.
    pub fn open_answers(&self) -> usize {
        self.shared.state().open
    }

    pub fn completed_answers(&self) -> usize {
        self.shared.state().completed
    }

    /// What was wrong with the requests.
    pub fn violations(&self) -> Vec<String> {
        self.shared.state().violations.clone()
    }

    /// For the end of a test: panics with what was wrong with the requests.
    #[track_caller]
    pub fn assert_no_violations(&self) {
        let violations = self.violations();
        assert!(
            violations.is_empty(),
            "bad requests to the model server:\n{}",
            violations.join("\n")
        );
    }

    async fn wait_until(&self, within: Duration, reached: impl Fn(&State) -> bool) -> Option<()> {
        let mut changed = self.shared.changed.subscribe();
        let waiting = async {
            while !reached(&self.shared.state()) {
                changed.changed().await.ok()?;
            }
            Some(())
        };
        timeout(within, waiting).await.ok().flatten()
    }
}
