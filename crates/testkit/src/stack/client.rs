//! A client of the public agent socket that never gives up: it connects again, says again what is
//! unanswered, and notices when it is told two different things.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cloister_protocol::admin::Session;
use cloister_protocol::{
    AgentFrame, ApprovalAnswer, ApprovalId, ChatId, ClientFrame, End, ErrorCode, ErrorFrame,
    Message, MessageId, TextChunk, TurnId, Update,
};
use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{self, client::IntoClientRequest};

use super::Address;

const DIAL_TIME: Duration = Duration::from_secs(5);
const SEND_TIME: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_millis(50);
/// After "busy" and the like.
const RETRY_REFUSED: Duration = Duration::from_millis(300);
const ASK_TIME: Duration = Duration::from_secs(60);

/// Is shown every frame as it comes.
pub type Watcher = Arc<dyn Fn(&AgentFrame) + Send + Sync>;
type Socket = WebSocketStream<TcpStream>;

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("the agent socket could not be opened: {reason}")]
    NotOpened { reason: String },
    #[error("the connection was lost")]
    Lost,
    #[error("nothing came in time")]
    Late,
    #[error("{} was refused: {}: {}", .0.id.as_deref().unwrap_or("a frame"), .0.code.as_str(), .0.message)]
    Refused(ErrorFrame),
}

/// The answer to a message.
#[derive(Clone, Debug)]
pub struct Answer {
    pub text: String,
    pub turn: TurnId,
    pub error: Option<ErrorCode>,
    /// Everything that came while it was awaited.
    pub frames: Vec<AgentFrame>,
}

pub struct AgentClient {
    address: Address,
    session: Session,
    chat: ChatId,
    socket: Option<Socket>,
    watcher: Option<Watcher>,
    /// Said and not answered yet: said again on every new connection.
    unanswered: BTreeMap<MessageId, String>,
    /// Approvals answered; told again on every new connection until the control plane knows.
    approvals: BTreeMap<ApprovalId, cloister_protocol::Answer>,
    /// The chunks of unfinished turns on this connection.
    chunks: HashMap<TurnId, (u32, String)>,
    ends: HashMap<TurnId, End>,
    /// Turns that have ended on this connection.
    ended_here: HashSet<TurnId>,
    answered_by: HashMap<MessageId, TurnId>,
    accepted: HashMap<MessageId, TurnId>,
    faults: Vec<String>,
}

impl AgentClient {
    pub(super) fn new(address: Address, session: Session, chat: ChatId) -> Self {
        Self {
            address,
            session,
            chat,
            socket: None,
            watcher: None,
            unanswered: BTreeMap::new(),
            approvals: BTreeMap::new(),
            chunks: HashMap::new(),
            ends: HashMap::new(),
            ended_here: HashSet::new(),
            answered_by: HashMap::new(),
            accepted: HashMap::new(),
            faults: Vec::new(),
        }
    }

    /// Shows every frame to this function too.
    pub fn watched_by(mut self, watcher: Watcher) -> Self {
        self.watcher = Some(watcher);
        self
    }

    pub fn session(&self) -> &Session {
        &self.session
    }

    pub fn chat(&self) -> ChatId {
        self.chat
    }

    /// How each turn ended that was seen to end.
    pub fn ends(&self) -> &HashMap<TurnId, End> {
        &self.ends
    }

    /// Messages that are not answered yet.
    pub fn unanswered(&self) -> impl Iterator<Item = &MessageId> {
        self.unanswered.keys()
    }

    pub fn was_accepted(&self, id: &MessageId) -> bool {
        self.accepted.contains_key(id)
    }

    /// What must never be seen and was: one turn with two different ends, or two ends on one
    /// connection; two turns for one message; chunks that do not add up to the answer.
    pub fn faults(&self) -> &[String] {
        &self.faults
    }

    /// Opens the socket, once.
    pub async fn connect(&mut self) -> Result<(), ClientError> {
        let failed = |reason: String| ClientError::NotOpened { reason };
        let address = self.address.get().ok_or_else(|| failed("nobody listens".to_owned()))?;
        let path = self.session.agent_ws.replace("{chat}", &self.chat.to_string());
        let mut request = format!("ws://{address}{path}")
            .into_client_request()
            .map_err(|error| failed(error.to_string()))?;
        let bearer = format!("Bearer {}", self.session.token)
            .parse()
            .map_err(|error: hyper::header::InvalidHeaderValue| failed(error.to_string()))?;
        request.headers_mut().insert("authorization", bearer);
        let dial = async {
            let stream = TcpStream::connect(&address).await.map_err(|e| failed(e.to_string()))?;
            tokio_tungstenite::client_async(request, stream).await.map_err(|e| failed(told(e)))
        };
        match timeout(DIAL_TIME, dial).await {
            Ok(opened) => self.socket = Some(opened?.0),
            Err(elapsed) => return Err(failed(elapsed.to_string())),
        }
        // A new connection shows turns from their beginning, or whole with their end.
        self.chunks.clear();
        self.ended_here.clear();
        Ok(())
    }

