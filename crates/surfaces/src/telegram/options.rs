//! The settings of the surface.

use std::time::Duration;

use serde::Deserialize;

/// `[telegram]` of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
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
    pub(crate) fn poll_timeout(&self) -> Duration {
        Duration::from_secs(self.poll_timeout_s.clamp(1, 300))
    }

    pub(crate) fn request_timeout(&self) -> Duration {
        Duration::from_secs(self.request_timeout_s.clamp(1, 600))
    }

    pub(crate) fn retry_most(&self) -> Duration {
        Duration::from_secs(self.retry_most_s.clamp(1, 3600))
    }

    pub(crate) fn album_wait(&self) -> Duration {
        Duration::from_millis(self.album_wait_ms.clamp(100, 10_000))
    }

    /// The largest file that is sent or taken, in bytes, as far as we are asked.
    pub(crate) const fn largest_file(&self) -> u64 {
        self.max_file_mb.saturating_mul(1024 * 1024)
    }
}
