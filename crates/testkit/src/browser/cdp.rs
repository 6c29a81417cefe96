//! The DevTools protocol: commands with answers, events kept for whoever asks.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::ChildStderr;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::BrowserError;

const ANSWER_TIME: Duration = Duration::from_secs(30);
/// Commands that wait to be sent.
const QUEUE: usize = 64;
/// Events that are kept; a test that makes more than this looks at the wrong thing.
const MAX_EVENTS: usize = 20_000;

/// Something that happened in a page.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) session: String,
    pub(super) method: String,
    pub(super) params: Value,
}

#[derive(Default)]
struct Heard {
    answers: HashMap<u64, oneshot::Sender<Value>>,
    events: Vec<Event>,
}

#[derive(Clone)]
pub(super) struct Connection {
    next_id: Arc<AtomicU64>,
    commands: mpsc::Sender<String>,
    heard: Arc<Mutex<Heard>>,
    /// Ends with the last clone.
    _tasks: Arc<JoinSet<()>>,
}

impl Connection {
    pub(super) async fn open(
        address: &str,
        mut stderr: Lines<BufReader<ChildStderr>>,
    ) -> Result<Self, BrowserError> {
        let failed = |error: &dyn std::fmt::Display| BrowserError::Connection(error.to_string());
        let host = address.trim_start_matches("ws://").split('/').next().unwrap_or_default();
        let stream = TcpStream::connect(host).await.map_err(|error| failed(&error))?;
        let (socket, _) = tokio_tungstenite::client_async(address, stream)
            .await
            .map_err(|error| failed(&error))?;
        let (commands, queue) = mpsc::channel(QUEUE);
        let heard = Arc::new(Mutex::new(Heard::default()));
        let mut tasks = JoinSet::new();
        tasks.spawn(talk(socket, queue, heard.clone()));
        // A pipe that nobody reads would stop the browser.
        tasks.spawn(async move { while let Ok(Some(_)) = stderr.next_line().await {} });
        let next_id = Arc::new(AtomicU64::new(1));
        Ok(Self { next_id, commands, heard, _tasks: Arc::new(tasks) })
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a command, to the browser or to one page, and waits for its answer.
    pub(super) async fn call(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<Value, BrowserError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut command = json!({"id": id, "method": method, "params": params});
        if let (Some(session), Some(fields)) = (session, command.as_object_mut()) {
            fields.insert("sessionId".to_owned(), session.into());
        }
        let (answer, answered) = oneshot::channel();
        self.heard().answers.insert(id, answer);
        let gone = || BrowserError::Connection("the browser is gone".to_owned());
        if self.commands.send(command.to_string()).await.is_err() {
            return Err(gone());
        }
        let answer = match timeout(ANSWER_TIME, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => return Err(gone()),
            Err(_) => return Err(BrowserError::Late { method: method.to_owned() }),
        };
        match answer.get("error") {
            Some(error) => {
                let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
                Err(BrowserError::Refused {
                    method: method.to_owned(),
                    message: message.to_owned(),
                })
            }
            None => Ok(answer.get("result").cloned().unwrap_or_default()),
        }
    }

    /// The events of a page with this name, oldest first.
    pub(super) fn events(&self, session: &str, method: &str) -> Vec<Value> {
        let heard = self.heard();
        let fits = |event: &&Event| event.session == session && event.method == method;
        heard.events.iter().filter(fits).map(|event| event.params.clone()).collect()
    }
}

async fn talk(
    mut socket: WebSocketStream<TcpStream>,
    mut queue: mpsc::Receiver<String>,
    heard: Arc<Mutex<Heard>>,
) {
    loop {
        tokio::select! {
            command = queue.recv() => {
                let Some(command) = command else { return };
                if socket.send(Message::Text(command.into())).await.is_err() { break; }
            }
            message = socket.next() => match message {
                Some(Ok(Message::Text(text))) => hear(&heard, &text),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => break,
            },
        }
    }
    // Whoever still waits learns that no answer comes.
    heard.lock().unwrap_or_else(PoisonError::into_inner).answers.clear();
}

fn hear(heard: &Mutex<Heard>, text: &str) {
    let Ok(value) = serde_json::from_str::<Value>(text) else { return };
    let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(id) = value.get("id").and_then(Value::as_u64) {
        if let Some(answer) = heard.answers.remove(&id) {
            // Whoever asked may have given up.
            drop(answer.send(value));
        }
        return;
    }
    let word = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let event = Event {
        session: word("sessionId"),
        method: word("method"),
        params: value.get("params").cloned().unwrap_or_default(),
    };
    if heard.events.len() < MAX_EVENTS {
        heard.events.push(event);
    }
}
