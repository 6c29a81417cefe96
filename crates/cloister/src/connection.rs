//! A connection to the agent socket, over the line to the control plane; taken up again when it
//! breaks.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use cloister_protocol::admin::{NewSession, Session};
use cloister_protocol::{
    AgentFrame, ApprovalAnswer, Attachment, Cancel, ChatId, ClientFrame, ErrorCode, ErrorEnvelope,
    ErrorFrame, Message, SendFile, TurnId, Update, UserName, with_causes,
};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{self, client::IntoClientRequest};

use crate::client::Client;
use crate::line::{Line, Stream};
use crate::output::{CliError, NOT_IN_TIME, UNAVAILABLE};

const RETRY: Duration = Duration::from_millis(300);

/// How far back a row may be that is told after a later one.
const TOLD_LATE: i64 = 256;

/// The rows of the outbox that were had: a frame can come on two connections, and is shown once.
#[derive(Debug, Default)]
struct Rows {
    had: BTreeSet<i64>,
    /// The first one of all, before which nothing is wanted.
    first: Option<i64>,
}

impl Rows {
    /// Whether what this frame tells is new.
    fn is_new(&mut self, row: i64, frame: &AgentFrame) -> bool {
        // The chunks that come with an end are of its row, too.
        if matches!(frame, AgentFrame::TextChunk(_) | AgentFrame::Update(Update::Restart { .. })) {
            return !self.had.contains(&row);
        }
        self.first.get_or_insert(row);
        let is_new = self.had.insert(row);
        let oldest = self.had.last().map_or(0, |last| last - TOLD_LATE);
        self.had = self.had.split_off(&oldest);
        is_new
    }

    /// From where on to read on a new connection; none: nothing was had yet.
    fn after(&self) -> Option<i64> {
        let (first, last) = (self.first?, self.had.last()?);
        Some((last - TOLD_LATE).max(first - 1))
    }
}

/// A frame, and its row if it is kept.
#[derive(Deserialize)]
struct ToldFrame {
    row: Option<i64>,
    #[serde(flatten)]
    frame: AgentFrame,
}

pub struct Connection {
    line: Line,
    session: Session,
    chat: ChatId,
    rows: Rows,
    socket: Option<WebSocketStream<Stream>>,
    /// Said and not answered yet: said again after a break.
    unanswered: Vec<Message>,
    /// How many of them were taken, from the first on. One is on its way at a time: what comes after one that has to
    /// be said again must not overtake it.
    taken: usize,
    /// The next one is on its way.
    on_its_way: bool,
    /// Too much was said at once: the next one goes then.
    held_until: Option<Instant>,
}

/// When a message that was refused is said again by itself; none: never.
fn said_again_after(refusal: &ErrorFrame) -> Option<Duration> {
    let wait = refusal.retry_after_s.filter(|_| refusal.code == ErrorCode::Busy);
    wait.map(Duration::from_secs)
}

impl Connection {
    pub async fn open(client: &Client, user: UserName, chat: ChatId) -> Result<Self, CliError> {
        let session = new_session(client, user).await?;
        let line = client.line().cloned().ok_or_else(|| {
            CliError::new(ErrorCode::NotFound, "no control plane runs")
                .fix("start it with `cloister up`")
                .exit(UNAVAILABLE)
        })?;
        let mut connection = Self {
            line,
            session,
            chat,
            rows: Rows::default(),
            socket: None,
            unanswered: Vec::new(),
            taken: 0,
            on_its_way: false,
            held_until: None,
        };
        connection.socket = Some(connection.dial().await?);
        Ok(connection)
    }

    async fn dial(&self) -> Result<WebSocketStream<Stream>, CliError> {
        let broken = |error: &dyn std::error::Error| {
            let message = format!("the agent socket could not be opened: {}", with_causes(error));
            CliError::new(ErrorCode::Internal, message).exit(UNAVAILABLE)
        };
        let path = self.session.agent_ws.replace("{chat}", &self.chat.to_string());
        let after = self.rows.after().map(|row| format!("&after={row}")).unwrap_or_default();
        let mut request = format!("ws://cloister{path}?rows=1{after}")
            .into_client_request()
            .map_err(|e| broken(&e))?;
        let bearer = format!("Bearer {}", self.session.token)
            .parse()
            .map_err(|e: axum::http::header::InvalidHeaderValue| broken(&e))?;
        request.headers_mut().insert("authorization", bearer);
        let stream = self.line.dial().await.map_err(|e| broken(&e))?;
        match tokio_tungstenite::client_async(request, stream).await {
            Ok((socket, _)) => Ok(socket),
            Err(tungstenite::Error::Http(response)) => {
                let body = response.into_body().unwrap_or_default();
                match serde_json::from_slice::<ErrorEnvelope>(&body) {
                    Ok(envelope) => Err(envelope.error.into()),
                    Err(error) => Err(broken(&error)),
                }
            }
            Err(error) => Err(broken(&error)),
        }
    }

