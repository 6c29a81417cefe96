//! The connections of a connector's program: its line, and its way to its platform.

use std::sync::Arc;
use std::time::Duration;

use cloister_protocol::surface::{Customs, News, Settings, Start};
use cloister_protocol::with_causes;
use cloister_store::Actor;
use cloister_store::audit::Entry;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::io::AsyncWriteExt;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{ConnectorProgram, Now};
use crate::ports::OutsideStream;
use crate::surfaces::line::{self, ConnectorLine, Greeted, Opened, Unwelcome};

/// How long a program may take from its start to its hello.
const HELLO_WITHIN: Duration = Duration::from_secs(30);
/// How long connecting its accounts may take: each goes on in the background.
const START_WITHIN: Duration = Duration::from_secs(30);
/// Connections to its platform at once.
const MOST_OUTSIDE: usize = 1024;
const NO_HELLO: &str = "it did not say hello";

/// What the first connection turned out to be: the connector, which is heard until it is gone.
type Welcome = oneshot::Sender<Result<BoxFuture<'static, String>, String>>;

/// Why nobody listens to a program any more.
pub(super) enum LineEnded {
    /// It closed the line, or died.
    Closed(String),
    /// It was not let in, or says nothing.
    Refused(String),
}

impl ConnectorProgram {
    /// Takes the connections of the program until it has said goodbye.
    pub(super) async fn serve(
        self: &Arc<Self>,
        listener: &UnixListener,
        until: &CancellationToken,
    ) -> LineEnded {
        let outside = Arc::new(Semaphore::new(MOST_OUTSIDE));
        let (greeted, mut talks) = oneshot::channel::<Result<BoxFuture<'static, String>, String>>();
        let mut greeted = Some(greeted);
        let mut talk: Option<BoxFuture<'static, String>> = None;
        let no_hello = tokio::time::sleep(HELLO_WITHIN);
        tokio::pin!(no_hello);
        loop {
            let silent = talk.is_none();
            let said = async {
                match &mut talk {
                    Some(talk) => talk.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                why = said => return LineEnded::Closed(why),
                begun = &mut talks, if silent => match begun {
                    Ok(Ok(begun)) => talk = Some(begun),
                    Ok(Err(why)) => return LineEnded::Refused(why),
                    Err(_) => return LineEnded::Closed(NO_HELLO.to_owned()),
                },
                () = &mut no_hello, if silent => return LineEnded::Refused(NO_HELLO.to_owned()),
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => self.take(stream, &mut greeted, &outside, until),
                    Err(error) => {
                        tracing::warn!(error = with_causes(&error), surface = self.of.surface, "a connection of a connector was not taken");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
            }
        }
    }

    /// One connection of the program's. Who is the first says hello; every other goes outside.
    fn take(
        self: &Arc<Self>,
        stream: UnixStream,
        greeted: &mut Option<Welcome>,
        outside: &Arc<Semaphore>,
        until: &CancellationToken,
    ) {
        let (program, until) = (Arc::clone(self), until.clone());
        let greeted = greeted.take();
        let permit = Arc::clone(outside).try_acquire_owned();
        if greeted.is_none() && permit.is_err() {
            // It has as many as it may: what it says on another is not even read.
            return;
        }
        let work = async move {
            let Ok(Some(opened)) = timeout(line::SAYS_WITHIN, line::open(stream)).await else {
                return;
            };
            match (opened, greeted) {
                (Opened::Connector(lines, write, first), Some(greeted)) => {
                    let settings = program.settings();
                    let surface = program.of.surface;
                    let most = program.of.hosts;
                    let hello = (lines, write, first);
                    let welcomed = line::greet(hello, (surface, most), settings).await;
                    match &welcomed {
                        Ok(connector) => program.keep_customs(connector.hello.customs).await,
                        Err(Unwelcome::Hosts { wanted, .. }) => program.note_hosts(wanted).await,
                        Err(Unwelcome::Hello(_)) => {}
                    }
                    let welcomed = welcomed.map(|connector| program.talk(connector));
                    drop(greeted.send(welcomed.map_err(Unwelcome::why)));
                }
                (Opened::Outside { stream, host, port }, None) => {
                    if let Ok(_permit) = permit {
                        program.connect(stream, &host, port).await;
                    }
                }
                _ => {}
            }
        };
        self.control.inner.crew.go("connector-connection", async move {
            until.run_until_cancelled(work).await;
        });
    }

    /// What is different on its surface holds from now on, also while it is away.
    async fn keep_customs(&self, customs: Customs) {
        let surface = self.of.surface;
        let kept = self.control.store().conversations().set_customs(surface, customs).await;
        if let Err(error) = kept {
            let error = with_causes(&error);
            tracing::error!(surface, error, "what is different on a surface could not be kept");
        }
    }

    /// That it wanted to reach more than it may is kept: it may have become somebody else's.
    async fn note_hosts(&self, wanted: &str) {
        let surface = self.of.surface;
        let entry = Entry::new(&Actor::connector(surface), "connector.hosts_refused", surface);
        let noted = self.control.store().audit().record(entry.with(wanted)).await;
        if let Err(error) = noted {
            let error = with_causes(&error);
            tracing::error!(
                surface,
                error,
                "what a connector wanted to reach could not be recorded"
            );
        }
    }

    fn settings(self: &Arc<Self>) -> Settings {
        let desk = self.desk().settings();
        Settings { options: self.of.options.clone(), log: self.of.log.clone(), ..desk }
    }

    /// A connector that was welcomed: its accounts connect, and it is heard until it is gone.
    fn talk(self: &Arc<Self>, connector: Greeted) -> BoxFuture<'static, String> {
        let (program, line) = (Arc::clone(self), Arc::clone(&connector.line));
        let desk = self.desk();
        desk.declares(connector.hello.hosts.clone());
        let begin = async move {
            let started = timeout(START_WITHIN, line.order(Start {}.into())).await;
            if !matches!(started, Ok(Ok(_))) {
                let surface = program.of.surface;
                tracing::warn!(surface, ?started, "the accounts of a connector do not connect");
            }
            program.now.send_replace(Now::There(Arc::clone(&line)));
            program.pass_news_on(&line).await;
        };
        async move {
            tokio::select! {
                why = connector.talk(desk) => why,
                () = begin => "the control plane stops".to_owned(),
            }
        }
        .boxed()
    }

    /// Lets it know what changes.
    async fn pass_news_on(&self, line: &ConnectorLine) {
        let (mut chats, mut access) =
            (self.control.surfaces().chat_changes(), self.control.people().access_changes());
        loop {
            tokio::select! {
                () = chats.next() => line.tell(News::Chats).await,
                () = access.next() => line.tell(News::Access).await,
            }
        }
    }

    /// Connects it to a host of its platform, if it is one.
    async fn connect(self: &Arc<Self>, mut stream: UnixStream, host: &str, port: u16) {
        let answer = match self.dial(host, port).await {
            Ok(mut outside) => {
                if stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.is_ok() {
                    // Both ends see how it ended.
                    tokio::io::copy_bidirectional(&mut stream, &mut outside).await.ok();
                }
                return;
            }
            Err(why) => {
                let (surface, to) = (self.of.surface, format!("{host}:{port}"));
                tracing::debug!(surface, to, why, "a connector was not connected to a host");
                let why: String = why.chars().filter(|c| !c.is_control()).take(500).collect();
                format!("HTTP/1.1 502 Bad Gateway\r\nx-reason: {why}\r\n\r\n")
            }
        };
        stream.write_all(answer.as_bytes()).await.ok();
    }

    async fn dial(
        self: &Arc<Self>,
        host: &str,
        port: u16,
    ) -> Result<Box<dyn OutsideStream>, String> {
        let accounts = self.control.store().conversations().connectors(self.of.surface).await;
        let accounts = accounts.map_err(|error| with_causes(&error))?;
        let reachable = self.desk().reachable((host, port), &accounts);
        let Some(reachable) = reachable else {
            let surface = self.of.surface;
            tracing::warn!(surface, host, port, "a connector asked for a host that is not its own");
            return Err(format!("{host}:{port} is no host of {surface}"));
        };
        self.way_out.dial(host, port, reachable).await.map_err(|error| with_causes(&error))
    }
}

#[cfg(test)]
#[path = "serving_tests.rs"]
mod tests;
