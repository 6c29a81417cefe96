//! The actor of one chat: launches its coordinator, hands it what is owed, stores what it says.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cloister_policy::engine::Ownership;
use cloister_protocol::link::{Cause, Downlink, Uplink};
use cloister_protocol::{ChatId, ErrorCode, Language, TurnId, WorkspaceId, with_causes};
use cloister_store::inbox::InboxItem;
use cloister_words::say;
use tokio::sync::mpsc::error::SendTimeoutError;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;

use super::cell::{Cell, sandbox_name};
use super::slots::{Seat, Slot, Waiting};
use super::{ChatKey, Idle, LinkEnd, Poke, SWAMPED};
use crate::cells::CellError;
use crate::commands;
use crate::control::Control;
use crate::error::Fault;
use crate::limits::share;
use crate::ports::{Exit, Role};

/// How often the coordinator may die while a message waits before the person is told.
const MAX_DEATHS: u32 = 20;
/// How often a launch may fail in a row before the person is told.
const MAX_FAILED_LAUNCHES: u32 = 3;
/// How long a fresh coordinator may take to connect.
const CONNECT_TIME: Duration = Duration::from_secs(20);
/// How long a coordinator that owes an answer may say nothing at all: longer than any model call.
const MAX_SILENCE: Duration = Duration::from_secs(15 * 60);
/// When it is noted that a message is journaled. Most turns have ended by then.
const NOTE_AFTER: Duration = Duration::from_millis(100);
/// Requests of one coordinator that are carried out at once; more are refused.
const MAX_REQUESTS: usize = 16;
/// Turns to be cancelled that are remembered.
const MAX_CANCELLED: usize = 256;
/// Nothing is so urgent that it can't wait this long.
const LEAST_TICK: Duration = Duration::from_millis(50);
/// How often one that waits for room asks for it again.
const ASK_FOR_ROOM: Duration = Duration::from_millis(250);
/// How long a coordinator may take to hear something, when all that it was told before waits for it too.
const HEARING_TIME: Duration = Duration::from_secs(5);
/// How long a coordinator that was told to stop may take.
const STOP_TIME: Duration = Duration::from_secs(3);

mod frames;
mod handing;

struct Actor {
    control: Control,
    workspace: WorkspaceId,
    chat: ChatId,
    /// Requests of the coordinator that are carried out at once.
    requests: Arc<Semaphore>,
    cell: Option<Cell>,
    /// For others of this workspace to see.
    idle: Idle,
    /// A place for a coordinator that is waited for, and one that was got.
    waiting: Option<(Waiting, Seat)>,
    slot: Option<Slot>,
    /// A clear waits for the turns before it, and what comes after waits for the clear.
    clearing: bool,
    /// Per inbox row: how often the coordinator died while it was open.
    deaths: HashMap<i64, u32>,
    /// Per inbox row: how many requests were made for its turn.
    asked: HashMap<i64, u32>,
    failed_launches: u32,
    active_at: Instant,
    /// The inbox could not be worked on: it is looked at again at the next occasion.
    behind: bool,
    /// Rows whose turn is to be cancelled, also when the coordinator hears of it for the first time.
    cancelled: BTreeSet<i64>,
    /// Rows that the coordinator has journaled, and when that is to be noted.
    journaled: VecDeque<(Instant, i64)>,
    /// Somebody is about to look at the budget.
    looks_at_budget: Arc<AtomicBool>,
}

/// What woke the actor.
enum Event {
    Poke(Option<Poke>),
    Connected(Option<LinkEnd>),
    Frame(Option<Uplink>),
    Exited(Exit),
    /// There is room for a coordinator.
    Room(Option<Slot>),
    Tick,
    Stop,
}

