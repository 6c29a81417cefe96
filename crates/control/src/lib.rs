//! The control plane's decisions: inbox to cell, cell to outbox, tasks to executors.
//!
//! Owns: the ports (`CellBackend`, `Doors`), the life of cells and executors, the command table, the
//! host-side access to workspaces, and the one way to the store for everybody above. `Control` hands out its parts
//! (`control.people()`, `control.tasks()` …), each a module here. Promises: what was accepted is answered once, whatever is killed;
//! a cell is believed nothing that the control plane can know itself.

mod agents;
mod audit;
pub mod books;
mod cells;
mod chat_file;
mod clients;
mod commands;
mod config;
mod control;
mod courier;
mod crew;
mod egress;
mod error;
pub mod files;
mod gates;
mod hub;
mod inbox;
mod layers;
pub mod layout;
mod limits;
mod metrics;
mod models;
mod notices;
mod options;
mod people;
mod personal;
pub mod ports;
pub mod rows;
mod secrets;
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

pub use agents::{AgentError, AgentRefusal, Agents, KnownAgent, NewAgent};
pub use audit::{
    Audit, AuditKeepError, AuditOptions, AuditParts, AuditRefusal, S3Witness, SecretOptions,
};
pub use books::Books;
pub use cells::{CellError, CellRefusal, Cells};
pub use clients::Clients;
pub use cloister_store::{Actor, Clock};
pub use commands::{Branching, COMMANDS, Chats, CommandError, CommandRefusal, MenuItem, menu};
pub use config::{
    BadQuestion, CheckedPolicies, Config, ConfigError, ConfigRefusal, ConfigScope, Policies,
    RolledBack, Version, VersionError, check_policy_files, finish_interrupted_change,
    read_policy_dir,
};
pub use control::{Control, Parts};
pub use egress::{EgressError, EgressRefusal, EgressRules};
pub use error::{ControlError, Failed, Fault, Refusal, RefusedAround};
pub use gates::{GateError, GateRefusal, Gates, reason_in};
pub use hub::{Half, Said};
pub use inbox::{Download, Inbox, InboxError, InboxRefusal, IncomingMessage, Receipt, Upload};
pub use layers::{TaskStanding, UndoWish};
pub use limits::{Permit, TooMuch};
pub use metrics::{ANSWERED, CONTENT_TYPE, GONE, LoggedLine, Metrics, ModelCall, RecentError};
pub use models::{
    Addresses, Looked, ModelError, ModelRefusal, Models, PRESETS, Preset, Unanswered, base_url,
    own_view, preset,
};
pub use options::{
    CellOptions, FileOptions, GateOptions, Layering, LimitOptions, Most, SecondMessage,
    SurfaceOptions, UserOptions, WorkOptions, nano_to_usd, usd_to_nano,
};
pub use people::{
    AccessChanges, Accounts, Contexts, Giver, Heard, Linker, Linking, People, PeopleError,
    PeopleRefusal, Route, Routed, Sessions, account,
};
pub use personal::PersonalData;
pub use secrets::{MasterSettings, Secrets, SecretsError, SecretsRefusal};
pub use status::{Readiness, Status, error_hint};
pub use stop::{StopRefusal, Stops};
pub use surfaces::{
    Attachment, Below, Button, ButtonDone, ChatChanges, Choice, ChoiceKind, ConnectorOptions,
    ConnectorProgram, Health, MOST_BUTTONS, Press, Pressed, PressedButton, RemoteHost,
    SurfaceError, SurfaceRefusal, Surfaces, TypedIn,
};
pub use tasks::{TaskError, TaskRefusal, Tasks};
