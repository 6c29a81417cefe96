//! The ports: what control needs from the outside, as traits that the outer ring implements.

mod cell;
mod door;
mod hosts;
mod surface;
mod upstream;
mod webhook;
mod witness;

pub use cell::{
    Access, CellBackend, Check, CheckStatus, Exit, LaunchError, Limits, Mount, Role, Sandbox,
    SandboxSpec,
};
pub use door::{
    Attached, CameIn, Clearance, ContentPart, ContentSource, Doors, Egress, Gated, LinkSide, More,
    NotRecorded, OpenDoor, Outward, Principal, RefusedEgress,
};
pub use hosts::SurfaceHosts;
pub use surface::{
    Manners, Measure, Posting, Recipient, SendError, Streaming, Surface, SurfaceHost,
};
pub use upstream::{ModelDefaults, Upstream};
pub use webhook::{Webhook, WebhookAnswer};
pub use witness::CheckpointWitness;
