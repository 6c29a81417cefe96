//! The public agent socket: a client's frames in, the agent's frames out.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::extract::State as Extract;
use axum::extract::ws::{
    CloseCode, CloseFrame, Message as WsMessage, WebSocket, WebSocketUpgrade, close_code,
};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use cloister_control::rows::{OutboxItem, TokenOwner};
use cloister_control::{
    AccessChanges, Actor, Control, ControlError, IncomingMessage, Permit, Said,
};
use cloister_policy::engine::ChatCall;
use cloister_protocol::{
    AgentFrame, ApprovalAnswer, Cancel, ChatId, ClientFrame, ErrorCode, ErrorFrame, Language,
    MAX_FRAME_BYTES, Message, UserName, WorkspaceId, with_causes,
};
use maud::Markup;
use serde::Deserialize;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::auth::session_of;
use crate::client_frames::{error, read_frame};
use crate::language;
use crate::pages::entries::{self, Now};
use crate::pages::headers::for_people;
use crate::replay::Replay;
use crate::reply::{Failure, Path, Query};
use crate::server::State;
use crate::standing::Standing;
use crate::waiting::WaitingQuestions;

/// Beyond this a frame is not even read; the socket closes.
const MAX_READ_BYTES: usize = 2 * MAX_FRAME_BYTES;
/// Frames are small as a rule; larger ones are read in pieces.
const READ_BUFFER: usize = 4 << 10;
const PING_EVERY: Duration = Duration::from_secs(20);
/// A client that says nothing, not even pong, for this long is gone.
const SILENCE: Duration = Duration::from_secs(65);
/// How long a client that is being closed may take to close its side.
const CLOSE_TIME: Duration = Duration::from_secs(5);
/// The same when it is us who leave.
const LEAVE_TIME: Duration = Duration::from_millis(300);
const SEND_TIME: Duration = Duration::from_secs(20);
/// How long the refusal of what comes too fast is held back.
const BUSY_DELAY: Duration = Duration::from_millis(20);
/// Frames in a row that are no frames of ours before the socket closes.
const MAX_BAD_FRAMES: u32 = 100;
/// How far back a row may be that is told after a later one.
const TOLD_LATE: i64 = 256;
/// How many of the rows it was sent are remembered for one client.
const MAX_SENT: usize = 4096;
const ENDED: &str = "the session has ended";
/// The surface's name in the inbox.
pub(crate) const SURFACE: &str = "socket";

#[derive(Deserialize)]
pub(crate) struct SocketQuery {
    /// For clients that can't set a header.
    token: Option<String>,
    /// Replay what was said after this row.
    after: Option<i64>,
    /// With 1, what is kept comes with its row and, for people, as HTML.
    #[serde(default)]
    html: u8,
    /// The ids of what is open on the page: tasks at work, questions that wait.
    #[serde(default)]
    shown: String,
    /// With 1, what is kept comes with its row: who has the row has had the frame.
    #[serde(default)]
    rows: u8,
}

