//! What a connector is built from: the line to the control plane, and what every surface does alike.
//!
//! Owns: the handle [`Plane`], connectors that live in the background, ordered handover, waiting, backoff, buckets, words. Promises: nothing
//! here knows a platform, and nothing here knows more of the control plane than the surface protocol says.

pub mod adding;
pub mod asking;
mod backoff;
mod buckets;
mod commands;
mod connections;
mod error;
pub mod fetching;
mod handover;
mod host;
mod keeping;
mod ledger;
mod logging;
pub mod markdown;
mod memory;
mod outside;
mod part;
mod plane;
mod program;
mod reading;
mod saying;
mod socket;
mod standing;
mod surface;
mod tries;
mod under_way;
pub mod waiting;
mod window;
pub mod words;

pub use backoff::{Backoff, doubled};
pub use buckets::{Bucket, Buckets, Rate};
pub use commands::{Commands, spelled};
pub use connections::{BotPlace, Bots, Connections, kept};
pub use error::PlaneError;
pub use handover::{Handover, HandsOver};
pub use host::{Host, Hosted, serve};
pub use keeping::keep_shown;
pub use memory::{Lately, Patience};
pub use outside::WayOut;
pub use plane::{Attachment, Changes, Line, News, Plane, Settings};
pub use program::{Program, STATE_PATH, run};
pub use reading::Reading;
pub use saying::say_patiently;
pub use standing::Standing;
pub use surface::Surface;
pub use tries::{Attempt, Handed, patiently};
pub use under_way::{LineClosed, UnderWay};
pub use window::{Rule, Window};
