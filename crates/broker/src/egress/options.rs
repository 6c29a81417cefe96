//! What can be set about egress.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use serde::Deserialize;

use super::pins::Placed;

/// `[egress]` of the configuration: what the requests of cells may take. Sizes are in bytes.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EgressOptions {
    /// Hosts, each with its ports, that are at an address of the operator's choice, which may be one of a private
    /// network. A rule is needed for them like for any other.
    pub hosts: BTreeMap<String, Placed>,
    /// Addresses of this machine that its interfaces don't show, such as the public one of a NAT.
    pub own_addresses: Vec<IpAddr>,
    /// The largest body of a request. All of it is held until it is decided.
    pub request_bytes: u64,
    /// The largest body of an answer.
    pub response_bytes: u64,
    /// What one sandbox may send in its life.
    pub door_bytes: u64,
    /// What a user's sandboxes may send together in a day (UTC).
    pub user_day_bytes: u64,
    pub connect_ms: u64,
    /// From the request to the head of its answer.
    pub first_byte_ms: u64,
    /// Between two pieces of an answer.
    pub idle_ms: u64,
    /// One request with its answer.
    pub total_ms: u64,
    /// Requests of one sandbox under way at once.
    pub concurrent: usize,
    /// Tunnels (`CONNECT`) of one sandbox open at once.
    pub tunnels: usize,
    pub requests_per_second: f64,
    pub request_burst: f64,
    /// The largest page that `/fetch` returns whole.
    pub fetch_bytes: u64,
    pub fetch_ms: u64,
    /// Pages and searches of one sandbox under way at once.
    pub fetches: usize,
}

impl Default for EgressOptions {
    fn default() -> Self {
        Self {
            hosts: BTreeMap::new(),
            own_addresses: Vec::new(),
            request_bytes: 8 << 20,
            response_bytes: 4 << 30,
            door_bytes: 256 << 20,
            user_day_bytes: 1 << 30,
            connect_ms: 10_000,
            first_byte_ms: 60_000,
            idle_ms: 60_000,
            total_ms: 1_800_000,
            concurrent: 48,
            tunnels: 64,
            requests_per_second: 200.0,
            request_burst: 1_000.0,
            fetch_bytes: 10 << 20,
            fetch_ms: 30_000,
            fetches: 4,
        }
    }
}

/// What bodies that are held are counted in.
pub(super) const BODY_UNIT: u64 = 1 << 10;
/// How many of the largest bodies one sandbox may have under way.
const HELD_BODIES: u64 = 3;

impl EgressOptions {
    /// What one sandbox may have held, in units.
    pub(super) fn held_units(&self) -> usize {
        let units = self.request_bytes.saturating_mul(HELD_BODIES).div_ceil(BODY_UNIT);
        usize::try_from(units).unwrap_or(usize::MAX).min(tokio::sync::Semaphore::MAX_PERMITS)
    }

    pub(super) fn connect(&self) -> Duration {
        Duration::from_millis(self.connect_ms.max(1))
    }

    pub(super) fn first_byte(&self) -> Duration {
        Duration::from_millis(self.first_byte_ms.max(1))
    }

    pub(super) fn idle(&self) -> Duration {
        Duration::from_millis(self.idle_ms.max(1))
    }

    pub(super) fn total(&self) -> Duration {
        Duration::from_millis(self.total_ms.max(1))
    }

    pub(super) fn fetch(&self) -> Duration {
        Duration::from_millis(self.fetch_ms.max(1))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchKind {
    Searxng,
    Brave,
}

/// `[search]` of the configuration: who answers searches. Without a provider there are none.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchOptions {
    pub provider: Option<SearchKind>,
    /// Where the provider is. Needed for `searxng`; has a default for `brave`.
    pub url: Option<String>,
    /// The file in the directory of keys that holds the provider's key.
    pub key_file: Option<String>,
    /// The environment variable that holds the provider's key.
    pub key_env: Option<String>,
}
