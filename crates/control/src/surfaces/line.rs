//! The socket of a connector: one conversation in frames, and any number of connections to the platform.
//!
//! Promises: nothing is listened to before a hello of the right surface and version; what a connector sends is
//! bounded in length, in number and, where it must say something first, in time.

use std::sync::Arc;
use std::time::Duration;

use cloister_kit::{Bucket, Rate, UnderWay};
use cloister_protocol::surface::{
    AnyCall, AnyOrder, ConnectorFrame, FrameAnswer, Hello, LONGEST_LINE, LogLevel, LogLine, News,
    PlaneFrame, Settings, VERSION, Welcomed,
};
use cloister_protocol::{ErrorBody, ErrorCode, with_causes};
use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec};
use tokio_util::sync::CancellationToken;

use super::SurfaceDesk;

/// How long a connection may take to say what it is.
pub(super) const SAYS_WITHIN: Duration = Duration::from_secs(10);
/// How long one that is to end has for that.
const ENDS_WITHIN: Duration = Duration::from_secs(6);
/// Frames on their way to a connector; who orders more waits.
const MOST_ON_THE_WAY: usize = 256;
/// Calls that are answered at once; more wait unread.
const MOST_CALLS: usize = 256;
/// How much of the calls that are answered at once, in units of a kilobyte.
const MOST_UNDER_WAY: usize = 64 << 10;
/// The first line of a connection: its hello, or where it wants to go.
const LONGEST_FIRST: usize = 64 << 10;
/// Lines of its log that are kept: at once, and in a second from then on; and how much of each.
const LOG_BURST: u32 = 1000;
const LOG_PER_S: f64 = 50.0;
const LONGEST_LOG: usize = 8 << 10;
/// Hosts that a refusal names.
const MOST_NAMED: usize = 8;

pub(super) type Lines = FramedRead<OwnedReadHalf, LinesCodec>;
type FrameWriter = FramedWrite<OwnedWriteHalf, LinesCodec>;

/// A connector that was welcomed: what it is told.
pub(super) struct ConnectorLine {
    frames: mpsc::Sender<PlaneFrame>,
    orders: UnderWay,
    /// It is to end by itself.
    ending: CancellationToken,
}

impl ConnectorLine {
    /// Has something done, and waits for what became of it.
    pub(super) async fn order(&self, order: AnyOrder) -> Result<Value, ErrorBody> {
        let order = Box::new(order);
        let send =
            |id| async move { self.frames.send(PlaneFrame::Order { id, order }).await.is_ok() };
        self.orders.ask(send).await.unwrap_or_else(|_closed| {
            Err(refusal(ErrorCode::ShuttingDown, "the connector has ended"))
        })
    }

    /// Makes something known.
    pub(super) async fn tell(&self, what: News) {
        // Closed: there is nobody to know it.
        drop(self.frames.send(PlaneFrame::News { what }).await);
    }

    /// Lets it end by itself, whatever else it is still to be told.
    pub(super) fn stop(&self) {
        self.ending.cancel();
    }
}

/// What a connection turned out to be.
pub(super) enum Opened {
    /// The connector itself.
    Connector(Lines, OwnedWriteHalf, Value),
    /// It wants to be connected to a host of its platform.
    Outside { stream: UnixStream, host: String, port: u16 },
}

/// Reads the first that a connection says; none: it makes no sense.
pub(super) async fn open(stream: UnixStream) -> Option<Opened> {
    let (read, write) = stream.into_split();
    let mut lines = FramedRead::new(read, LinesCodec::new_with_max_length(LONGEST_FIRST));
    let first = lines.next().await?.ok()?;
    let Some(rest) = first.strip_prefix("CONNECT ") else {
        let lines = lines.map_decoder(|_first| LinesCodec::new_with_max_length(LONGEST_LINE));
        return Some(Opened::Connector(lines, write, serde_json::from_str(&first).ok()?));
    };
    let (host, port) = rest.split_whitespace().next()?.rsplit_once(':')?;
    let (host, port) = (host.trim_matches(['[', ']']).to_owned(), port.parse().ok()?);
    while !lines.next().await?.ok()?.is_empty() {}
    // Who sends more before it is answered would lose it.
    if !lines.read_buffer().is_empty() {
        return None;
    }
    let stream = lines.into_inner().reunite(write).ok()?;
    Some(Opened::Outside { stream, host, port })
}

/// A connector whose hello was right.
pub(super) struct Greeted {
    pub(super) line: Arc<ConnectorLine>,
    pub(super) hello: Hello,
    lines: Lines,
    writer: FrameWriter,
    to_write: mpsc::Receiver<PlaneFrame>,
}