    pub async fn send(&mut self, message: Message, deadline: Instant) -> Result<(), CliError> {
        self.say(message);
        self.tell(deadline).await
    }

    /// Says something as soon as the socket takes it: when the next frame is waited for.
    pub(crate) fn say(&mut self, message: Message) {
        self.unanswered.push(message);
    }

    /// Everything that was said has been answered.
    pub fn answered(&mut self) {
        self.unanswered.clear();
        self.taken = 0;
        self.on_its_way = false;
        self.held_until = None;
    }

    /// This message has been answered, or never will be.
    pub(crate) fn is_answered(&mut self, id: &str) {
        if let Some(at) = self.unanswered.iter().position(|message| message.id.as_str() == id) {
            self.unanswered.remove(at);
            self.on_its_way &= at != self.taken;
            self.taken = self.taken.saturating_sub(usize::from(at < self.taken));
        }
    }

    /// Whether a refusal is about something that is said again by itself.
    pub(crate) fn says_again(&self, refusal: &ErrorFrame) -> bool {
        let waits = |message: &Message| Some(message.id.as_str()) == refusal.id.as_deref();
        said_again_after(refusal).is_some() && self.unanswered.iter().any(waits)
    }

    /// What was said waits because too much was said at once.
    pub(crate) fn is_held(&self) -> bool {
        self.held_until.is_some()
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.socket.is_some()
    }

    /// How much was said that nobody has taken.
    pub(crate) fn untaken(&self) -> usize {
        self.unanswered.len().saturating_sub(self.taken)
    }

    /// Stops a turn, if the socket is there; it is not worth more than one try.
    pub(crate) async fn cancel(&mut self, turn: TurnId) {
        let cancel = ClientFrame::Cancel(Cancel { turn: Some(turn), task: None });
        if let (Some(socket), Ok(json)) = (&mut self.socket, serde_json::to_string(&cancel))
            && socket.send(tungstenite::Message::text(json)).await.is_err()
        {
            self.socket = None;
        }
    }

    /// Answers a question, if the socket is there; whether it took it.
    pub async fn answer(&mut self, answer: ApprovalAnswer) -> bool {
        let frame = ClientFrame::Approval(answer);
        let (Some(socket), Ok(json)) = (&mut self.socket, serde_json::to_string(&frame)) else {
            return false;
        };
        let sent = socket.send(tungstenite::Message::text(json)).await.is_ok();
        if !sent {
            self.socket = None;
        }
        sent
    }

    /// Hangs up, and waits until the other side has too: whatever was said here has been dealt with by then.
    pub async fn leave(&mut self, deadline: Instant) -> Result<(), CliError> {
        let Some(mut socket) = self.socket.take() else { return Ok(()) };
        let left = async {
            let closing = socket.close(None).await;
            while let Some(Ok(_)) = socket.next().await {}
            closing
        };
        match tokio::time::timeout_at(deadline, left).await {
            Ok(Ok(()) | Err(_)) => Ok(()),
            Err(_elapsed) => {
                Err(CliError::new(ErrorCode::Internal, "the control plane does not hang up"))
            }
        }
    }

    /// Says the next of what nobody has taken yet, on a new connection if need be.
    async fn tell(&mut self, deadline: Instant) -> Result<(), CliError> {
        if self.held_until.is_some_and(|until| until > Instant::now()) {
            return Ok(());
        }
        self.held_until = None;
        while !self.on_its_way
            && let Some(message) = self.unanswered.get(self.taken)
        {
            let json = serde_json::to_string(&ClientFrame::Message(message.clone()))
                .map_err(|error| CliError::new(ErrorCode::Internal, error.to_string()))?;
            if let Some(socket) = &mut self.socket
                && socket.send(tungstenite::Message::text(json)).await.is_ok()
            {
                self.on_its_way = true;
            } else {
                self.redial(deadline).await?;
            }
        }
        Ok(())
    }

    /// What a frame says about the message that is on its way.
    fn heed(&mut self, frame: &AgentFrame) {
        let next = self.unanswered.get(self.taken).map(|message| message.id.as_str());
        match frame {
            AgentFrame::Accepted { id, .. } if next == Some(id.as_str()) => {
                self.taken += 1;
                self.on_its_way = false;
            }
            // Without a name it is about what could not be read: that is never taken.
            AgentFrame::Error(ErrorFrame { id: None, .. }) if self.on_its_way => {
                if let Some(unread) = next.map(str::to_owned) {
                    self.is_answered(&unread);
                }
            }
            AgentFrame::Error(error) if next.is_some() && next == error.id.as_deref() => {
                if let Some(wait) = said_again_after(error) {
                    self.on_its_way = false;
                    self.held_until = Some(Instant::now() + wait);
                }
            }
            _ => {}
        }
    }

