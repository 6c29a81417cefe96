//! The ports: what control needs from the outside, as traits that the outer ring implements.

mod cell;
mod door;
mod hosts;
mod surface;
mod upstream;
mod way_out;
mod webhook;
mod witness;

pub use cell::{
    Access, CellBackend, Check, CheckStatus, Exit, Inhabitant, LaunchError, Limits, Mount, Owner,
    Role, Sandbox, SandboxSpec, TaskLayer,
};
pub use door::{
    Attached, CameIn, Clearance, ContentPart, ContentSource, Doors, Egress, Gated, LinkSide, More,
    NotRecorded, OpenDoor, Outward, Principal, RefusedEgress,
};
pub use hosts::SurfaceHosts;
pub use surface::{
    Manners, Measure, Posting, Recipient, SendError, Streaming, Surface, SurfaceHost,
};
pub use upstream::{ModelDefaults, TriedModel, Upstream};
pub use way_out::{OutsideStream, WayOut, Whereabouts};
pub use webhook::{Webhook, WebhookAnswer};
pub use witness::CheckpointWitness;
