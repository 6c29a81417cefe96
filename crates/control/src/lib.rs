//! The control plane's decisions: inbox to cell, cell to outbox, tasks to executors.
//!
//! Owns: the ports (`CellBackend`, `Doors`), the life of cells and executors, the command table, the
//! host-side access to workspaces. Promises: what was accepted is answered once, whatever is killed;
//! a cell is believed nothing that the control plane can know itself.

mod budgets;
mod cells;
mod commands;
mod control;
mod egress;
mod error;
pub mod files;
mod history;
mod hub;
mod identity;
mod intake;
pub mod layout;
mod limits;
mod metrics;
mod models;
mod options;
mod people;
mod policies;
pub mod ports;
mod pulse;
mod quota;
mod readiness;
mod sending;
mod status;
mod stop;
mod tasks;
mod uploads;

pub use commands::COMMANDS;
pub use control::{Control, Parts};
pub use error::ControlError;
pub use history::VersionedChange;
pub use hub::{Hub, Said};
pub use intake::{IncomingMessage, Receipt};
pub use limits::Permit;
pub use metrics::{CONTENT_TYPE, Exposition, LoggedLine, Metrics, ModelCall, RecentError};
pub use models::{Connected, base_url};
pub use options::{
    CellOptions, LimitOptions, NANO, UserOptions, WorkOptions, nano_to_usd, usd_to_nano,
};
pub use policies::Policies;
pub use readiness::{Readiness, Ready};
pub use status::error_hint;
pub use uploads::{Download, Upload};
