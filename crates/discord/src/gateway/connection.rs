//! One connection to the gateway: its heart beats, and what it says is read once.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io;
use std::time::Duration;

use cloister_kit::WayOut;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::dial::{Socket, dial};
use super::events::Packet;

/// What the numbers of packets mean.
pub(super) mod op {
    /// An event.
    pub(crate) const DISPATCH: u8 = 0;
    pub(crate) const HEARTBEAT: u8 = 1;
    pub(crate) const IDENTIFY: u8 = 2;
    pub(crate) const RESUME: u8 = 6;
    /// The connection is to be made anew, and the session resumed in it.
    pub(crate) const RECONNECT: u8 = 7;
    /// The session is none, or can be resumed all the same.
    pub(crate) const INVALID_SESSION: u8 = 9;
    pub(crate) const HELLO: u8 = 10;
    pub(crate) const HEARD_HEARTBEAT: u8 = 11;
}

/// We go, and the session stays: only 1000 and 1001 would end it.
const RESUMES: u16 = 4000;
/// A beat that comes later than this is late because of us.
const IN_TIME: Duration = Duration::from_secs(1);
/// How long it may take to say that we go.
const LEAVES_WITHIN: Duration = Duration::from_secs(1);
/// How often a heart beats, at the least and at the most.
const BEATS: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(10 * 60)];

/// What comes next.
pub(super) enum FromGateway {
    Packet(Packet),
    /// It was closed, with this code and these words; 0 where there is none.
    Closed(u16, String),
}

pub(super) struct Connection {
    socket: Socket,
    /// The number of the last event.
    seq: Option<u64>,
    heart: Option<Heart>,
}

/// Beats from the hello on.
struct Heart {
    every: Duration,
    next: Instant,
    /// The last beat was heard.
    heard: bool,
}

impl Connection {
    /// `seq`: of the last event of the session that is resumed.
    pub(super) async fn open(
        url: &str,
        way_out: Option<&WayOut>,
        seq: Option<u64>,
    ) -> io::Result<Self> {
        Ok(Self { socket: dial(url, way_out).await?, seq, heart: None })
    }

    /// What the gateway says next. What can't be read is passed over: it is nobody's business.
    pub(super) async fn next(&mut self) -> Result<FromGateway, Error> {
        loop {
            let beat = self.heart.as_ref().map(|heart| heart.next);
            let said = tokio::select! {
                said = self.socket.next() => said,
                () = until(beat) => {
                    if !self.beat().await? {
                        self.leave().await;
                        return Ok(FromGateway::Closed(RESUMES, "no heartbeat was answered".to_owned()));
                    }
                    continue;
                }
            };
            let text = match said {
                Some(Ok(Message::Text(text))) => text,
                Some(Ok(Message::Close(frame))) => {
                    let said = frame.map(|frame| (frame.code.into(), frame.reason.to_string()));
                    let (code, reason) = said.unwrap_or_default();
                    return Ok(FromGateway::Closed(code, reason));
                }
                Some(Ok(_)) => continue,
                Some(Err(error)) => return Err(error),
                None => return Ok(FromGateway::Closed(0, String::new())),
            };
            let Some(packet) = Packet::read(&text) else { continue };
            self.seq = packet.s.or(self.seq);
            match packet.op {
                op::HELLO => self.heart = Heart::of(&packet.d),
                op::HEARTBEAT => self.say_beat().await?,
                op::HEARD_HEARTBEAT => {
                    if let Some(heart) = &mut self.heart {
                        heart.heard = true;
                    }
                }
                _ => {}
            }
            return Ok(FromGateway::Packet(packet));
        }
    }

    pub(super) async fn say(&mut self, op: u8, data: Value) -> Result<(), Error> {
        let packet = json!({ "op": op, "d": data });
        self.socket.send(Message::text(packet.to_string())).await
    }

    /// Ends the connection so that the session can be resumed in another.
    pub(super) async fn leave(&mut self) {
        let frame = CloseFrame { code: CloseCode::from(RESUMES), reason: "".into() };
        // Gone it is in either case.
        timeout(LEAVES_WITHIN, self.socket.close(Some(frame))).await.ok();
    }

    /// Whether the beat before was heard.
    async fn beat(&mut self) -> Result<bool, Error> {
        let Some(heart) = &mut self.heart else { return Ok(true) };
        // Where we were busy ourselves, the answer waits to be read.
        if !heart.heard && heart.next.elapsed() < IN_TIME {
            return Ok(false);
        }
        heart.heard = false;
        heart.next = Instant::now() + heart.every;
        self.say_beat().await?;
        Ok(true)
    }

    async fn say_beat(&mut self) -> Result<(), Error> {
        let seq = json!(self.seq);
        self.say(op::HEARTBEAT, seq).await
    }
}

impl Heart {
    /// The first beat comes at some time within the interval: not all that lost a connection at once beat at once.
    fn of(hello: &Value) -> Option<Self> {
        let every = Duration::from_millis(hello.get("heartbeat_interval")?.as_u64()?);
        let every = every.clamp(BEATS[0], BEATS[1]);
        let part = RandomState::new().hash_one(0_u8) % 1000;
        let first = every.mul_f64(f64::from(u32::try_from(part).unwrap_or(0)) / 1000.0);
        Some(Self { every, next: Instant::now() + first, heard: true })
    }
}

/// Never, where there is no time.
async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