    /// Loses the connection, as a client that walks out of reach does.
    pub fn drop_connection(&mut self) {
        self.socket = None;
    }

    pub async fn send(&mut self, frame: &ClientFrame) -> Result<(), ClientError> {
        let json = serde_json::to_string(frame)
            .map_err(|error| ClientError::NotOpened { reason: error.to_string() })?;
        self.send_text(json).await
    }

    /// Sends any text, also such that is no frame.
    pub async fn send_text(&mut self, text: String) -> Result<(), ClientError> {
        let socket = self.socket.as_mut().ok_or(ClientError::Lost)?;
        match timeout(SEND_TIME, socket.send(tungstenite::Message::text(text))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => {
                self.socket = None;
                Err(ClientError::Lost)
            }
        }
    }

    pub async fn send_message(&mut self, id: &MessageId, text: &str) -> Result<(), ClientError> {
        let message = Message {
            id: id.clone(),
            chat: None,
            text: text.to_owned(),
            attachments: Vec::new(),
            instead: None,
            from: None,
        };
        self.send(&ClientFrame::Message(message)).await
    }

    /// The next frame of the present connection.
    pub async fn next(&mut self, within: Duration) -> Result<AgentFrame, ClientError> {
        let deadline = Instant::now() + within;
        loop {
            let socket = self.socket.as_mut().ok_or(ClientError::Lost)?;
            let received = match timeout_at(deadline, socket.next()).await {
                Ok(received) => received,
                Err(_elapsed) => return Err(ClientError::Late),
            };
            match received {
                Some(Ok(tungstenite::Message::Text(text))) => {
                    match serde_json::from_str::<AgentFrame>(&text) {
                        Ok(frame) => {
                            self.notice(&frame);
                            return Ok(frame);
                        }
                        Err(error) => {
                            self.faults.push(format!("not a frame: {error}: {}", text.as_str()));
                        }
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => {
                    self.socket = None;
                    return Err(ClientError::Lost);
                }
            }
        }
    }

    /// Adds a message to what is to be answered; `frame_or_reconnect` says it.
    pub async fn submit(&mut self, id: MessageId, text: &str) {
        self.unanswered.insert(id.clone(), text.to_owned());
        if self.socket.is_some() {
            // If it does not get through, the next connection says it again.
            self.send_message(&id, text).await.ok();
        }
    }

    /// Gives a message up: it is not said again.
    pub fn withdraw(&mut self, id: &MessageId) {
        self.unanswered.remove(id);
    }

    /// Answers an approval, again and again until the control plane says that it knows.
    pub async fn approve(&mut self, id: ApprovalId, answer: cloister_protocol::Answer) {
        self.approvals.insert(id, answer);
        self.send(&ClientFrame::Approval(ApprovalAnswer { id, answer, digest: None })).await.ok();
    }

    /// The next frame; a break is mended on the way, and what is unanswered said again.
    pub async fn frame_or_reconnect(
        &mut self,
        within: Duration,
    ) -> Result<AgentFrame, ClientError> {
        let deadline = Instant::now() + within;
        loop {
            if self.socket.is_none() {
                self.reconnect(deadline).await?;
            }
            match self.next(deadline.saturating_duration_since(Instant::now())).await {
                Err(ClientError::Lost) => {}
                other => return other,
            }
        }
    }

    async fn reconnect(&mut self, deadline: Instant) -> Result<(), ClientError> {
        while self.socket.is_none() {
            if Instant::now() >= deadline {
                return Err(ClientError::Late);
            }
            if self.connect().await.is_err() {
                sleep(RETRY).await;
                continue;
            }
            for (id, text) in self.unanswered.clone() {
                if self.send_message(&id, &text).await.is_err() {
                    break;
                }
            }
            for (id, answer) in self.approvals.clone() {
                if self
                    .send(&ClientFrame::Approval(ApprovalAnswer { id, answer, digest: None }))
                    .await
                    .is_err()
                {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Says something and waits for its answer, through whatever happens to the connection.
    pub async fn ask(&mut self, text: &str) -> Result<Answer, ClientError> {
        // Of all clients of this test: two of them may talk in one chat.
        static ASKED: AtomicU64 = AtomicU64::new(0);
        let id = format!("ask-{}", ASKED.fetch_add(1, Ordering::Relaxed));
        let id = id.parse().map_err(|error: cloister_protocol::ParseIdError| {
            ClientError::NotOpened { reason: error.to_string() }
        })?;
        self.ask_as(id, text, ASK_TIME).await
    }

    /// The same, with an id and a bound.
    pub async fn ask_as(
        &mut self,
        id: MessageId,
        text: &str,
        within: Duration,
    ) -> Result<Answer, ClientError> {
        let deadline = Instant::now() + within;
        self.submit(id.clone(), text).await;
        let mut frames = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let frame = self.frame_or_reconnect(left).await?;
            frames.push(frame.clone());
            match frame {
                AgentFrame::End(end) if end.message.as_ref() == Some(&id) => {
                    let End { text, turn, error, .. } = end;
                    return Ok(Answer { text, turn, error, frames });
                }
                AgentFrame::Error(error) if error.id.as_deref() == Some(id.as_str()) => {
                    if !comes_back(error.code) {
                        self.unanswered.remove(&id);
                        return Err(ClientError::Refused(error));
                    }
                    sleep(RETRY_REFUSED).await;
                    self.submit(id.clone(), text).await;
                }
                _ => {}
            }
        }
    }

    fn notice(&mut self, frame: &AgentFrame) {
        if let Some(watcher) = &self.watcher {
            watcher(frame);
        }
        match frame {
            AgentFrame::Accepted { id, turn } => {
                let before = self.accepted.insert(id.clone(), turn.clone());
                if let Some(before) = before.filter(|before| before != turn) {
                    self.faults.push(format!("{id} was accepted as {before} and as {turn}"));
                }
            }
            AgentFrame::TextChunk(chunk) => self.notice_chunk(chunk),
            AgentFrame::Update(Update::Restart { turn }) => {
                self.chunks.remove(turn);
            }
            AgentFrame::End(end) => self.notice_end(end),
            AgentFrame::Error(error) => {
                if let Some(id) = error.id.as_deref().and_then(|id| id.parse().ok()) {
                    self.approvals.remove(&id);
                }
            }
            AgentFrame::ToolCall(_)
            | AgentFrame::ToolResult(_)
            | AgentFrame::Update(_)
            | AgentFrame::Ask(_)
            | AgentFrame::SendFile(_) => {}
        }
    }

    fn notice_chunk(&mut self, chunk: &TextChunk) {
        let (next, text) = self.chunks.entry(chunk.turn.clone()).or_default();
        if chunk.seq != *next {
            let (turn, seq) = (&chunk.turn, chunk.seq);
            self.faults.push(format!("chunk {seq} of {turn} came where {next} was due"));
        }
        *next = chunk.seq + 1;
        text.push_str(&chunk.text);
    }

    fn notice_end(&mut self, end: &End) {
        let turn = &end.turn;
        let (_, streamed) = self.chunks.remove(turn).unwrap_or_default();
        if streamed != end.text {
            let text = &end.text;
            self.faults.push(format!("{turn} streamed {streamed:?} and ended with {text:?}"));
        }
        if let Some(before) = self.ends.insert(turn.clone(), end.clone())
            && before.text != end.text
        {
            let (first, second) = (before.text, &end.text);
            self.faults.push(format!("{turn} ended with {first:?} and with {second:?}"));
        }
        if !self.ended_here.insert(turn.clone()) {
            self.faults.push(format!("{turn} ended twice on one connection"));
        }
        if let Some(id) = &end.message {
            self.unanswered.remove(id);
            let before = self.answered_by.insert(id.clone(), turn.clone());
            if let Some(before) = before.filter(|before| before != turn) {
                self.faults.push(format!("{id} was answered by {before} and by {turn}"));
            }
        }
    }
}

/// Whether the same frame may be taken later.
pub(crate) fn comes_back(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::Busy | ErrorCode::ShuttingDown | ErrorCode::Internal)
}

/// What the server said when it refused the socket.
fn told(error: tungstenite::Error) -> String {
    match error {
        tungstenite::Error::Http(response) => {
            let status = response.status();
            let body = response.into_body().unwrap_or_default();
            format!("{status} {}", String::from_utf8_lossy(&body))
        }
        other => other.to_string(),
    }
}
