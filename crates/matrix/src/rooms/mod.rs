//! Spaces and rooms: made once, found again, compared with the server.
//!
//! Owns: the mark in each room that says whose it is, a person's Space and the rooms of their chats, who is let
//! in and who is sent away. Promises: rooms are made for what the control plane wants, and only after
//! looking whether the server has them; a comparison with the server makes and leaves no room.

mod decide;
mod gone;
mod graph;
mod greeting;
mod making;
mod members;
mod mend;
mod naming;
mod onboarding;
mod ownership;
mod reconcile;
mod repair;
mod reset;
mod seeing;
mod server;
mod strangers;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cloister_kit::{Lately, part};
use matrix_sdk::ruma::OwnedRoomId;

use crate::bot::Bot;
use graph::Seen;
pub(crate) use making::Making;
pub(crate) use members::Members;
pub(crate) use seeing::Survey;
pub(crate) use server::Homeserver;
pub(crate) use strangers::Strangers;

/// The most rooms that are remembered for having no place here.
const MOST_REMEMBERED: usize = 4096;

part! {
    /// The rooms: kept as the chats are, given up, offered again.
    pub(crate) struct Rooms of Bot;
}

part! {
    /// The way in: invitations, and the rooms in which people are welcomed.
    pub(crate) struct Lobbies of Bot;
}

part! {
    /// What is known of rooms, compared with the server.
    pub(crate) struct Comparison of Bot;
}

/// What is remembered of rooms while the account runs.
#[derive(Default)]
pub(crate) struct RoomsState {
    /// Rooms are made, compared and left by one at a time.
    making: tokio::sync::Mutex<()>,
    /// What was made or offered again, and when.
    lately: Lately,
    /// Rooms without a place here that carry our mark: what is looked through before a room is made.
    unplaced: Mutex<HashMap<OwnedRoomId, Option<Seen>>>,
}

impl RoomsState {
    fn unplaced(&self) -> MutexGuard<'_, HashMap<OwnedRoomId, Option<Seen>>> {
        self.unplaced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was learned about rooms may be wrong by now.
    fn forget(&self) {
        self.unplaced().clear();
    }
}
