//! The settings of the surface.

use std::time::Duration;

use serde::Deserialize;

/// `[discord]` of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DiscordOptions {
    /// How long a request may take.
    pub request_timeout_s: u64,
    /// The longest pause between two tries to reach Discord.
    pub retry_most_s: u64,
    /// The least time between two edits of a message that is being written.
    pub edit_every_ms: u64,
    /// The largest file that is taken or sent; Discord takes 10 MB from a bot, more on boosted servers.
    pub max_file_mb: u64,
}

impl Default for DiscordOptions {
    fn default() -> Self {
        Self { request_timeout_s: 30, retry_most_s: 60, edit_every_ms: 1200, max_file_mb: 50 }
    }
}

impl DiscordOptions {
    pub(crate) fn request_timeout(&self) -> Duration {
        Duration::from_secs(self.request_timeout_s.clamp(1, 600))
    }

    pub(crate) fn retry_most(&self) -> Duration {
        Duration::from_secs(self.retry_most_s.clamp(1, 3600))
    }
}
