//! The settings of the surface.

use std::time::Duration;

use serde::Deserialize;

/// `[matrix]` of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MatrixOptions {
    /// How long the homeserver may hold a sync back while nothing happens.
    pub sync_timeout_s: u64,
    /// How long any other request may take.
    pub request_timeout_s: u64,
    /// The longest pause between two tries to reach the homeserver.
    pub retry_most_s: u64,
    /// The least time between two edits of a message that is being written.
    pub edit_every_ms: u64,
    /// The largest file that is taken or sent; what the homeserver takes may be less.
    pub max_file_mb: u64,
    /// How long the key of a message may take before its sender is told what to do.
    pub key_wait_s: u64,
    /// Whether a reaction answers a question.
    pub reactions: Reactions,
}

/// What a reaction to a question does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reactions {
    /// It answers; where it comes in the clear into an encrypted room it allows nothing for longer than once.
    Answer,
    /// Nothing: answers are written.
    Off,
}

impl Default for MatrixOptions {
    fn default() -> Self {
        Self {
            sync_timeout_s: 30,
            request_timeout_s: 30,
            retry_most_s: 60,
            edit_every_ms: 1000,
            max_file_mb: 50,
            key_wait_s: 60,
            reactions: Reactions::Answer,
        }
    }
}

impl MatrixOptions {
    pub(crate) fn sync_timeout(&self) -> Duration {
        Duration::from_secs(self.sync_timeout_s.clamp(1, 300))
    }

    pub(crate) fn request_timeout(&self) -> Duration {
        Duration::from_secs(self.request_timeout_s.clamp(1, 600))
    }

    pub(crate) fn retry_most(&self) -> Duration {
        Duration::from_secs(self.retry_most_s.clamp(1, 3600))
    }
}
