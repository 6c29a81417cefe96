//! The control plane's database.
//!
//! Owns: the schema, its migrations, and every query, one file per resource. Promises: what a method
//! has returned survives any kill, and a power cut too unless docs/architecture.md names it; a method that changes
//! several things changes them in one transaction; no other crate opens this database.

#[macro_use]
mod columns;

mod actor;
pub mod admin_hub;
pub mod agents;
pub mod answers;
pub mod approvals;
pub mod artifacts;
pub mod audit;
mod beside;
pub mod branches;
mod budget;
pub mod buttons;
pub mod chats;
pub mod choices;
mod clock;
pub mod connectors;
pub mod contexts;
pub mod conversations;
mod customs;
mod db;
mod desk;
pub mod egress;
mod error;
mod forgetting;
pub mod grants;
pub mod history;
mod holds;
mod homes;
pub mod identities;
pub mod inbox;
pub mod languages;
pub mod layers;
pub mod ledger;
pub mod listing;
pub mod lobbies;
mod meant;
mod memory;
mod migrations;
mod model_choices;
mod model_kinds;
pub mod model_seen;
pub mod models;
mod moving;
pub mod outbox;
pub mod own_models;
pub mod pairing;
mod personal;
mod persons;
pub mod pki;
pub mod posts;
pub mod provenance;
pub mod pulse;
pub mod raises;
mod readers;
mod requests;
pub mod retention;
pub mod roles;
mod second_message;
pub mod secrets;
pub mod showing;
mod statement;
pub mod stops;
pub mod task_documents;
pub mod tasks;
pub mod telling;
pub mod tokens;
mod trouble;
mod trust;
mod tx;
pub mod under_way;
pub mod users;
pub mod waiting;
mod writer;

pub use actor::Actor;
pub use budget::{
    BudgetKind, BudgetState, Dollars, NewCall, OverBudget, Reservation, Settlement, UsageRow,
};
pub use clock::Clock;
pub use db::{Store, StoreOptions};
pub use error::StoreError;
pub use holds::{Hold, HoldKind};
pub use trouble::Trouble;

#[cfg(test)]
#[path = "gates_tests.rs"]
mod gates_tests;
#[cfg(test)]
mod test_world;
