//! What goes on beside the gateway: the position is written down, threads are kept as the chats are, and
//! commands are offered.

use std::sync::Arc;
use std::time::Duration;

use cloister_kit::{Backoff, keep_shown};
use cloister_protocol::surface::SetPosition;
use cloister_protocol::with_causes;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::super::bot::Bot;
use super::super::commands;
use super::position::{Position, ShardPosition};

/// The longest pause before commands are offered again.
const OFFER_AGAIN: Duration = Duration::from_secs(60);
/// How often a position is written down that only events have moved which concern nobody.
const WRITE_DOWN: Duration = Duration::from_secs(5);

/// How far each shard is, and what is written down of it.
pub(super) struct Positions {
    bot: Arc<Bot>,
    state: Mutex<State>,
}

struct State {
    position: Position,
    /// It is further than what is written down.
    moved: bool,
}

impl Positions {
    pub(super) fn new(bot: Arc<Bot>, position: Position) -> Self {
        Self { bot, state: Mutex::new(State { position, moved: false }) }
    }

    /// A shard is so far; `at_once`: it is written down now.
    pub(super) async fn moved(&self, shard: u32, to: ShardPosition, at_once: bool) {
        let mut state = self.state.lock().await;
        state.position.of.insert(shard, to);
        state.moved = true;
        if at_once {
            self.write_down(&mut state).await;
        }
    }

    async fn write_down(&self, state: &mut State) {
        if !std::mem::take(&mut state.moved) {
            return;
        }
        let (connector, position) = (self.bot.id(), state.position.to_json());
        if let Err(error) = self.bot.plane.call(SetPosition { connector, position }).await {
            // The next one is further; after a restart this much is heard again, and dropped as known.
            state.moved = true;
            tracing::warn!(
                error = with_causes(&error),
                "how far Discord was heard could not be written down"
            );
        }
    }
}

/// Writes the position down now and then, and at the end.
pub(super) async fn keep_positions(positions: Arc<Positions>, stop: CancellationToken) {
    loop {
        let stopped = tokio::time::timeout(WRITE_DOWN, stop.cancelled()).await.is_ok();
        positions.write_down(&mut *positions.state.lock().await).await;
        if stopped {
            return;
        }
    }
}

/// Renames and archives threads as their chats are.
pub(super) async fn keep_threads(bot: Arc<Bot>, stop: CancellationToken) {
    let of = (bot.connector.account.as_str(), "threads");
    keep_shown(&bot.plane, of, &stop, || bot.threads().mend()).await;
}

/// Offers the commands, once it works.
pub(super) async fn keep_commands(bot: Arc<Bot>, stop: CancellationToken) {
    let mut backoff = Backoff::new(OFFER_AGAIN);
    let mut told = false;
    loop {
        let offered = tokio::select! {
            () = stop.cancelled() => return,
            offered = Box::pin(commands::register(&bot)) => offered,
        };
        let Err(error) = offered else { return };
        if !std::mem::replace(&mut told, true) {
            let account = &bot.connector.account;
            tracing::warn!(
                account,
                error = with_causes(&error),
                "commands could not be offered; trying again"
            );
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(backoff.pause()) => {}
        }
    }
}