pub(crate) async fn open(
    Extract(state): Extract<State>,
    Path((workspace, chat)): Path<(String, String)>,
    Query(query): Query<SocketQuery>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Result<Response, Failure> {
    let (workspace, chat): (WorkspaceId, ChatId) = (workspace.parse()?, chat.parse()?);
    // Listen first, then look: what is taken away meanwhile is not missed.
    let changes = state.control.people().access_changes();
    let (owner, session) = session_of(&state, &headers, query.token.as_deref(), workspace).await?;
    let user = state.control.accounts().by_id(owner.user).await?;
    state.control.chats().ensure_first_chat(&Actor::person(&user.name), workspace).await?;
    state.control.chats().chat(workspace, chat).await?;
    state.control.people().require_in_chat(owner.user, ChatCall::Read, workspace, chat).await?;
    let upgrade =
        upgrade.map_err(|rejection| Failure::new(ErrorCode::BadRequest, rejection.body_text()))?;
    let permit = state.control.inbox().enter_socket(SURFACE, workspace, owner.user)?;
    let to = language::of_person(&state.control, owner.user, &headers).await;
    let client = Client {
        control: state.control.clone(),
        workspace,
        chat,
        from: user.name,
        owner,
        session,
        changes,
        shape: Shape::of(&query),
        to,
        replay: Replay::default(),
        standing: Standing::of(&state.control, to, (workspace, chat), &query.shown),
        bad_frames: 0,
        sent: BTreeSet::new(),
        stop: state.stop.clone(),
        _permit: permit,
    };
    Ok(upgrade
        .max_message_size(MAX_READ_BYTES)
        .max_frame_size(MAX_READ_BYTES)
        .read_buffer_size(READ_BUFFER)
        .on_upgrade(move |socket| client.serve(socket, query.after))
        .into_response())
}

struct Client {
    control: Control,
    workspace: WorkspaceId,
    chat: ChatId,
    from: UserName,
    owner: TokenOwner,
    /// The hash of the token: a session that is ended ends its sockets.
    session: String,
    /// Somebody's access may have changed: ours, perhaps.
    changes: AccessChanges,
    shape: Shape,
    /// What a page is spoken to in; programs are in English.
    to: Language,
    replay: Replay,
    standing: Standing,
    bad_frames: u32,
    /// The newest rows that went over this connection: a row can come live, by catching up and
    /// because a message came again, and is said once.
    sent: BTreeSet<i64>,
    stop: CancellationToken,
    _permit: Permit,
}

/// What comes along with a frame that is kept.
#[derive(Clone, Copy)]
enum Shape {
    Bare,
    Rows,
    RowsAndHtml,
}

impl Shape {
    fn of(query: &SocketQuery) -> Self {
        match query {
            SocketQuery { html: 1, .. } => Self::RowsAndHtml,
            SocketQuery { rows: 1, .. } => Self::Rows,
            _ => Self::Bare,
        }
    }
}

/// A frame's row in the outbox, and when it was told.
#[derive(Clone, Copy)]
struct Kept {
    row: i64,
    at: i64,
}

/// The socket is gone or must go.
struct Closed;

impl Client {
    async fn serve(mut self, mut socket: WebSocket, after: Option<i64>) {
        if self.converse(&mut socket, after).await.is_err() {
            tracing::debug!(workspace = %self.workspace, chat = %self.chat, "a client left");
        }
    }

    async fn converse(&mut self, socket: &mut WebSocket, after: Option<i64>) -> Result<(), Closed> {
        // Listen first, then read what is stored: nothing falls between.
        let (halves, mut said) = self.control.hub().join(self.workspace, self.chat);
        let began = self.catch_up(socket, after).await?;
        self.tell_standing(socket).await?;
        if matches!(self.shape, Shape::RowsAndHtml) {
            for half in halves {
                if let Some(frame) = self.replay.resume(half) {
                    self.send_frame(socket, &frame).await?;
                }
            }
        }
        let mut waiting = WaitingQuestions::of(&self.control, self.owner.user);
        let for_a_page = matches!(self.shape, Shape::RowsAndHtml);
        let mut last_row = began;
        let mut ping = tokio::time::interval(PING_EVERY);
        let mut heard_at = Instant::now();
        loop {
            tokio::select! {
                heard = said.recv() => match heard {
                    Ok(Said { outbox, frame }) => {
                        if let Some(row) = outbox {
                            // Two that were stored together can be told the other way round; what
                            // went over this connection before is known by its row.
                            last_row = last_row.max(row);
                        }
                        let at = self.control.clock().now_ms();
                        self.pass_on(socket, &frame, outbox.map(|row| Kept { row, at })).await?;
                    }
                    Err(RecvError::Lagged(_)) => {
                        let from = (last_row - TOLD_LATE).max(began);
                        last_row = self.catch_up(socket, Some(from)).await?;
                        self.tell_standing(socket).await?;
                    }
                    Err(RecvError::Closed) => return Ok(()),
                },
                () = self.stop.cancelled() => {
                    // What was said before the stop is still told.
                    while let Ok(Said { outbox, frame }) = said.try_recv() {
                        let at = self.control.clock().now_ms();
                        self.pass_on(socket, &frame, outbox.map(|row| Kept { row, at })).await?;
                    }
                    let why = "the control plane is stopping";
                    return self.close(socket, close_code::AWAY, why, LEAVE_TIME).await;
                }
                told = waiting.next(), if for_a_page => {
                    send(socket, WsMessage::Text(told.into())).await?;
                }
                () = self.changes.next() => {
                    if self.ended().await {
                        return self.close_for(socket, ENDED).await;
                    }
                }
                message = socket.recv() => {
                    heard_at = Instant::now();
                    match message {
                        None | Some(Err(_) | Ok(WsMessage::Close(_))) => return Ok(()),
                        Some(Ok(message)) => self.take(socket, message).await?,
                    }
                }
                _ = ping.tick() => {
                    if heard_at.elapsed() > SILENCE { return Ok(()); }
                    if self.ended().await {
                        return self.close_for(socket, ENDED).await;
                    }
                    send(socket, WsMessage::Ping(Vec::new().into())).await?;
                }
            }
        }
    }

    /// Whether the session has expired or was ended, or its owner may not read here any more; a database
    /// that does not answer ends nothing.
    async fn ended(&self) -> bool {
        if self.control.clock().now_ms() >= self.owner.expires_at {
            return true;
        }
        if matches!(self.control.sessions().owner(&self.session).await, Ok(None)) {
            return true;
        }
        let reads = self.allowed(ChatCall::Read).await;
        reads.is_err_and(|refused| refused.code() == ErrorCode::Forbidden)
    }

    async fn allowed(&self, call: ChatCall) -> Result<(), ControlError> {
        Ok(self
            .control
            .people()
            .require_in_chat(self.owner.user, call, self.workspace, self.chat)
            .await?)
    }

    /// Sends what is stored: after a row the client has, or what nobody has been sent yet.
    async fn catch_up(
        &mut self,
        socket: &mut WebSocket,
        after: Option<i64>,
    ) -> Result<i64, Closed> {
        let rows = match after {
            Some(row) => self.control.inbox().told_after(self.workspace, self.chat, row).await,
            None => self.control.inbox().not_shown(self.workspace, self.chat).await,
        };
        let rows = rows.map_err(|error| {
            tracing::error!(error = error.chain(), "what is to be sent could not be read");
            Closed
        })?;
        let last = rows.last().map_or(after.unwrap_or(0), |row| row.id);
        for row in rows {
            let kept = Kept { row: row.id, at: row.created_at };
            self.pass_on(socket, &row.frame, Some(kept)).await?;
        }
        Ok(last)
    }

    /// Tells a page how that stands by now which has no row.
    async fn tell_standing(&mut self, socket: &mut WebSocket) -> Result<(), Closed> {
        if !matches!(self.shape, Shape::RowsAndHtml) {
            return Ok(());
        }
        let frames = self.standing.frames().await.map_err(|error| {
            tracing::error!(error = error.chain(), "how tasks and questions stand was not read");
            Closed
        })?;
        for frame in frames {
            send(socket, WsMessage::Text(frame.to_string().into())).await?;
        }
        Ok(())
    }

    async fn pass_on(
        &mut self,
        socket: &mut WebSocket,
        frame: &AgentFrame,
        kept: Option<Kept>,
    ) -> Result<(), Closed> {
        if kept.is_some_and(|kept| !self.sent.insert(kept.row)) {
            return Ok(());
        }
        if self.sent.len() > MAX_SENT {
            self.sent.pop_first();
        }
        self.standing.note(frame);
        for frame in self.replay.frames(frame) {
            match (kept, self.shape) {
                (kept, Shape::RowsAndHtml) => self.send_with_html(socket, &frame, kept).await?,
                (Some(kept), Shape::Rows) => send_with_row(socket, &frame, kept).await?,
                (None, _) | (_, Shape::Bare) => self.send_frame(socket, &frame).await?,
            }
        }
        if let Some(Kept { row, .. }) = kept {
            self.control.inbox().note_shown(row);
        }
        Ok(())
    }

    async fn send_frame(&self, socket: &mut WebSocket, frame: &AgentFrame) -> Result<(), Closed> {
        match serde_json::to_string(frame) {
            Ok(json) => send(socket, WsMessage::Text(json.into())).await,
            Err(error) => {
                tracing::error!(error = with_causes(&error), "a frame could not be written");
                Ok(())
            }
        }
    }

    /// A frame for a page: how it is shown, and with its row if it is kept.
    async fn send_with_html(
        &self,
        socket: &mut WebSocket,
        frame: &AgentFrame,
        kept: Option<Kept>,
    ) -> Result<(), Closed> {
        let html = match kept {
            Some(kept) => self.shown(frame, kept.at).await,
            None => entries::live(&self.control, self.to, frame).await,
        };
        let html = html.map_err(|error| {
            tracing::error!(error = error.chain(), "how something is shown could not be read");
            Closed
        })?;
        let mut value = match serde_json::to_value(frame) {
            Ok(value) => value,
            Err(error) => {
                tracing::error!(error = with_causes(&error), "a frame could not be written");
                return Ok(());
            }
        };
        if let Some(fields) = value.as_object_mut() {
            if let Some(kept) = kept {
                fields.insert("row".to_owned(), kept.row.into());
            }
            if let Some(html) = html {
                fields.insert("html".to_owned(), html.into_string().into());
            }
        }
        send(socket, WsMessage::Text(value.to_string().into())).await
    }

    /// What is kept, as it stands: a question may have been answered since it was asked.
    async fn shown(&self, frame: &AgentFrame, at: i64) -> Result<Option<Markup>, ControlError> {
        let mut now = Now {
            to: self.to,
            workspace: Some(self.workspace),
            chat: Some(self.chat),
            ..Now::default()
        };
        now.look_up(&self.control, frame).await?;
        Ok(entries::told(frame, at, &now))
    }

    async fn refuse(&mut self, socket: &mut WebSocket, error: ErrorFrame) -> Result<(), Closed> {
        self.send_frame(socket, &AgentFrame::Error(error)).await
    }

    async fn take(&mut self, socket: &mut WebSocket, message: WsMessage) -> Result<(), Closed> {
        let text = match message {
            WsMessage::Text(text) => text,
            WsMessage::Ping(_) | WsMessage::Pong(_) => return Ok(()),
            WsMessage::Binary(_) | WsMessage::Close(_) => {
                return self
                    .bad_frame(socket, error(ErrorCode::BadRequest, "frames are JSON text", None))
                    .await;
            }
        };
        match read_frame(&text) {
            Err(error) => self.bad_frame(socket, error).await,
            Ok(frame) => {
                self.bad_frames = 0;
                self.carry_out(socket, frame).await
            }
        }
    }

    async fn bad_frame(&mut self, socket: &mut WebSocket, error: ErrorFrame) -> Result<(), Closed> {
        self.bad_frames += 1;
        self.refuse(socket, error).await?;
        if self.bad_frames >= MAX_BAD_FRAMES {
            return self.close_for(socket, "too many frames that can't be read").await;
        }
        Ok(())
    }

    async fn carry_out(
        &mut self,
        socket: &mut WebSocket,
        frame: ClientFrame,
    ) -> Result<(), Closed> {
        if self.ended().await {
            return self.close_for(socket, ENDED).await;
        }
        let (id, done) = match frame {
            ClientFrame::Message(message) => {
                let id = message.id.to_string();
                (Some(id), self.message(socket, message).await?)
            }
            ClientFrame::Cancel(cancel) => (None, self.cancel(cancel).await),
            ClientFrame::Approval(answer) => {
                (Some(answer.id.to_string()), self.approval(answer).await)
            }
        };
        match done {
            Ok(()) => Ok(()),
            Err(failure) => {
                if failure.code() == ErrorCode::Internal {
                    tracing::error!(error = failure.chain(), "a frame of a client failed");
                }
                let body = match self.shape {
                    Shape::RowsAndHtml => failure.body_in(self.to),
                    Shape::Bare | Shape::Rows => failure.body(),
                };
                if body.code == ErrorCode::Busy {
                    // Who floods waits a little for each refusal, too.
                    tokio::time::sleep(BUSY_DELAY).await;
                }
                let fix = match self.shape {
                    Shape::RowsAndHtml => for_people(body.fix.as_deref()),
                    Shape::Bare | Shape::Rows => body.fix.as_deref(),
                };
                let fix = fix.map(|fix| format!(" ({fix})")).unwrap_or_default();
                let refusal = ErrorFrame {
                    retry_after_s: body.retry_after_s,
                    ..error(body.code, &format!("{}{fix}", body.message), id)
                };
                self.refuse(socket, refusal).await
            }
        }
    }

    async fn message(
        &mut self,
        socket: &mut WebSocket,
        message: Message,
    ) -> Result<Result<(), ControlError>, Closed> {
        if message.chat.is_some_and(|chat| chat != self.chat) {
            let wrong = format!("this socket is for chat {}", self.chat);
            return Ok(Err(ControlError::refused(ErrorCode::BadRequest, wrong)));
        }
        let incoming = IncomingMessage {
            surface: SURFACE,
            workspace: self.workspace,
            chat: self.chat,
            id: message.id.clone(),
            from: self.from.clone(),
            text: message.text,
            attachments: message.attachments,
            instead: message.instead,
            heard_in: None,
        };
        let receipt = match self.control.inbox().receive(incoming).await {
            Ok(receipt) => receipt,
            Err(failure) => return Ok(Err(failure.into())),
        };
        let accepted = AgentFrame::Accepted { id: message.id, turn: receipt.turn.clone() };
        self.send_frame(socket, &accepted).await?;
        if receipt.duplicate {
            // The client may have missed the answer on an earlier connection.
            let rows = self.control.inbox().told_in(self.workspace, &receipt.turn).await;
            for OutboxItem { id, frame, created_at, .. } in rows.unwrap_or_default() {
                let kept = Kept { row: id, at: created_at };
                self.pass_on(socket, &frame, Some(kept)).await?;
            }
        }
        Ok(Ok(()))
    }

    async fn cancel(&self, cancel: Cancel) -> Result<(), ControlError> {
        let (user, actor) = (self.owner.user, &Actor::person(&self.from));
        let chat = (self.workspace, self.chat);
        match (cancel.turn, cancel.task) {
            (Some(turn), _) => self.control.tasks().cancel_turn_in_chat(user, chat, &turn).await?,
            (None, Some(task)) => {
                let call = ChatCall::CancelTask;
                let task = self.control.tasks().task_in_chat(user, call, chat, task).await?;
                self.control.tasks().cancel_task(actor, &task).await?;
            }
            (None, None) => {
                self.allowed(ChatCall::CancelTask).await?;
                self.control.tasks().cancel_tasks(actor, self.workspace, Some(self.chat)).await?;
            }
        }
        Ok(())
    }

    async fn approval(&self, given: ApprovalAnswer) -> Result<(), ControlError> {
        let ApprovalAnswer { id, answer, digest } = given;
        let (by, digest) = (self.owner.user, digest.as_deref());
        self.control.gates().answer_approval(by, self.workspace, id, answer, digest).await?;
        Ok(())
    }

    /// Closes for something that the client did.
    async fn close_for(&self, socket: &mut WebSocket, why: &str) -> Result<(), Closed> {
        self.close(socket, close_code::POLICY, why, CLOSE_TIME).await
    }

    async fn close(
        &self,
        socket: &mut WebSocket,
        code: CloseCode,
        why: &str,
        within: Duration,
    ) -> Result<(), Closed> {
        let frame = CloseFrame { code, reason: why.to_owned().into() };
        send(socket, WsMessage::Close(Some(frame))).await?;
        // A connection that is dropped with unread frames in it is reset, and the client loses what
        // it was told last: read on until it has closed its side.
        let closed = async { while let Some(Ok(_)) = socket.recv().await {} };
        if tokio::time::timeout(within, closed).await.is_err() {
            tracing::debug!(workspace = %self.workspace, "a client did not close its side in time");
        }
        Err(Closed)
    }
}

/// A frame that is kept, for a client that goes by rows.
async fn send_with_row(
    socket: &mut WebSocket,
    frame: &AgentFrame,
    kept: Kept,
) -> Result<(), Closed> {
    match serde_json::to_value(frame) {
        Ok(mut value) => {
            if let Some(fields) = value.as_object_mut() {
                fields.insert("row".to_owned(), kept.row.into());
            }
            send(socket, WsMessage::Text(value.to_string().into())).await
        }
        Err(error) => {
            tracing::error!(error = with_causes(&error), "a frame could not be written");
            Ok(())
        }
    }
}

async fn send(socket: &mut WebSocket, message: WsMessage) -> Result<(), Closed> {
    match tokio::time::timeout(SEND_TIME, socket.send(message)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(Closed),
    }
}