pub(super) async fn run(
    control: Control,
    key: ChatKey,
    idle: Idle,
    mut pokes: mpsc::Receiver<Poke>,
) {
    let mut actor = Actor {
        control: control.clone(),
        workspace: key.0,
        chat: key.1,
        requests: Arc::new(Semaphore::new(MAX_REQUESTS)),
        cell: None,
        idle,
        waiting: None,
        slot: None,
        clearing: false,
        deaths: HashMap::new(),
        asked: HashMap::new(),
        failed_launches: 0,
        active_at: Instant::now(),
        behind: false,
        cancelled: BTreeSet::new(),
        journaled: VecDeque::new(),
        looks_at_budget: Arc::default(),
    };
    loop {
        let event = actor.next_event(&mut pokes).await;
        let go_on = match event {
            Event::Stop => false,
            Event::Poke(None) => false,
            Event::Poke(Some(Poke::Stop)) => false,
            Event::Poke(Some(poke)) => {
                // Others may have been dropped: they are in the inbox.
                let swamped = pokes.len() + 1 >= SWAMPED;
                actor.on_poke(poke, swamped).await
            }
            Event::Connected(link) => actor.on_connected(link).await,
            Event::Frame(frame) => actor.on_frame(frame).await,
            Event::Exited(exit) => actor.on_exit(exit).await,
            Event::Room(slot) => actor.on_room(slot).await,
            Event::Tick => actor.on_tick().await,
        };
        if !go_on {
            actor.stop_cell().await;
            if control.stopping() || control.cells().retire(key, &mut pokes) {
                return;
            }
            // Poked while it was stopping: look again.
            actor.reconcile().await;
        }
        actor.note_idle();
    }
}

impl Actor {
    async fn next_event(&mut self, pokes: &mut mpsc::Receiver<Poke>) -> Event {
        let tick = tokio::time::sleep(self.tick_after());
        let stop = self.control.inner.stop.clone();
        let Some(cell) = &mut self.cell else {
            let room = async {
                match &mut self.waiting {
                    Some((waiting, _)) => waiting.await,
                    None => std::future::pending().await,
                }
            };
            return tokio::select! {
                () = stop.cancelled() => Event::Stop,
                slot = room => Event::Room(slot),
                poke = pokes.recv() => Event::Poke(poke),
                () = tick => Event::Tick,
            };
        };
        let frame = async {
            match &mut cell.link {
                Some(link) => link.up.recv().await,
                None => std::future::pending().await,
            }
        };
        // Neither before the other: a cell that never stops talking does not keep a person's word waiting.
        let said = async {
            tokio::select! {
                frame = frame => Event::Frame(frame),
                poke = pokes.recv() => Event::Poke(poke),
            }
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => Event::Stop,
            link = cell.connections.recv() => Event::Connected(link),
            said = said => said,
            exit = cell.sandbox.wait() => Event::Exited(exit),
            () = tick => Event::Tick,
        }
    }

    /// When something is due, if nothing happens until then. A cell at rest has nothing due but its end.
    fn tick_after(&self) -> Duration {
        let Some(cell) = &self.cell else {
            return if self.waiting.is_some() { ASK_FOR_ROOM } else { LEAST_TICK };
        };
        let quiet =
            if cell.sent.is_empty() { self.control.inner.parts.cells.ttl() } else { MAX_SILENCE };
        let mut due = match cell.link {
            Some(_) => self.active_at + quiet,
            None => cell.unlinked_at + CONNECT_TIME,
        };
        if let Some((at, _)) = self.journaled.front() {
            due = due.min(*at);
        }
        due.saturating_duration_since(Instant::now()).max(LEAST_TICK)
    }

    /// False when the cell has been idle for its TTL, or there is none and nothing to do.
    async fn on_tick(&mut self) -> bool {
        self.note_journaled();
        let Some(cell) = &self.cell else {
            // Whoever was asked may have had something to do by then.
            if let Some((_, seat)) = &self.waiting {
                self.control.cells().ask_for_room(*seat);
            }
            return self.waiting.is_some();
        };
        let absent = cell.link.is_none() && cell.unlinked_at.elapsed() > CONNECT_TIME;
        let stuck = !cell.sent.is_empty() && self.active_at.elapsed() > MAX_SILENCE;
        if absent || stuck {
            tracing::warn!(workspace = %self.workspace, absent, stuck, "the coordinator is killed");
            cell.sandbox.kill().await;
            self.active_at = Instant::now();
            return self.on_exit(Exit::Killed).await;
        }
        // One that is still to connect owes what it was launched for, however short the TTL is.
        cell.link.is_none()
            || !cell.sent.is_empty()
            || self.active_at.elapsed() < self.control.inner.parts.cells.ttl()
    }