/// Why a connector is not welcome.
pub(super) enum Unwelcome {
    /// Its hello makes no sense here, or it is gone.
    Hello(String),
    /// It wants to reach what it is not given.
    Hosts { why: String, wanted: String },
}

impl Unwelcome {
    pub(super) fn why(self) -> String {
        match self {
            Self::Hello(why) | Self::Hosts { why, .. } => why,
        }
    }
}

/// Looks at the first frame and welcomes the connector; otherwise it is told why not. `most` are the hosts that it may
/// declare at most; none: any.
pub(super) async fn greet(
    (lines, write, first): (Lines, OwnedWriteHalf, Value),
    (surface, most): (&str, Option<&[&str]>),
    settings: Settings,
) -> Result<Greeted, Unwelcome> {
    let mut writer = FramedWrite::new(write, LinesCodec::new());
    let hello = match hello(first, surface).map_err(Unwelcome::Hello) {
        Ok(hello) => within(hello, most),
        Err(unwelcome) => Err(unwelcome),
    };
    let hello = match hello {
        Ok(hello) => hello,
        Err(unwelcome) => {
            let (Unwelcome::Hello(why) | Unwelcome::Hosts { why, .. }) = &unwelcome;
            let refused = PlaneFrame::Refused(refusal(ErrorCode::BadRequest, why));
            send(&mut writer, &refused).await.ok();
            return Err(unwelcome);
        }
    };
    let welcome = PlaneFrame::Welcome(Welcomed { version: VERSION, settings });
    send(&mut writer, &welcome).await.map_err(Unwelcome::Hello)?;
    let (frames, to_write) = mpsc::channel(MOST_ON_THE_WAY);
    let (orders, ending) = (UnderWay::default(), CancellationToken::new());
    let line = ConnectorLine { frames, orders, ending };
    Ok(Greeted { line: Arc::new(line), hello, lines, writer, to_write })
}

fn hello(first: Value, surface: &str) -> Result<Hello, String> {
    let hello = match serde_json::from_value(first) {
        Ok(ConnectorFrame::Hello(hello)) => hello,
        Ok(_) => return Err("a connector says hello first".to_owned()),
        Err(error) => {
            return Err(format!("the hello can't be read: {error}", error = with_causes(&error)));
        }
    };
    if hello.version != VERSION {
        let theirs = hello.version;
        return Err(format!(
            "the connector speaks version {theirs} of the surface protocol, the control plane {VERSION}"
        ));
    }
    if hello.surface != surface {
        return Err(format!("this is the socket of {surface}, not of {}", hello.surface));
    }
    Ok(hello)
}

/// A program of ours reaches what is its platform's, whatever it has become.
fn within(hello: Hello, most: Option<&[&str]>) -> Result<Hello, Unwelcome> {
    let Some(most) = most else { return Ok(hello) };
    let beyond = hello.hosts.iter().filter(|host| !most.contains(&host.as_str()));
    let beyond: Vec<&str> = beyond.map(String::as_str).take(MOST_NAMED).collect();
    if beyond.is_empty() {
        return Ok(hello);
    }
    let wanted: String = beyond.join(", ").chars().filter(|c| !c.is_control()).take(500).collect();
    let why = format!("the connector declares hosts that are not its platform's: {wanted}");
    Err(Unwelcome::Hosts { why, wanted })
}

impl Greeted {
    /// Takes what the connector says until it is gone, and says why it is.
    pub(super) async fn talk(self, desk: Arc<SurfaceDesk>) -> String {
        let Self { line, mut lines, writer, to_write, .. } = self;
        let read = listen(&mut lines, &line, &desk);
        let why = tokio::select! {
            why = read => why,
            why = write_all(writer, to_write, &line.ending) => why,
        };
        line.orders.closed();
        why
    }
}

