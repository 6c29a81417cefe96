//! The gateway v10: hello, heartbeats, identify, resume with replay, and how it closes on who does it wrong.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderName, HeaderValue, UPGRADE};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message as Frame;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};

use super::permissions::{GUILDS, KNOWN_INTENTS, PRIVILEGED};
use super::rest::only;
use super::serve::{Answer, CutNow, respond};
use super::state::{Id, Out, Session, Shared, State};
use super::{events, views};

/// How much may wait to be read by a bot.
const LINE: usize = 4096;
/// Commands of a connection in a minute.
const MOST_COMMANDS: usize = 120;

/// A connection that has become a socket.
pub(super) struct Upgraded {
    socket: OnUpgrade,
    query: String,
    at_resume: bool,
}

pub(super) fn upgrade(
    shared: &Shared,
    mut request: hyper::Request<Incoming>,
    hand: &mpsc::Sender<Upgraded>,
) -> Result<Answer, CutNow> {
    if shared.state().settings.gateway_down {
        return Err(CutNow);
    }
    let key = request.headers().get("sec-websocket-key").cloned();
    let accept = key.map(|key| derive_accept_key(key.as_bytes())).unwrap_or_default();
    let query = request.uri().query().unwrap_or_default().to_owned();
    let at_resume = request.uri().path().starts_with("/resume");
    let socket = hyper::upgrade::on(&mut request);
    if hand.try_send(Upgraded { socket, query, at_resume }).is_err() {
        return Err(CutNow);
    }
    let mut answer = respond(101, "text/plain", Bytes::new());
    let headers = answer.headers_mut();
    headers.clear();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(accept) = HeaderValue::from_str(&accept) {
        headers.insert(HeaderName::from_static("sec-websocket-accept"), accept);
    }
    Ok(answer)
}