    async fn on_poke(&mut self, poke: Poke, swamped: bool) -> bool {
        match poke {
            Poke::Stored(row) => {
                self.active_at = Instant::now();
                if swamped || self.behind || !self.hand_over_new(*row).await {
                    self.reconcile().await;
                }
                self.is_wanted()
            }
            Poke::Inbox => {
                self.active_at = Instant::now();
                self.reconcile().await;
                self.is_wanted()
            }
            Poke::CancelTurn(turn) => {
                self.cancel(turn).await;
                if swamped {
                    self.reconcile().await;
                }
                true
            }
            Poke::Memory(reply) => {
                let memory = self.cell.as_ref().and_then(|cell| cell.sandbox.memory_pss());
                if reply.send(memory).is_err() {
                    tracing::debug!("nobody waits for the memory any more");
                }
                if swamped {
                    self.reconcile().await;
                }
                self.is_wanted()
            }
            Poke::MakeRoom => !self.cell.as_ref().is_some_and(Cell::is_idle) && self.is_wanted(),
            Poke::Stop => false,
        }
    }

    /// Whether there is a coordinator, or is to be one.
    fn is_wanted(&self) -> bool {
        self.cell.is_some() || self.waiting.is_some()
    }

    /// Shows others of the workspace whether this one could make room.
    fn note_idle(&self) {
        let idle = self.cell.as_ref().is_some_and(Cell::is_idle);
        let now = self.control.store().clock.now_ms();
        self.idle.set(idle.then(|| self.idle.since().unwrap_or(now)));
    }

    /// There is room for a coordinator, and it is launched if it still is needed.
    async fn on_room(&mut self, slot: Option<Slot>) -> bool {
        self.waiting = None;
        self.slot = slot;
        self.reconcile().await;
        // Not kept for later: others may wait for it.
        self.slot = None;
        self.is_wanted()
    }

    /// Cancels a turn, now or as soon as it is with a coordinator.
    async fn cancel(&mut self, turn: TurnId) {
        let Some(row) = turn.message() else { return };
        if self.cancelled.len() >= MAX_CANCELLED {
            self.cancelled.pop_first();
        }
        self.cancelled.insert(row);
        self.send(Downlink::CancelTurn { turn }).await;
    }

    async fn on_connected(&mut self, link: Option<LinkEnd>) -> bool {
        let Some(cell) = &mut self.cell else {
            return false;
        };
        let Some(link) = link else { return false };
        cell.link = Some(link);
        cell.sent.clear();
        cell.begun = false;
        cell.newest = 0;
        self.failed_launches = 0;
        self.reconcile().await;
        true
    }

    async fn on_exit(&mut self, exit: Exit) -> bool {
        let Some(cell) = self.cell.take() else {
            return false;
        };
        let log = cell.sandbox.log_tail();
        tracing::warn!(workspace = %self.workspace, ?exit, log, "the coordinator ended");
        self.control.metrics().exited(Role::Coordinator, exit.word());
        if cell.link.is_none() {
            self.failed_launches += 1;
        }
        for id in cell.sent.into_keys() {
            *self.deaths.entry(id).or_default() += 1;
        }
        self.reconcile().await;
        self.is_wanted()
    }

    async fn on_frame(&mut self, frame: Option<Uplink>) -> bool {
        let Some(frame) = frame else {
            // The agent will connect again, or exit.
            if let Some(cell) = &mut self.cell {
                cell.link = None;
                cell.unlinked_at = Instant::now();
            }
            return true;
        };
        if let Err(error) = self.take_frame(frame).await {
            tracing::error!(workspace = %self.workspace, chat = %self.chat, error = error.chain(), "a frame of the coordinator failed");
        }
        let idle = self.cell.as_ref().is_some_and(Cell::is_idle);
        // Another chat waits for its place.
        !(idle && self.cell.as_ref().is_some_and(Cell::is_in_the_way))
    }

