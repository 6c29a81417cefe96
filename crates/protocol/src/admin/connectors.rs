//! Connectors: bot accounts on surfaces, as an operator sees them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Key;

/// An account to be connected.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddConnector {
    /// The server's address, such as https://matrix.example.org. Empty: the usual one of the surface.
    #[serde(default)]
    pub address: String,
    /// The account there, such as @cloister:example.org. Empty: whichever the credential belongs to.
    #[serde(default)]
    pub account: String,
    pub credential: Credential,
    /// Opens the account's existing key backup and cross-signing, where it has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_key: Option<Key>,
    /// Whether new rooms are end-to-end encrypted.
    #[serde(default = "yes")]
    pub encrypted: bool,
    /// The user that it serves alone. None: everybody who is known here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Where the platform delivers to, from outside, such as https://cloister.example.org. None: what is new is
    /// fetched from the platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<String>,
    /// Where the platform's gateway is. None: where the platform says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
}

const fn yes() -> bool {
    true
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Credential {
    Password(Key),
    Token(Key),
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ConnectorView {
    pub surface: String,
    pub account: String,
    pub address: String,
    pub state: ConnectorState,
    /// Why it is not connected, and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// When the server last answered, in Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_heard_at: Option<i64>,
    /// Rooms that show a chat.
    pub conversations: u64,
    /// What waits to be sent there.
    pub waiting: u64,
    /// Further facts of the surface, by name (device, keys …), none of them secret.
    #[serde(default)]
    pub facts: Vec<(String, String)>,
    /// What the last comparison with the server found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reconciled: Option<ReconcileReport>,
}

/// An account that was connected.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AddedConnector {
    pub view: ConnectorView,
    /// Opens the account's key backup and cross-signing on another device. Said this once, and only if it was
    /// made now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_key: Option<Key>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConnectorState {
    /// Reading what it missed, comparing rooms.
    Starting,
    Connected,
    /// The server does not answer, or with errors; it is tried again.
    Retrying,
    /// The server no longer takes the credentials; an operator must act.
    LoggedOut,
}

impl ConnectorState {
    pub const ALL: [Self; 4] = [Self::Starting, Self::Connected, Self::Retrying, Self::LoggedOut];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Connected => "connected",
            Self::Retrying => "retrying",
            Self::LoggedOut => "logged_out",
        }
    }

    /// The same, for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Connected => "connected",
            Self::Retrying => "not connected, trying again",
            Self::LoggedOut => "logged out",
        }
    }
}

/// What a comparison with the server's rooms did to what is known here. It makes and leaves no room.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReconcileReport {
    /// Rooms looked at.
    pub looked_at: u64,
    /// Were unknown here and are known again.
    pub restored: Vec<String>,
    /// Were known wrongly and are right now.
    pub repaired: Vec<String>,
    /// Not ours to restore, each with why.
    pub skipped: Vec<Skipped>,
    /// Claims that contradict each other, each with what; nothing was changed.
    pub conflicts: Vec<Skipped>,
    pub took_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    pub room: String,
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ResetMode {
    /// Forget what is known here; the server keeps every room.
    LocalOnly,
    /// Leave and forget every room on the server too.
    ServerLeaveForget,
}

impl ResetMode {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LocalOnly => "local-only",
            Self::ServerLeaveForget => "server-leave-forget",
        }
    }
}

/// What is to be forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResetConnector {
    pub mode: ResetMode,
    /// Only say what would be done.
    #[serde(default)]
    pub dry_run: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResetReport {
    pub dry_run: bool,
    /// What was, or would be, forgotten here.
    pub forgotten: Vec<String>,
    /// Rooms that were, or would be, left on the server.
    pub left: Vec<String>,
    /// What did not work, each with why.
    pub failed: Vec<Skipped>,
    /// What a person must still do in their own client.
    pub by_hand: Vec<String>,
}
