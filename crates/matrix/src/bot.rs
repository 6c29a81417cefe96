//! One connected account: what every part of this crate works with.

use std::sync::OnceLock;

use cloister_kit::Plane;
use cloister_protocol::surface::{Connector, ConnectorId};
use matrix_sdk::Client;
use serde::{Deserialize, Serialize};

use crate::{incoming, outgoing, rooms, secrecy};
use cloister_protocol::surface::options::MatrixOptions;

/// What is kept about an account besides its address; none of it is secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BotSettings {
    /// Whether new rooms are end-to-end encrypted.
    pub(crate) encrypted: bool,
    pub(crate) device_id: String,
}

/// A logged-in account.
pub struct Bot {
    pub(crate) plane: Plane,
    /// As it was when the account was connected; the control plane keeps its position.
    pub(crate) connector: Connector,
    pub(crate) settings: BotSettings,
    pub(crate) options: MatrixOptions,
    pub(crate) client: Client,
    /// The largest file that the homeserver takes, if it says so.
    pub(crate) server_takes: OnceLock<u64>,
    pub(crate) incoming: incoming::Memory,
    pub(crate) outgoing: outgoing::Memory,
    pub(crate) rooms: rooms::Memory,
    pub(crate) sealed: secrecy::Sealed,
}

impl Bot {
    pub(crate) const fn id(&self) -> ConnectorId {
        self.connector.id
    }

    /// The largest file that is taken or sent, in bytes.
    pub(crate) fn largest_file(&self) -> u64 {
        let ours = self.options.max_file_mb.saturating_mul(1024 * 1024);
        self.server_takes.get().map_or(ours, |server| ours.min(*server))
    }
}