    async fn redial(&mut self, deadline: Instant) -> Result<(), CliError> {
        self.socket = None;
        self.taken = 0;
        self.on_its_way = false;
        loop {
            let mut dialled = self.dial().await;
            if dialled.as_ref().is_err_and(|error| error.body.code == ErrorCode::Unauthorized) {
                // A conversation may outlive its session.
                let client = Client::Running(self.line.clone());
                self.session = new_session(&client, self.session.user.clone()).await?;
                dialled = self.dial().await;
            }
            match dialled {
                Ok(socket) => {
                    self.socket = Some(socket);
                    return Ok(());
                }
                Err(error) if error.exit != UNAVAILABLE || Instant::now() + RETRY >= deadline => {
                    return Err(error);
                }
                Err(_) => tokio::time::sleep(RETRY).await,
            }
        }
    }

    /// The next frame; a break is mended on the way. Can be dropped while it waits.
    pub async fn next(&mut self, deadline: Instant) -> Result<AgentFrame, CliError> {
        loop {
            self.tell(deadline).await?;
            let Some(socket) = &mut self.socket else {
                self.redial(deadline).await?;
                continue;
            };
            let until = self.held_until.map_or(deadline, |held| held.min(deadline));
            let Ok(next) = tokio::time::timeout_at(until, socket.next()).await else {
                if until < deadline {
                    continue;
                }
                return Err(self.late());
            };
            match next {
                Some(Ok(tungstenite::Message::Text(text))) => {
                    let Ok(ToldFrame { row, frame }) = serde_json::from_str(&text) else {
                        continue;
                    };
                    self.heed(&frame);
                    if row.is_none_or(|row| self.rows.is_new(row, &frame)) {
                        return Ok(frame);
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => self.socket = None,
            }
        }
    }

    fn late(&self) -> CliError {
        let fix = match self.untaken() {
            0 => {
                "the message is stored and will be answered; `cloister chats show` shows it, --timeout waits longer"
            }
            _ => "the message was not taken: say it again later, or wait longer with --timeout",
        };
        CliError::new(ErrorCode::Busy, "there was no answer in time").fix(fix).exit(NOT_IN_TIME)
    }

    pub(crate) async fn upload(&self, file: &Path) -> Result<Attachment, CliError> {
        let name =
            file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let failed = format!("{} could not be read", file.display());
        let source = tokio::fs::File::open(file).await.map_err(CliError::io(failed))?;
        self.upload_from(&name, source).await
    }

    /// Uploads what a source holds, as a file of this name.
    pub async fn upload_from(
        &self,
        name: &str,
        source: impl tokio::io::AsyncRead + Send + 'static,
    ) -> Result<Attachment, CliError> {
        let path = format!(
            "/cells/{}/v1/chats/{}/files?name={}",
            self.session.workspace,
            self.chat,
            percent_encode(name)
        );
        let body = Body::from_stream(tokio_util::io::ReaderStream::new(source));
        let bytes = self.exchange("POST", &path, body).await?;
        serde_json::from_slice(&bytes)
            .map_err(|error| CliError::new(ErrorCode::Internal, error.to_string()))
    }

    pub async fn download(&self, file: &SendFile, dir: &Path) -> Result<PathBuf, CliError> {
        let url = file.url.as_deref().unwrap_or_default();
        let bytes = self.exchange("GET", url, Body::empty()).await?;
        let path = dir.join(cloister_control::files::safe_name(&file.name));
        let failed = format!("{} could not be written", path.display());
        std::fs::create_dir_all(dir)
            .and_then(|()| std::fs::write(&path, &bytes))
            .map_err(CliError::io(failed))?;
        Ok(path)
    }

    async fn exchange(
        &self,
        method: &str,
        path: &str,
        body: Body,
    ) -> Result<bytes::Bytes, CliError> {
        let failed =
            |error: &dyn std::error::Error| CliError::new(ErrorCode::Internal, with_causes(error));
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "cloister")
            .header("authorization", format!("Bearer {}", self.session.token))
            .body(body)
            .map_err(|e| failed(&e))?;
        let reply = self.line.exchange(request).await.map_err(|e| failed(e.as_ref()))?;
        if reply.status.is_success() {
            return Ok(reply.body);
        }
        match serde_json::from_slice::<ErrorEnvelope>(&reply.body) {
            Ok(envelope) => Err(envelope.error.into()),
            Err(_) => {
                let message = format!("the control plane answered {}", reply.status);
                Err(CliError::new(ErrorCode::Internal, message))
            }
        }
    }
}

async fn new_session(client: &Client, user: UserName) -> Result<Session, CliError> {
    let asked = NewSession { user: Some(user), ..NewSession::default() };
    client.post("/admin/v1/sessions", &asked).await
}

pub(crate) fn percent_encode(text: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(byte);
    text.bytes()
        .map(
            |byte| if plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") },
        )
        .collect()
}

#[cfg(test)]
#[path = "connection_tests.rs"]
mod tests;