async fn listen(lines: &mut Lines, line: &Arc<ConnectorLine>, desk: &Arc<SurfaceDesk>) -> String {
    let room = Arc::new(Semaphore::new(MOST_CALLS));
    let under_way = Arc::new(Semaphore::new(MOST_UNDER_WAY));
    let logged = Bucket::new(Rate::new(LOG_BURST, LOG_PER_S));
    // What is still being answered when the connector goes is seen through: it may be stored already.
    while let Some(said) = lines.next().await {
        let read_as_frame = |said: String| {
            let units = u32::try_from(said.len() >> 10).unwrap_or(u32::MAX).saturating_add(1);
            let frame: Value = serde_json::from_str(&said).map_err(|error| with_causes(&error))?;
            Ok((frame, units))
        };
        let (frame, units) = match said.map_err(|error| with_causes(&error)).and_then(read_as_frame)
        {
            Ok(frame) => frame,
            Err(why) => {
                return format!("it said what is no frame: {why}");
            }
        };
        match read(frame) {
            FromConnector::Call(id, call) => {
                let Ok(permit) = Arc::clone(&room).acquire_owned().await else { break };
                let weight = Arc::clone(&under_way).acquire_many_owned(units).await;
                let Ok(weight) = weight else { break };
                let (line, asked) = (Arc::clone(line), Arc::clone(desk));
                desk.control.inner.crew.go("connector-call", async move {
                    let outcome = match call {
                        Ok(call) => asked.answer(*call).await,
                        Err(body) => Err(body),
                    };
                    drop((permit, weight));
                    let answer = PlaneFrame::Answer(FrameAnswer::new(id, outcome));
                    drop(line.frames.send(answer).await);
                });
            }
            FromConnector::Answer(answer) => line.orders.answered(answer),
            FromConnector::Log(log) if logged.take().is_ok() => desk.log(&log),
            FromConnector::Log(_) => {}
            FromConnector::Nothing => {}
        }
    }
    "it hung up".to_owned()
}

enum FromConnector {
    Call(u64, Result<Box<AnyCall>, ErrorBody>),
    Answer(FrameAnswer),
    Log(LogLine),
    /// Of a newer version, perhaps.
    Nothing,
}

/// A call that is not known here is answered all the same.
fn read(mut frame: Value) -> FromConnector {
    if frame.get("type").and_then(Value::as_str) == Some("call") {
        let id = frame.get("id").and_then(Value::as_u64).unwrap_or_default();
        let call = frame.get_mut("call").map(Value::take).unwrap_or_default();
        let call = serde_json::from_value(call).map(Box::new).map_err(|error| {
            refusal(
                ErrorCode::BadRequest,
                &format!("the call can't be read: {error}", error = with_causes(&error)),
            )
        });
        return FromConnector::Call(id, call);
    }
    match serde_json::from_value(frame) {
        Ok(ConnectorFrame::Answer(answer)) => FromConnector::Answer(answer),
        Ok(ConnectorFrame::Log(log)) => FromConnector::Log(log),
        Ok(ConnectorFrame::Hello(_) | ConnectorFrame::Call { .. }) | Err(_) => {
            FromConnector::Nothing
        }
    }
}

/// Writes what it is told. One that is to end is told that next, and has a while to do so.
async fn write_all(
    mut writer: FrameWriter,
    mut frames: mpsc::Receiver<PlaneFrame>,
    ending: &CancellationToken,
) -> String {
    loop {
        let frame = tokio::select! {
            () = ending.cancelled() => break,
            frame = frames.recv() => frame,
        };
        let Some(frame) = frame else { return "nobody tells it anything any more".to_owned() };
        if let Err(why) = send(&mut writer, &frame).await {
            return why;
        }
    }
    match send(&mut writer, &PlaneFrame::Stop).await {
        Ok(()) => {
            tokio::time::sleep(ENDS_WITHIN).await;
            "it did not end when it was to".to_owned()
        }
        Err(why) => why,
    }
}

async fn send(writer: &mut FrameWriter, frame: &PlaneFrame) -> Result<(), String> {
    let line = serde_json::to_string(frame).map_err(|error| with_causes(&error))?;
    writer
        .send(line)
        .await
        .map_err(|error| format!("it can't be told anything: {error}", error = with_causes(&error)))
}

pub(super) fn refusal(code: ErrorCode, message: &str) -> ErrorBody {
    ErrorBody { code, message: message.to_owned(), fix: None, retry_after_s: None }
}

impl SurfaceDesk {
    /// A line of a connector's log, beside our own. It is data: whatever it says is one field of ours.
    fn log(&self, line: &LogLine) {
        let cut = |text: &str| text.chars().take(LONGEST_LOG).collect::<String>();
        let (surface, fields, message) = (self.surface, cut(&line.fields), cut(&line.message));
        match line.level {
            LogLevel::Error => tracing::error!(surface, fields, "{message}"),
            LogLevel::Warn => tracing::warn!(surface, fields, "{message}"),
            LogLevel::Info => tracing::info!(surface, fields, "{message}"),
            LogLevel::Debug => tracing::debug!(surface, fields, "{message}"),
        }
    }
}
