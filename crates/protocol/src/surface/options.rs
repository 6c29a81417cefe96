//! The settings of the surfaces that are ours: written by an operator, checked by the control plane, used by the
//! connector.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// `[matrix]` of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    pub fn sync_timeout(&self) -> Duration {
        Duration::from_secs(self.sync_timeout_s.clamp(1, 300))
    }

    pub fn request_timeout(&self) -> Duration {
        Duration::from_secs(self.request_timeout_s.clamp(1, 600))
    }

    pub fn retry_most(&self) -> Duration {
        Duration::from_secs(self.retry_most_s.clamp(1, 3600))
    }
}

/// `[telegram]` of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TelegramOptions {
    /// How long Telegram may hold a poll back while nothing happens.
    pub poll_timeout_s: u64,
    /// How long any other request may take.
    pub request_timeout_s: u64,
    /// The longest pause between two tries to reach Telegram.
    pub retry_most_s: u64,
    /// The least time between two edits of a message that is being written, in a private chat.
    pub edit_every_ms: u64,
    /// The least time between two edits of a message that is being written, in a group.
    pub group_edit_every_ms: u64,
    /// The least time between two drafts of a message that is being written.
    pub draft_every_ms: u64,
    /// The largest file that is sent; and the largest that is taken, where the Bot API server has no limit of
    /// its own.
    pub max_file_mb: u64,
    /// How long the next picture of an album may take.
    pub album_wait_ms: u64,
}

impl Default for TelegramOptions {
    fn default() -> Self {
        Self {
            poll_timeout_s: 50,
            request_timeout_s: 30,
            retry_most_s: 60,
            edit_every_ms: 1000,
            group_edit_every_ms: 3500,
            draft_every_ms: 400,
            max_file_mb: 50,
            album_wait_ms: 1500,
        }
    }
}

impl TelegramOptions {
    pub fn poll_timeout(&self) -> Duration {
        Duration::from_secs(self.poll_timeout_s.clamp(1, 300))
    }

    pub fn request_timeout(&self) -> Duration {
        Duration::from_secs(self.request_timeout_s.clamp(1, 600))
    }

    pub fn retry_most(&self) -> Duration {
        Duration::from_secs(self.retry_most_s.clamp(1, 3600))
    }

    pub fn album_wait(&self) -> Duration {
        Duration::from_millis(self.album_wait_ms.clamp(100, 10_000))
    }

    /// The largest file that is sent or taken, in bytes, as far as we are asked.
    pub const fn largest_file(&self) -> u64 {
        self.max_file_mb.saturating_mul(1024 * 1024)
    }
}

/// `[discord]` of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    pub fn request_timeout(&self) -> Duration {
        Duration::from_secs(self.request_timeout_s.clamp(1, 600))
    }

    pub fn retry_most(&self) -> Duration {
        Duration::from_secs(self.retry_most_s.clamp(1, 3600))
    }
}
