//! The settings of the admin listener.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Deserialize;

/// `[admin]` of the configuration: the admin API for other machines.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RemoteOptions {
    /// Whether there is a listener at all.
    pub enabled: bool,
    pub listen: Option<SocketAddr>,
    /// Where other machines reach it, when that is not where it listens: `HOST:PORT`.
    pub address: Option<String>,
    /// Further names in the listener's certificate, for clients other than `cloister`.
    pub names: Vec<String>,
    /// How long a client's certificate is good for.
    pub certificate_s: u64,
    /// How long an invitation can be used.
    pub invitation_s: u64,
    /// Open connections.
    pub connections: usize,
}

impl Default for RemoteOptions {
    fn default() -> Self {
        Self {
            enabled: true,
            listen: None,
            address: None,
            names: Vec::new(),
            certificate_s: 24 * 3600,
            invitation_s: 3600,
            connections: 256,
        }
    }
}

impl RemoteOptions {
    pub(super) fn certificate_life(&self) -> Duration {
        Duration::from_secs(self.certificate_s.max(1))
    }

    pub(super) fn invitation_life(&self) -> Duration {
        Duration::from_secs(self.invitation_s)
    }
}
