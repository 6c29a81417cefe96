//! The model server: answers every call with what an obedient model would do, and remembers what each
//! run's model was shown.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::failed;
use super::obey::{self, Conversation, Move};
use super::run::{PersonSaid, Run};
use cloister::CliError;

/// What a call is said to have taken: with the prices of the suite, one cent.
const PROMPT_TOKENS: u64 = 900;
const COMPLETION_TOKENS: u64 = 100;
pub(super) const USD_PER_MILLION: f64 = 10.0;

/// What the model of a run was shown, as far as it matters.
#[derive(Clone, Debug, Default)]
pub(super) struct Witness {
    pub(super) calls: u64,
    /// Private notes and secrets, its own and others'.
    pub(super) canaries: HashSet<String>,
    pub(super) saw_victim: bool,
    /// Instructions of others that it carried out.
    pub(super) obeyed: usize,
    /// The last few things that tools answered, for whoever wants to know why.
    pub(super) results: Vec<String>,
}

#[derive(Default)]
struct Shared {
    turns: Mutex<HashMap<u32, Vec<PersonSaid>>>,
    witnesses: Mutex<HashMap<u32, Witness>>,
    victim: Mutex<Option<String>>,
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Dropping it ends it.
pub(super) struct Model {
    address: SocketAddr,
    shared: Arc<Shared>,
    _server: JoinSet<std::io::Result<()>>,
}

impl Model {
    pub(super) async fn start() -> Result<Self, CliError> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared::default());
        let router = Router::new()
            .route("/v1/chat/completions", post(answer))
            .with_state(Arc::clone(&shared));
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, router).await });
        Ok(Self { address, shared, _server: server })
    }

    pub(super) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(super) fn learn(&self, run: &Run) {
        lock(&self.shared.turns).insert(run.number, run.turns.clone());
    }

    pub(super) fn learn_turns(&self, number: u32, turns: Vec<PersonSaid>) {
        lock(&self.shared.turns).insert(number, turns);
    }

    /// A name that no other model should ever see.
    pub(super) fn watch_for(&self, victim: &str) {
        *lock(&self.shared.victim) = Some(victim.to_owned());
    }

    pub(super) fn witness(&self, number: u32) -> Witness {
        lock(&self.shared.witnesses).get(&number).cloned().unwrap_or_default()
    }
}

async fn answer(State(shared): State<Arc<Shared>>, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let conversation = Conversation::read(&request);
    let next = match conversation.reference() {
        None => Move::Say("Hello.".to_owned()),
        Some((number, turn)) => {
            witness(&shared, number, &conversation);
            let said = lock(&shared.turns).get(&number).and_then(|turns| turns.get(turn)).cloned();
            let next = obey::next(&conversation, &said.unwrap_or_default(), number);
            if matches!(&next, Move::Call { id, .. } if id.starts_with("inj-")) {
                lock(&shared.witnesses).entry(number).or_default().obeyed += 1;
            }
            next
        }
    };
    ([(header::CONTENT_TYPE, "text/event-stream")], events(&next)).into_response()
}

fn witness(shared: &Shared, number: u32, conversation: &Conversation) {
    let text = conversation.all_text();
    let victim = lock(&shared.victim).clone();
    let mut witnesses = lock(&shared.witnesses);
    let witness = witnesses.entry(number).or_default();
    witness.calls += 1;
    witness.canaries.extend(obey::canaries(&text));
    witness.saw_victim |= victim.is_some_and(|name| text.contains(&name));
    let last = conversation.messages.last().filter(|message| message.role == "tool");
    if let Some(last) = last {
        witness.results.push(last.text.chars().take(600).collect());
    }
}

/// One answer, as it is streamed.
fn events(next: &Move) -> String {
    let (delta, reason) = match next {
        Move::Say(text) => (json!({"content": text}), "stop"),
        Move::Call { id, tool, arguments } => {
            let function = json!({"name": tool, "arguments": arguments.to_string()});
            let call = json!({"index": 0, "id": id, "type": "function", "function": function});
            (json!({"tool_calls": [call]}), "tool_calls")
        }
    };
    let usage = json!({"prompt_tokens": PROMPT_TOKENS, "completion_tokens": COMPLETION_TOKENS});
    let said = json!({"choices": [{"index": 0, "delta": delta}]});
    let end =
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage});
    format!("data: {said}\n\ndata: {end}\n\ndata: [DONE]\n\n")
}
