//! The control plane's decisions: inbox to cell, cell to outbox, tasks to executors.
//!
//! Owns: the ports (`CellBackend`, `Doors`), the life of cells and executors, the command table, the
//! host-side access to workspaces. Promises: what was accepted is answered once, whatever is killed;
//! a cell is believed nothing that the control plane can know itself.

mod audit_keeper;
mod budgets;
mod cells;
mod chat_file;
mod commands;
mod control;
mod courier;
mod crew;
mod egress;
mod error;
pub mod files;
mod gates;
mod history;
mod hub;
mod identity;
mod intake;
mod keys;
pub mod layout;
mod limits;
mod metrics;
mod models;
mod options;
mod people;
mod personal;
mod policies;
pub mod ports;
mod pulse;
mod quota;
mod reach;
mod readers;
mod readiness;
mod secrets;
mod sending;
mod shown;
mod spikes;
mod status;
mod stop;
mod surfaces;
mod tasks;
#[cfg(test)]
mod test_cells;
#[cfg(test)]
mod test_telegram;
#[cfg(test)]
mod test_world;
mod uploads;
mod watchdog;

pub use audit_keeper::{AuditOptions, AuditParts, S3Witness, SecretOptions};
pub use commands::{COMMANDS, MenuItem, menu};
pub use control::{Control, Parts};
pub use error::ControlError;
pub use history::{ConfigScope, RolledBack, Version, finish_interrupted_change};
pub use hub::Said;
pub use intake::IncomingMessage;
pub use limits::Permit;
pub use metrics::{CONTENT_TYPE, LoggedLine, Metrics, ModelCall, RecentError};
pub use models::base_url;
pub use options::{
    CellOptions, GateOptions, LimitOptions, SurfaceOptions, UserOptions, WorkOptions, nano_to_usd,
    usd_to_nano,
};
pub use people::{AccessChanges, Giver, Heard, Linker, Linking, Route, Routed, account};
pub use policies::{CheckedPolicies, Policies, check_policy_files, read_policy_dir};
pub use readiness::Readiness;
pub use secrets::MasterSettings;
pub use status::error_hint;
pub use surfaces::{
    Attachment, Below, Button, ButtonDone, ChatChanges, Choice, ChoiceKind, Health, MOST_BUTTONS,
    Press, Pressed, PressedButton, TypedIn,
};
pub use surfaces::{ConnectorOptions, ConnectorProgram, RemoteHost};
pub use uploads::Upload;
