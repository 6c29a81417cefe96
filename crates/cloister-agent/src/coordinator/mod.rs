//! The coordinator: takes triggers, runs turns, tells how they ended.
//!
//! Promises: a trigger is acknowledged once it is in the chat's journal; an `end` is sent again until
//! the control plane has stored it; a chat that is busy never holds up another.

mod schedule;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use cloister_protocol::link::{BegunTurn, Downlink, Trigger, Uplink};
use cloister_protocol::{ChatId, End, MessageId, TurnId, with_causes};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesOrdered;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;

use crate::context::Loaded;
use crate::journal::{Accepted, ChatDb, Finished, Journal, JournalError};
use crate::link::{self, LinkError, LinkState};
use crate::log;
use crate::model::Model;
use crate::turn::{self, Desk, EndedTurn, Job, Signal};

use schedule::Schedule;

const MAX_TURNS: usize = 32;
/// More ends than this are not kept in memory; the journal has them, and a trigger asks for them.
const MAX_UNSTORED: usize = 1024;
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// Runs until told to stop (exit code 0) or the link is gone.
pub(crate) async fn run(door: PathBuf, workspace: PathBuf) -> ExitCode {
    let (journal, finished) = match Journal::start(workspace.clone()) {
        Ok(started) => started,
        Err(error) => {
            log::line(format_args!("can't start the journal: {}", with_causes(&error)));
            return ExitCode::FAILURE;
        }
    };
    let (link, frames, driver) = link::new(&door);
    let desk = Desk { link, journal, model: Model::new(&door), workspace };
    let mut coordinator = Coordinator::new(desk);
    let code = tokio::select! {
        () = driver.run() => {
            log::line(format_args!("the link is gone"));
            ExitCode::FAILURE
        }
        result = coordinator.serve(frames) => match result {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                log::line(format_args!("{}", with_causes(&error)));
                ExitCode::FAILURE
            }
        },
    };
    coordinator.stop(finished).await;
    code
}

/// Something that was under way has come to its end.
enum Happened {
    Accepted(Trigger, Result<(Accepted, Option<Box<Loaded>>), JournalError>),
    Ended(ChatId, Result<EndedTurn, LinkError>),
    Begun,
    Summarised(ChatId),
}

struct Coordinator {
    desk: Desk,
    schedule: Schedule<ChatId, Job>,
    /// Turns that wait or run, with the switch that ends them.
    open: HashMap<(ChatId, MessageId), watch::Sender<Signal>>,
    /// Ends that the control plane has not confirmed, with their chats.
    unstored: HashMap<(ChatId, TurnId), End>,
    /// Chats whose summary is being renewed.
    summarising: Vec<ChatId>,
    /// Triggers on their way into the journal, in the order they came: turns run in that order.
    accepting: FuturesOrdered<BoxFuture<'static, Happened>>,
    /// Their chats.
    arriving: Vec<ChatId>,
    /// What was said to turns while their trigger was on its way into the journal.
    early: Vec<(TurnId, Signal)>,
    tasks: JoinSet<Happened>,
}

impl Coordinator {
    fn new(desk: Desk) -> Self {
        Self {
            desk,
            schedule: Schedule::new(MAX_TURNS),
            open: HashMap::new(),
            unstored: HashMap::new(),
            summarising: Vec::new(),
            accepting: FuturesOrdered::new(),
            arriving: Vec::new(),
            early: Vec::new(),
            tasks: JoinSet::new(),
        }
    }

    async fn serve(&mut self, mut frames: mpsc::Receiver<Downlink>) -> Result<(), LinkError> {
        let mut state = self.desk.link.state();
        let mut connection = 1;
        loop {
            tokio::select! {
                frame = frames.recv() => match frame {
                    Some(Downlink::Stop) => return Ok(()),
                    Some(frame) => self.take(frame).await?,
                    None => return Err(LinkError::Gone),
                },
                Some(accepted) = self.accepting.next() => self.go_on(Ok(accepted)).await?,
                Some(happened) = self.tasks.join_next() => self.go_on(happened).await?,
                again = reconnected(&mut state, connection) => {
                    connection = again?;
                    self.send_ends_again().await?;
                }
            }
        }
    }