    /// Notes that messages are journaled whose turns go on.
    fn note_journaled(&mut self) {
        let now = Instant::now();
        while let Some((_, id)) = self.journaled.pop_front_if(|(at, _)| *at <= now) {
            if self.cell.as_ref().is_some_and(|cell| cell.sent.contains_key(&id)) {
                self.beside("marking a message as journaled", move |control| async move {
                    Ok(control.store().inbox().mark_journaled(id).await?)
                });
            }
        }
    }

    /// Does something that nothing depends on, a little later: it must not stand in the way of a turn.
    fn later<F>(&self, what: &'static str, job: impl FnOnce(Control) -> F)
    where
        F: Future<Output = Result<(), CellError>> + Send + 'static,
    {
        let (job, stop) = (job(self.control.clone()), self.control.inner.stop.clone());
        self.beside(what, |_control| async move {
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(NOTE_AFTER) => {}
            }
            job.await
        });
    }

    /// Does something that nothing depends on, beside the actor.
    fn beside<F>(&self, what: &'static str, job: impl FnOnce(Control) -> F)
    where
        F: Future<Output = Result<(), CellError>> + Send + 'static,
    {
        let (job, workspace) = (job(self.control.clone()), self.workspace);
        self.control.inner.crew.go(what, async move {
            if let Err(error) = job.await {
                tracing::warn!(%workspace, error = error.chain(), what, "could not be done");
            }
        });
    }

    /// Whether it is on its way. One that does not listen loses its link: what a person says to the control
    /// plane in this chat does not wait for it.
    async fn send(&mut self, frame: Downlink) -> bool {
        let Some(cell) = &mut self.cell else { return false };
        let Some(link) = &cell.link else { return false };
        let sent = link.down.send_timeout(frame, HEARING_TIME).await;
        // A closed link shows itself as the end of `up`.
        if matches!(sent, Err(SendTimeoutError::Timeout(_))) {
            tracing::warn!(workspace = %self.workspace, chat = %self.chat, "the coordinator does not listen");
            cell.link = None;
            cell.unlinked_at = Instant::now();
        }
        sent.is_ok()
    }

    /// Makes sure that everything owed is with a live coordinator, or answered with why not.
    async fn reconcile(&mut self) {
        loop {
            let tried = self.try_reconcile().await;
            self.behind = tried.is_err();
            match tried {
                Ok(()) => return,
                Err(CellError::Fault(Fault::Launch(error))) => {
                    self.failed_launches += 1;
                    tracing::error!(workspace = %self.workspace, error = with_causes(&error), "the cell did not start");
                    if self.failed_launches < MAX_FAILED_LAUNCHES {
                        tokio::time::sleep(Duration::from_millis(200)).await;
                        continue;
                    }
                    let body = Fault::Launch(error).body();
                    let fix = body.fix.map(|fix| format!(" {fix}")).unwrap_or_default();
                    let to = self.spoken().await;
                    let why =
                        say!(to, "Your agent could not be started: {why}.", why = body.message);
                    self.give_up(body.code, &format!("{why}{fix}")).await;
                    return;
                }
                Err(error) => {
                    tracing::error!(workspace = %self.workspace, error = error.chain(), "the inbox could not be worked on");
                    return;
                }
            }
        }
    }

    async fn try_reconcile(&mut self) -> Result<(), CellError> {
        let mut owed = Vec::new();
        self.clearing = false;
        for row in self.control.store().inbox().unanswered_in(self.workspace, self.chat).await? {
            if self.cell.as_ref().is_some_and(|cell| cell.sent.contains_key(&row.id)) {
                continue;
            }
            if matches!(row.cause, Cause::Clear) {
                let open = self.cell.as_ref().is_some_and(|cell| !cell.sent.is_empty());
                if open || !owed.is_empty() {
                    self.clearing = true;
                    break;
                }
                self.stop_cell().await;
                self.control.cells().clear_history(&row).await?;
            } else if let Some(command) = commands::of(&row) {
                self.control.commands().run_command(&row, command).await?;
            } else if self.deaths.get(&row.id).copied().unwrap_or(0) >= MAX_DEATHS {
                let text = say!(
                    self.spoken().await,
                    "Your agent ended again and again while it worked on this message. It was given up; the operator's log says more."
                );
                self.control.cells().fail_turn(&row, ErrorCode::Internal, &text).await?;
            } else {
                owed.push(row);
            }
        }
        if self.control.stops().is_stopped() {
            for row in &owed {
                self.control.stops().tell_stopped(row).await?;
            }
            return Ok(());
        }
        if owed.is_empty() {
            return Ok(());
        }
        if self.failed_launches >= MAX_FAILED_LAUNCHES {
            let to = self.spoken().await;
            let text = say!(to, "Your agent could not be started. The operator's log says why.");
            self.give_up(ErrorCode::Internal, &text).await;
            return Ok(());
        }
        if self.cell.is_none() {
            let Some(slot) = self.take_slot(owed.first()).await? else { return Ok(()) };
            let key = (self.workspace, self.chat);
            self.cell = Some(Cell::launch(&self.control, key, slot).await?);
        }
        for row in owed {
            self.hand_over(row).await?;
        }
        Ok(())
    }

    /// A place for a coordinator; if there is none, it is waited for.
    async fn take_slot(&mut self, owed: Option<&InboxItem>) -> Result<Option<Slot>, Fault> {
        let seat = seat(&self.control, self.workspace, owed).await?;
        let slots = &self.control.inner.cells.slots;
        let slot = self.slot.take().or_else(|| slots.try_take(seat));
        if slot.is_some() {
            self.waiting = None;
            self.idle.hold_for(seat.person.map(|(person, _)| person));
        } else if self.waiting.is_none() {
            self.waiting = Some((slots.wait(seat), seat));
            self.control.cells().ask_for_room(seat);
        }
        Ok(slot)
    }

    /// The language of whoever this workspace belongs to, as far as it can be read.
    async fn spoken(&mut self) -> Language {
        let languages = self.control.people().languages();
        languages.language_in(self.workspace).await.unwrap_or(languages.default_language())
    }

    /// Answers everything owed with why it can't be answered.
    async fn give_up(&mut self, code: ErrorCode, text: &str) {
        self.failed_launches = 0;
        let store = self.control.store();
        let rows = store.inbox().unanswered_in(self.workspace, self.chat).await.unwrap_or_default();
        for row in rows {
            if let Err(error) = self.control.cells().fail_turn(&row, code, text).await {
                tracing::error!(error = error.chain(), "a message could not be answered");
            }
        }
    }

    async fn stop_cell(&mut self) {
        self.waiting = None;
        self.send(Downlink::Stop).await;
        let Some(cell) = self.cell.take() else { return };
        // One that is not connected can't have heard it.
        let ended = cell.link.is_some()
            && tokio::time::timeout(STOP_TIME, cell.sandbox.wait()).await.is_ok();
        if !ended {
            cell.sandbox.kill().await;
        }
        drop(cell);
        self.control.metrics().exited(Role::Coordinator, if ended { "stopped" } else { "killed" });
        self.control.cells().clear_door(&sandbox_name((self.workspace, self.chat)));
    }
}

/// For whom there would be a coordinator: in a community for who wrote what is owed first.
async fn seat(
    control: &Control,
    workspace: WorkspaceId,
    owed: Option<&InboxItem>,
) -> Result<Seat, Fault> {
    let most = control.inner.parts.cells.coordinators;
    let ownership = control.people().place(workspace).await?.ownership;
    let person = match (ownership, owed) {
        (Ownership::Community, Some(row)) => {
            let person = control.provenance().person_of(row).await?;
            Some((person, share(ownership, most)))
        }
        (Ownership::Private { .. } | Ownership::Community, _) => None,
    };
    Ok(Seat { workspace, most, person })
}

#[cfg(test)]
#[path = "actor_tests.rs"]
mod tests;
