//! What can be set about the broker.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cloister_control::Metrics;
use cloister_control::ports::Principal;
use serde::Deserialize;

use crate::egress::{EgressOptions, SearchOptions};

#[derive(Clone, Debug)]
pub struct Options {
    /// Where the keys of `file:NAME` are.
    pub keys_dir: PathBuf,
    pub upstream: UpstreamOptions,
    pub door: DoorOptions,
    pub egress: EgressOptions,
    pub search: SearchOptions,
    /// Where calls and decisions are counted.
    pub metrics: Arc<Metrics>,
}

impl Options {
    pub fn new(keys_dir: PathBuf) -> Self {
        Self {
            keys_dir,
            upstream: UpstreamOptions::default(),
            door: DoorOptions::default(),
            egress: EgressOptions::default(),
            search: SearchOptions::default(),
            metrics: Arc::default(),
        }
    }
}

/// How long and how often a provider is tried.
#[derive(Clone, Debug)]
pub struct UpstreamOptions {
    pub connect: Duration,
    /// From sending the request to the first piece of the answer; by what kind of model it is where it is not set.
    pub first_byte: Option<Duration>,
    /// Between two pieces of an answer; likewise.
    pub idle: Option<Duration>,
    /// All attempts on all models of one call together.
    pub total: Duration,
    /// How often one model is tried before the next one.
    pub attempts: u32,
    /// The wait before the second attempt; it doubles, with jitter.
    pub backoff: Duration,
    pub backoff_max: Duration,
    /// The longest `retry-after` of a provider that is waited for.
    pub retry_after_max: Duration,
    /// How long an agent may leave a piece of its answer unread.
    pub client_stall: Duration,
    /// Calls of one user under way at once; further ones wait.
    pub calls_per_user: usize,
}

impl Default for UpstreamOptions {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            first_byte: None,
            idle: None,
            total: Duration::from_secs(900),
            attempts: 3,
            backoff: Duration::from_millis(250),
            backoff_max: Duration::from_secs(4),
            retry_after_max: Duration::from_secs(10),
            client_stall: Duration::from_secs(60),
            calls_per_user: 48,
        }
    }
}

/// `[models]` of the configuration: the settings of `UpstreamOptions` that operators change.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelOptions {
    pub connect_ms: u64,
    pub first_byte_ms: Option<u64>,
    pub idle_ms: Option<u64>,
    pub total_ms: u64,
    pub attempts: u32,
    /// Calls of one user under way at once; further ones wait.
    pub calls_per_user: usize,
}

impl Default for ModelOptions {
    fn default() -> Self {
        let upstream = UpstreamOptions::default();
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self {
            connect_ms: ms(upstream.connect),
            first_byte_ms: upstream.first_byte.map(ms),
            idle_ms: upstream.idle.map(ms),
            total_ms: ms(upstream.total),
            attempts: upstream.attempts,
            calls_per_user: upstream.calls_per_user,
        }
    }
}

impl From<&ModelOptions> for UpstreamOptions {
    fn from(options: &ModelOptions) -> Self {
        let time = |ms: u64| Duration::from_millis(ms.max(1));
        Self {
            connect: time(options.connect_ms),
            first_byte: options.first_byte_ms.map(time),
            idle: options.idle_ms.map(time),
            total: time(options.total_ms),
            attempts: options.attempts.max(1),
            calls_per_user: options.calls_per_user,
            ..Self::default()
        }
    }
}

/// What one sandbox may ask of its door.
#[derive(Clone, Debug)]
pub struct DoorOptions {
    /// The largest request body.
    pub body_bytes: usize,
    /// All bodies of calls under way together.
    pub bodies_bytes: usize,
    pub body_read: Duration,
    pub header_read: Duration,
    /// Model calls of an executor under way at once.
    pub calls: usize,
    /// Model calls of a coordinator under way at once: one for each of many chats.
    pub coordinator_calls: usize,
    pub connections: usize,
    pub requests_per_second: f64,
    pub request_burst: f64,
    /// How often the very same model request may come in a row.
    pub same_request: u32,
    /// How long an answer is held back once the requests come too fast.
    pub busy_delay: Duration,
    /// How many frames that can't be read a link survives.
    pub bad_frames: u32,
    pub frames_per_second: f64,
    pub frame_burst: f64,
    pub ping: Duration,
}

impl DoorOptions {
    /// Model calls that this door lets in at once.
    pub(crate) fn calls_of(&self, who: Principal) -> usize {
        if who.task.is_some() { self.calls } else { self.coordinator_calls }
    }
}

impl Default for DoorOptions {
    fn default() -> Self {
        Self {
            body_bytes: 8 << 20,
            bodies_bytes: 24 << 20,
            body_read: Duration::from_secs(30),
            header_read: Duration::from_secs(30),
            calls: 8,
            coordinator_calls: 40,
            connections: 64,
            requests_per_second: 100.0,
            request_burst: 200.0,
            same_request: 20,
            busy_delay: Duration::from_millis(100),
            bad_frames: 100,
            frames_per_second: 2_000.0,
            frame_burst: 8_000.0,
            ping: Duration::from_secs(20),
        }
    }
}
