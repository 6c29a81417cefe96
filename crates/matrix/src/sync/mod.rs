//! Reading what the homeserver has, and how far it was read.
//!
//! Two positions: the SDK keeps its own, and moves it before anybody has seen a response; ours moves when
//! everything is stored. Where they differ after a kill, what lies between is asked for again.

mod account;
mod backfill;
mod handover;
mod helpers;
mod news;
mod ours;

use std::time::Duration;

use matrix_sdk::config::SyncSettings;
use matrix_sdk::ruma::api::client::filter::{
    Filter, FilterDefinition, LazyLoadOptions, RoomEventFilter, RoomFilter,
};
use matrix_sdk::ruma::api::client::sync::sync_events::v3;
use matrix_sdk::ruma::{UInt, UserId, assign};

pub(crate) use account::Account;

/// Events of a room that come at once; what is left out is asked for.
const TIMELINE: u32 = 50;

fn filter() -> v3::Filter {
    v3::Filter::FilterDefinition(definition())
}

/// The same, told apart from every other by a sender who does not exist. Homeservers answer a sync that was asked
/// before from memory, for minutes: what happened since would be missing.
fn filter_for_once(nonce: i64) -> v3::Filter {
    let mut definition = definition();
    let nobody = UserId::parse(format!("@{nonce}:nobody.invalid"));
    definition.room.timeline.not_senders.extend(nobody.ok());
    v3::Filter::FilterDefinition(definition)
}

fn definition() -> FilterDefinition {
    let lazily = LazyLoadOptions::Enabled { include_redundant_members: false };
    assign!(FilterDefinition::default(), {
        presence: Filter::ignore_all(),
        room: assign!(RoomFilter::default(), {
            ephemeral: RoomEventFilter::ignore_all(),
            timeline: assign!(RoomEventFilter::default(), { limit: Some(UInt::from(TIMELINE)) }),
            state: assign!(RoomEventFilter::default(), { lazy_load_options: lazily }),
        }),
    })
}

/// How a sync is asked for; the server may hold it back this long while nothing happens.
pub(crate) fn settings(hold: Duration) -> SyncSettings {
    SyncSettings::new().filter(filter()).timeout(hold)
}
