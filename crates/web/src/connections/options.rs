//! The settings of the public listener.

use std::time::Duration;

use serde::Deserialize;

use super::pace::Pace;
use super::proxies::Network;

/// `[connections]` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConnectionOptions {
    /// Open connections; 0: as many as the agent sockets and pages need, and half of the open files at most.
    pub most: usize,
    /// The part of them that is for who is not logged in; the rest is for who is.
    pub strangers_percent: usize,
    /// Connections of one address (of one /64 with IPv6) that nobody logged in uses.
    pub per_address: usize,
    /// Connections of one person who is logged in.
    pub per_person: usize,
    /// From where `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<Network>,
    /// How long the head of a request may take, and how long a connection may be silent between two.
    pub head_s: u64,
    /// How long a body, or an answer that is not read, may stand still.
    pub stall_s: u64,
    /// After this time of waiting, a body must have come at `least_bytes_per_s`.
    pub grace_s: u64,
    pub least_bytes_per_s: u64,
    /// How long one body, or one answer, may be waited for in all.
    pub transfer_s: u64,
}

impl Default for ConnectionOptions {
    fn default() -> Self {
        Self {
            most: 0,
            strangers_percent: 25,
            per_address: 128,
            per_person: 256,
            trusted_proxies: Network::this_machine(),
            head_s: 30,
            stall_s: 30,
            grace_s: 30,
            least_bytes_per_s: 512,
            transfer_s: 4 * 3600,
        }
    }
}

/// What a listener is to keep: how many connections, and of whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shares {
    pub(crate) strangers: usize,
    pub(crate) known: usize,
    pub(crate) per_address: usize,
    pub(crate) per_person: usize,
}

impl ConnectionOptions {
    /// `wanted`: how many connections there may be if the machine has room; `open_files`: what this account may
    /// open in all. Half of that stays for cells, files and the control socket.
    pub(crate) fn shares(&self, wanted: usize, open_files: usize) -> Shares {
        let most = if self.most == 0 { wanted } else { self.most };
        let room = (open_files / 2).max(2);
        if self.most > room {
            tracing::warn!(
                most = self.most,
                room,
                "[connections] most is more than the open files allow"
            );
        }
        let most = most.clamp(2, room);
        let strangers =
            (most.saturating_mul(self.strangers_percent.min(100)) / 100).clamp(1, most - 1);
        Shares {
            strangers,
            known: most - strangers,
            per_address: self.per_address.max(1),
            per_person: self.per_person.max(1),
        }
    }

    pub(crate) fn head(&self) -> Duration {
        Duration::from_secs(self.head_s.max(1))
    }

    pub(crate) fn pace(&self) -> Pace {
        Pace {
            stall: Duration::from_secs(self.stall_s.max(1)),
            grace: Duration::from_secs(self.grace_s.max(1)),
            least_per_s: self.least_bytes_per_s.max(1),
            most: Duration::from_secs(self.transfer_s.max(1)),
        }
    }
}
