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
mod hub;
mod intake;
pub mod layout;
mod options;
pub mod ports;
mod quota;
mod sending;
mod tasks;
mod uploads;

pub use commands::COMMANDS;
pub use control::{Control, Parts};
pub use error::ControlError;
pub use hub::{Hub, Said};
pub use intake::{IncomingMessage, Receipt};
pub use options::{CellOptions, NANO, UserOptions, WorkOptions, nano_to_usd, usd_to_nano};
pub use uploads::{Download, Upload};