    async fn take(&mut self, frame: Downlink) -> Result<(), LinkError> {
        match frame {
            Downlink::Began { chat, turns } => self.begin(chat, turns).await,
            Downlink::Trigger(trigger) => self.accept(trigger).await,
            Downlink::Stored { turn } => self.stored(&turn),
            Downlink::CancelTurn { turn } => self.signal(&turn, Signal::Cancel),
            Downlink::YieldTurn { turn } => self.signal(&turn, Signal::Yield),
            Downlink::Start(_) | Downlink::Journaled { .. } | Downlink::Reply { .. } => {
                log::line(format_args!("ignored a frame that is not for a coordinator"));
            }
            // Handled where frames are received.
            Downlink::Stop => {}
        }
        Ok(())
    }

    /// Writes down what a chat began with, before the trigger that follows: the journal keeps the order.
    async fn begin(&mut self, chat: ChatId, turns: Vec<BegunTurn>) {
        let submitted = self.desk.journal.submit(chat, move |db| db.begin_with(&turns)).await;
        self.tasks.spawn(async move {
            if let Err(error) = submitted.wait().await {
                turn::log_journal(&error);
            }
            Happened::Begun
        });
    }

    async fn accept(&mut self, trigger: Trigger) {
        let chat = trigger.chat;
        let to_write = trigger.clone();
        // In a chat at rest the turn begins at once: its context is read on the same way.
        let at_rest =
            !self.arriving.contains(&chat) && !self.open.keys().any(|(open, _)| *open == chat);
        let workspace = at_rest.then(|| self.desk.workspace.clone());
        let work = move |db: &ChatDb| {
            let accepted = db.accept(&to_write)?;
            let loaded = match (&accepted, &workspace) {
                // What can't be read now is tried again by the turn, which says what is wrong.
                (Accepted::Fresh { seq }, Some(workspace)) => {
                    turn::load(db, workspace, *seq, &to_write).ok().flatten().map(Box::new)
                }
                _ => None,
            };
            Ok((accepted, loaded))
        };
        let submitted = self.desk.journal.submit(chat, work).await;
        self.arriving.push(chat);
        self.accepting.push_back(Box::pin(async move {
            Happened::Accepted(trigger, submitted.wait().await)
        }));
    }

    /// Tells a turn that it is to end, now or as soon as it is known. What is said last holds, but a cancelled turn
    /// stays cancelled.
    fn signal(&mut self, turn: &TurnId, signal: Signal) {
        let mut known = false;
        for ((_, message), switch) in &self.open {
            if TurnId::of_trigger(message) == *turn {
                switch.send_modify(|said| *said = signal.max(*said));
                known = true;
            }
        }
        if !known && self.early.len() < 2 * self.arriving.len() {
            self.early.push((turn.clone(), signal));
        }
    }

    fn stored(&mut self, turn: &TurnId) {
        self.unstored.retain(|(_, id), _| id != turn);
    }

    async fn go_on(&mut self, happened: Result<Happened, JoinError>) -> Result<(), LinkError> {
        match happened {
            Ok(Happened::Accepted(trigger, result)) => self.accepted(trigger, result).await?,
            Ok(Happened::Ended(chat, result)) => self.ended(chat, result?).await?,
            Ok(Happened::Summarised(chat)) => self.summarising.retain(|other| *other != chat),
            Ok(Happened::Begun) => {}
            Err(error) => {
                // A turn that fell over is resumed by the next launch; going on without it is not
                // possible because its chat would wait for ever.
                log::line(format_args!("a turn fell over: {}", with_causes(&error)));
                return Err(LinkError::Gone);
            }
        }
        while let Some(job) = self.schedule.next() {
            self.start(job);
        }
        Ok(())
    }

