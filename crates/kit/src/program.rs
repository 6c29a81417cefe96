//! A connector as a program: says hello, is welcomed, does what it is ordered to, and ends with the line.

use cloister_protocol::with_causes;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use cloister_protocol::link::DOOR_PATH;
use cloister_protocol::surface::{
    ConnectorFrame, Customs, FrameAnswer, Hello, LONGEST_LINE, News as Told, PlaneFrame, VERSION,
    Welcomed,
};
use futures_util::{SinkExt, StreamExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::host::{Host, serve};
use crate::logging;
use crate::outside::WayOut;
use crate::plane::{News, Plane, Settings};
use crate::socket::Socket;

/// Where a connector keeps what it keeps.
pub const STATE_PATH: &str = "/state";
/// How long the control plane may take to welcome it.
const WELCOMED_WITHIN: Duration = Duration::from_secs(30);
/// How long its accounts have to disconnect when the line is gone.
const END_TIME: Duration = Duration::from_secs(5);
/// Frames on their way to the control plane; who sends more waits.
const MOST_ON_THE_WAY: usize = 256;

type Incoming = FramedRead<OwnedReadHalf, LinesCodec>;
type Outgoing = FramedWrite<OwnedWriteHalf, LinesCodec>;

/// What a connector is, before it knows anything.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    pub surface: &'static str,
    pub version: &'static str,
    /// Its platform's hosts, as [`Hello`] has them.
    pub hosts: &'static [&'static str],
    /// What is different on its surface.
    pub customs: Customs,
}

/// Lives until the control plane has had enough of it.
pub fn run<H: Host>(
    program: Program,
    make: impl FnOnce(Plane, &Path) -> Result<Arc<H>, String>,
) -> ExitCode {
    rustls::crypto::ring::default_provider().install_default().ok();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let lived = match runtime {
        Ok(runtime) => runtime.block_on(live(program, make)),
        Err(error) => {
            Err(format!("no runtime could be made: {error}", error = with_causes(&error)))
        }
    };
    match lived {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // Nobody can be told if this fails, too.
            writeln!(std::io::stderr(), "cloister-{}: {why}", program.surface).ok();
            ExitCode::FAILURE
        }
    }
}

async fn live<H: Host>(
    program: Program,
    make: impl FnOnce(Plane, &Path) -> Result<Arc<H>, String>,
) -> Result<(), String> {
    let door = UnixStream::connect(DOOR_PATH).await;
    let door = door.map_err(|error| {
        format!("the control plane can't be reached: {error}", error = with_causes(&error))
    })?;
    let (read, write) = door.into_split();
    let mut lines = FramedRead::new(read, LinesCodec::new_with_max_length(LONGEST_LINE));
    let mut writer = FramedWrite::new(write, LinesCodec::new());
    let welcome = greet(program, &mut lines, &mut writer).await?;
    let way_out = WayOut::open(Path::new(DOOR_PATH)).await;
    let way_out = way_out
        .map_err(|error| format!("there is no way out: {error}", error = with_causes(&error)))?;
    let (frames, to_write) = mpsc::channel(MOST_ON_THE_WAY);
    logging::init(&welcome.settings.log, frames.clone())?;
    let tasks = TaskTracker::new();
    tasks.spawn(write_all(writer, to_write));
    let socket = Arc::new(Socket::new(frames.clone()));
    let (stop, settings) = (CancellationToken::new(), Settings::from(welcome.settings));
    let news = News::new(stop.clone());
    let settings = Settings { way_out: Some(way_out), ..settings };
    let (plane, teller) =
        Plane::new(program.surface, Arc::clone(&socket) as _, settings, news.clone());
    tasks.spawn(teller);
    let host = make(plane, Path::new(STATE_PATH))?;
    let ended = obey(&host, &mut lines, (&socket, &news), (&frames, &tasks)).await;
    stop.cancel();
    drop(tokio::time::timeout(END_TIME, host.hosted().connections.end_all()).await);
    ended
}

/// The first words of both sides.
async fn greet(
    program: Program,
    lines: &mut Incoming,
    writer: &mut Outgoing,
) -> Result<Welcomed, String> {
    let hello = ConnectorFrame::Hello(Hello {
        version: VERSION,
        surface: program.surface.to_owned(),
        program: format!("cloister-{} {}", program.surface, program.version),
        hosts: program.hosts.iter().map(|host| (*host).to_owned()).collect(),
        customs: program.customs,
    });
    let line = serde_json::to_string(&hello).map_err(|error| with_causes(&error))?;
    writer.send(line).await.map_err(|error| {
        format!("hello could not be said: {error}", error = with_causes(&error))
    })?;
    let answer = tokio::time::timeout(WELCOMED_WITHIN, lines.next()).await;
    let answer = answer.map_err(|late| format!("the control plane did not answer: {late}"))?;
    match answer.map(|line| parse(&line)) {
        Some(Ok(PlaneFrame::Welcome(welcome))) if welcome.version == VERSION => Ok(welcome),
        Some(Ok(PlaneFrame::Welcome(welcome))) => Err(format!(
            "the control plane speaks version {} of the surface protocol, this program {VERSION}",
            welcome.version
        )),
        Some(Ok(PlaneFrame::Refused(body))) => Err(body.message),
        Some(Ok(other)) => Err(format!("the control plane said {other:?} first")),
        Some(Err(why)) => Err(why),
        None => Err("the control plane hung up".to_owned()),
    }
}

fn parse<E: std::fmt::Display>(line: &Result<String, E>) -> Result<PlaneFrame, String> {
    let line = line.as_ref().map_err(|why| format!("the line broke: {why}"))?;
    serde_json::from_str(line)
        .map_err(|error| format!("a frame can't be read: {error}", error = with_causes(&error)))
}

/// Takes what the control plane says until it says stop or is gone.
async fn obey<H: Host>(
    host: &Arc<H>,
    lines: &mut Incoming,
    (socket, news): (&Socket, &News),
    (frames, tasks): (&mpsc::Sender<ConnectorFrame>, &TaskTracker),
) -> Result<(), String> {
    while let Some(line) = lines.next().await {
        let frame = match parse(&line) {
            Ok(frame) => frame,
            Err(why) if line.is_ok() => {
                // One of a newer control plane; whoever waits for an answer stops waiting.
                tracing::warn!(why, "something of the control plane was not understood");
                continue;
            }
            Err(why) => return Err(why),
        };
        match frame {
            PlaneFrame::Order { id, order } => {
                let (host, frames) = (Arc::clone(host), frames.clone());
                tasks.spawn(async move {
                    let done = serve(&*host, *order).await;
                    // Closed: the line is gone, and whoever ordered knows.
                    drop(frames.send(ConnectorFrame::Answer(FrameAnswer::new(id, done))).await);
                });
            }
            PlaneFrame::Answer(answer) => socket.answered(answer),
            PlaneFrame::News { what: Told::Chats } => news.chats_changed(),
            PlaneFrame::News { what: Told::Access } => news.access_changed(),
            PlaneFrame::Stop => return Ok(()),
            PlaneFrame::Welcome(_) | PlaneFrame::Refused(_) => {}
        }
    }
    Err("the control plane hung up".to_owned())
}

async fn write_all(mut writer: Outgoing, mut frames: mpsc::Receiver<ConnectorFrame>) {
    while let Some(frame) = frames.recv().await {
        let Ok(line) = serde_json::to_string(&frame) else { continue };
        if writer.send(line).await.is_err() {
            return;
        }
    }
}