/// Why a connection is closed.
struct Close(u16, &'static str);

/// One connection, from hello to its end.
struct Line {
    shared: Arc<Shared>,
    sender: mpsc::Sender<Out>,
    session: Option<String>,
    commands: usize,
    at_resume: bool,
}

pub(super) async fn run(shared: &Arc<Shared>, upgraded: Upgraded) {
    let Ok(socket) = upgraded.socket.await else { return };
    let mut socket =
        WebSocketStream::from_raw_socket(TokioIo::new(socket), Role::Server, None).await;
    let (sender, mut queue) = mpsc::channel(LINE);
    let mut line = Line {
        shared: Arc::clone(shared),
        sender,
        session: None,
        commands: 0,
        at_resume: upgraded.at_resume,
    };
    let query = super::rest::query(&upgraded.query);
    if query.get("v").map(String::as_str) != Some("10") {
        close(&mut socket, 4012, "Invalid API version.").await;
        return;
    }
    let beat = shared.state().settings.heartbeat;
    let interval = u64::try_from(beat.as_millis()).unwrap_or(u64::MAX);
    let hello = json!({"op": 10, "s": null, "t": null,
                       "d": {"heartbeat_interval": interval, "_trace": ["[\"fake\"]"]}});
    if socket.send(Frame::text(hello.to_string())).await.is_err() {
        return;
    }
    let mut alive_until = Instant::now() + patience(beat);
    loop {
        tokio::select! {
            () = sleep_until(alive_until) => {
                shared.state().complain("no heartbeat came in time");
                close(&mut socket, 4009, "Session timed out.").await;
                break;
            }
            out = queue.recv() => match out {
                Some(Out::Text(text)) => {
                    if socket.send(Frame::text(text)).await.is_err() { break }
                }
                Some(Out::Close(code, why)) => {
                    close(&mut socket, code, why).await;
                    break;
                }
                Some(Out::Cut) | None => break,
            },
            frame = socket.next() => match frame {
                Some(Ok(Frame::Text(text))) => match line.take(text.as_str()) {
                    Ok(true) => alive_until = Instant::now() + patience(beat),
                    Ok(false) => {}
                    Err(Close(code, why)) => {
                        close(&mut socket, code, why).await;
                        shared.state().closes.push(code);
                        break;
                    }
                },
                Some(Ok(Frame::Close(frame))) => {
                    line.closed(frame.map(|frame| u16::from(frame.code)));
                    break;
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => break,
            },
        }
    }
    line.ended();
}

/// A heartbeat that is late by less than this is none too late.
fn patience(beat: Duration) -> Duration {
    beat * 2 + Duration::from_secs(1)
}

async fn close<S>(socket: &mut WebSocketStream<S>, code: u16, why: &'static str)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let frame = CloseFrame { code: CloseCode::from(code), reason: why.into() };
    // Who is gone already need not be told.
    socket.close(Some(frame)).await.ok();
    // The other side closes the connection once it has read this.
    let read_on = async { while let Some(Ok(_)) = socket.next().await {} };
    tokio::time::timeout(Duration::from_secs(2), read_on).await.ok();
}

impl Line {
    /// Takes a command; whether it was a heartbeat.
    fn take(&mut self, text: &str) -> Result<bool, Close> {
        self.commands += 1;
        if self.commands > MOST_COMMANDS {
            return Err(Close(4008, "Rate limited."));
        }
        let Ok(command) = serde_json::from_str::<Value>(text) else {
            return Err(Close(4002, "Error while decoding payload."));
        };
        let shared = Arc::clone(&self.shared);
        let mut state = shared.state();
        let done = match command["op"].as_u64() {
            Some(1) => {
                let acks = state.settings.acks;
                if acks {
                    self.say(json!({"op": 11, "s": null, "t": null, "d": null}));
                }
                Ok(true)
            }
            Some(2) => self.identify(&mut state, &command["d"]).map(|()| false),
            Some(6) => self.resume(&mut state, &command["d"]).map(|()| false),
            Some(3 | 4 | 8) if self.session.is_some() => Ok(false),
            Some(3 | 4 | 8) => Err(Close(4003, "Not authenticated.")),
            _ => Err(Close(4001, "Unknown opcode.")),
        };
        drop(state);
        shared.stir();
        done
    }

    fn say(&self, frame: Value) {
        // A line that is full or gone ends by itself.
        self.sender.try_send(Out::Text(frame.to_string())).ok();
    }

    fn invalid(&self, resumable: bool) {
        self.say(json!({"op": 9, "s": null, "t": null, "d": resumable}));
    }

    fn identify(&mut self, state: &mut State, data: &Value) -> Result<(), Close> {
        if self.session.is_some() {
            return Err(Close(4005, "Already authenticated."));
        }
        let known = [
            "token",
            "properties",
            "compress",
            "large_threshold",
            "shard",
            "presence",
            "intents",
            "capabilities",
        ];
        only(state, "identify", data, &known);
        for needed in ["os", "browser", "device"] {
            if data["properties"][needed].as_str().is_none() {
                state.complain(format!("identify: properties.{needed} is missing"));
            }
        }
        let token = data["token"].as_str().unwrap_or_default();
        let token = token.strip_prefix("Bot ").unwrap_or(token);
        let Some(bot) = state.bot_by_token(token) else {
            return Err(Close(4004, "Authentication failed."));
        };
        let (user, privileged, needed) = (bot.user, bot.privileged, bot.shards);
        let Some(intents) = data["intents"].as_u64().filter(|bits| bits & !KNOWN_INTENTS == 0)
        else {
            return Err(Close(4013, "Invalid intent(s)."));
        };
        if intents & PRIVILEGED & !privileged != 0 {
            return Err(Close(4014, "Disallowed intent(s)."));
        }
        let number = |at: usize| data["shard"][at].as_u64().and_then(|n| u32::try_from(n).ok());
        let shard = match (number(0), number(1)) {
            (None, None) => (0, 1),
            (Some(shard), Some(of)) if shard < of => (shard, of),
            _ => return Err(Close(4010, "Invalid shard.")),
        };
        if shard.1 < needed && needed > 2 {
            return Err(Close(4011, "Sharding required."));
        }
        let every = state.settings.identify_every;
        let recent = state.identifies.iter().rev().find(|(who, _)| *who == user);
        let too_soon = recent.is_some_and(|(_, at)| at.elapsed() < every);
        state.identifies.push((user, std::time::Instant::now()));
        if too_soon {
            self.invalid(false);
            return Ok(());
        }
        if let Some(bot) = state.bot_mut(user) {
            if bot.starts_left == 0 {
                return Err(Close(4004, "Authentication failed."));
            }
            bot.starts_left -= 1;
        }
        self.begin(state, user, shard, intents);
        Ok(())
    }

    fn begin(&mut self, state: &mut State, bot: Id, shard: (u32, u32), intents: u64) {
        let id = format!("{:032x}", u128::from(state.next_id()));
        let resume = format!("ws://{}/resume", self.shared.address);
        let ready = views::ready(state, bot, &id, shard, &resume);
        let mut session = Session {
            id: id.clone(),
            bot,
            shard,
            intents,
            seq: 0,
            sent: Vec::new(),
            line: Some(self.sender.clone()),
        };
        events::dispatch(&mut session, "READY", &ready);
        if intents & GUILDS != 0 {
            let guilds = ready["guilds"].as_array().cloned().unwrap_or_default();
            for guild in guilds.iter().filter_map(|guild| guild["id"].as_str()?.parse().ok()) {
                events::dispatch(&mut session, "GUILD_CREATE", &views::guild(state, guild, bot));
            }
        }
        state.sessions.push(session);
        self.session = Some(id);
    }

    fn resume(&mut self, state: &mut State, data: &Value) -> Result<(), Close> {
        only(state, "resume", data, &["token", "session_id", "seq"]);
        let token = data["token"].as_str().unwrap_or_default();
        let token = token.strip_prefix("Bot ").unwrap_or(token);
        let Some(bot) = state.bot_by_token(token).map(|bot| bot.user) else {
            return Err(Close(4004, "Authentication failed."));
        };
        if !self.at_resume {
            // It works, and Discord would rather not have it.
            state.resumed_elsewhere += 1;
        }
        let id = data["session_id"].as_str().unwrap_or_default().to_owned();
        if state.settings.refuse_resumes > 0 {
            state.settings.refuse_resumes -= 1;
            state.sessions.retain(|session| session.id != id);
        }
        let again = state.settings.replay_again;
        let known = state.sessions.iter_mut().find(|known| known.id == id && known.bot == bot);
        let Some(session) = known else {
            self.invalid(false);
            return Ok(());
        };
        let seq = data["seq"].as_u64().unwrap_or(u64::MAX);
        if seq > session.seq {
            return Err(Close(4007, "Invalid seq."));
        }
        let from = seq.saturating_sub(again as u64);
        session.line = Some(self.sender.clone());
        for (_, text) in session.sent.iter().filter(|(number, _)| *number > from) {
            self.sender.try_send(Out::Text(text.clone())).ok();
        }
        events::dispatch(session, "RESUMED", &json!({"_trace": ["[\"fake\"]"]}));
        state.resumes += 1;
        self.session = Some(id);
        Ok(())
    }

    /// The bot closed it: normally, and its session is over.
    fn closed(&self, code: Option<u16>) {
        if matches!(code, Some(1000 | 1001)) {
            let mut state = self.shared.state();
            let own = self.session.clone().unwrap_or_default();
            state.sessions.retain(|session| session.id != own);
        }
    }

    fn ended(&self) {
        let mut state = self.shared.state();
        let own = |session: &&mut Session| {
            session.line.as_ref().is_some_and(|line| line.same_channel(&self.sender))
        };
        if let Some(session) = state.sessions.iter_mut().find(own) {
            session.line = None;
        }
        drop(state);
        self.shared.stir();
    }
}
