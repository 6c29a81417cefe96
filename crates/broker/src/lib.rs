//! The broker: the only way out of a cell.
//!
//! Owns: the doors (one Unix socket per sandbox), the link's frames on the wire, calls to model
//! providers with their fallback chain, egress, the keys, and the use of secrets. Promises: who calls follows from the socket
//! alone; no key and no secret enters a cell, a log or an error; no call is made before its cost is reserved; what
//! one cell does at its door holds back nobody else's.

mod chat;
mod client;
mod demo;
mod door;
mod egress;
mod keys;
mod options;
mod prices;
mod refusal;
mod secrets;
mod witness;

pub use chat::{ModelGateway, Probe};
pub use door::{BuildError, DoorServer};
pub use egress::{
    ConnectorsWayOut, EgressHandle, EgressOptions, EgressSetupError, Network, NetworkStream,
    PinnedHostError, Placed, PlacedFor, SearchKind, SearchOptions, SearchSetupError, SystemNetwork,
};
pub use keys::{KeyError, KeyRing};
pub use options::{DoorOptions, ModelOptions, Options, UpstreamOptions};
pub use prices::{Prices, prices_of};
pub use witness::{WitnessSetupError, witnesses};