    async fn accepted(
        &mut self,
        trigger: Trigger,
        result: Result<(Accepted, Option<Box<Loaded>>), JournalError>,
    ) -> Result<(), LinkError> {
        if let Some(place) = self.arriving.iter().position(|chat| *chat == trigger.chat) {
            self.arriving.swap_remove(place);
        }
        let (seq, resumed, loaded) = match result {
            Ok((Accepted::Ended(end), _)) => {
                self.desk.link.send(Uplink::Accepted { id: trigger.id }).await?;
                return self.tell_end(trigger.chat, end).await;
            }
            Ok((Accepted::Fresh { seq }, loaded)) => (seq, false, loaded),
            Ok((Accepted::Open { seq }, loaded)) => (seq, true, loaded),
            // Not journaled, but not unanswered either: the control plane stores the end.
            Err(error) => {
                self.desk.link.send(Uplink::Accepted { id: trigger.id.clone() }).await?;
                let end = turn::not_run(&trigger, &error);
                return self.desk.link.send(Uplink::End(end)).await;
            }
        };
        self.desk.link.send(Uplink::Accepted { id: trigger.id.clone() }).await?;
        let key = (trigger.chat, trigger.id.clone());
        let turn = TurnId::of_trigger(&trigger.id);
        let said = self.early.iter().filter(|(of, _)| *of == turn).map(|(_, signal)| *signal);
        let said = said.max().unwrap_or_default();
        self.early.retain(|(of, _)| *of != turn);
        if let Entry::Vacant(place) = self.open.entry(key) {
            place.insert(watch::Sender::new(said));
            self.schedule.add(trigger.chat, Job { trigger, seq, resumed, loaded });
        }
        Ok(())
    }

    fn start(&mut self, job: Job) {
        let chat = job.trigger.chat;
        let key = (chat, job.trigger.id.clone());
        let switch = self.open.entry(key).or_insert_with(|| watch::Sender::new(Signal::default()));
        let running = Box::pin(turn::run(self.desk.clone(), job, switch.subscribe()));
        self.tasks.spawn(async move { Happened::Ended(chat, running.await) });
    }

    async fn ended(&mut self, chat: ChatId, ended: EndedTurn) -> Result<(), LinkError> {
        self.schedule.finished(chat);
        self.open.retain(|(open, message), _| {
            *open != chat || TurnId::of_trigger(message) != ended.end.turn
        });
        if let Some(room) = ended.overflow.filter(|_| !self.summarising.contains(&chat)) {
            self.summarising.push(chat);
            let renewing = Box::pin(turn::renew_summary(self.desk.clone(), chat, room));
            self.tasks.spawn(async move {
                renewing.await;
                Happened::Summarised(chat)
            });
        }
        self.tell_end(chat, ended.end).await
    }

    async fn tell_end(&mut self, chat: ChatId, end: End) -> Result<(), LinkError> {
        if self.unstored.len() < MAX_UNSTORED {
            self.unstored.insert((chat, end.turn.clone()), end.clone());
        }
        self.desk.link.send(Uplink::End(end)).await
    }

    async fn send_ends_again(&self) -> Result<(), LinkError> {
        for end in self.unstored.values() {
            self.desk.link.send(Uplink::End(end.clone())).await?;
        }
        Ok(())
    }

    /// Lets go of what runs and waits for the journal to be on disk.
    async fn stop(self, finished: Finished) {
        // Dropping the tasks and the desk drops every handle to the journal.
        let Self { desk, mut tasks, .. } = self;
        tasks.shutdown().await;
        drop((desk, tasks));
        if timeout(STOP_TIMEOUT, finished.wait()).await.is_err() {
            log::line(format_args!(
                "the journal was not closed within {} s",
                STOP_TIMEOUT.as_secs()
            ));
        }
    }
}

/// The number of a connection after the given one.
async fn reconnected(
    state: &mut watch::Receiver<LinkState>,
    before: u64,
) -> Result<u64, LinkError> {
    match state.wait_for(|state| state.up && state.connection > before).await {
        Ok(state) => Ok(state.connection),
        Err(_closed) => Err(LinkError::Gone),
    }
}
