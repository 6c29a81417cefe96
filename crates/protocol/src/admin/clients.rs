//! Machines that people administer from: how they come in, and the authority that vouches for them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::admin::Key;
use crate::ids::{ClientId, UserId, UserName};

/// Asks for an invitation with which one machine of a user can enrol.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewClientInvitation {
    pub user: UserName,
}

/// Everything a machine needs to enrol, once.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ClientInvitation {
    pub user: UserName,
    /// What `cloister admin enroll` takes: address, fingerprint and secret in one word.
    pub invitation: Key,
    /// SHA-256 of the root certificate that the control plane will show.
    pub fingerprint: String,
    /// Where the admin listener is.
    pub address: String,
    pub expires_at: String,
}

/// A machine asks to be enrolled.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Enrol {
    /// The number of the invitation.
    pub invitation: u32,
    pub secret: Key,
    /// What the machine calls itself.
    pub name: String,
    /// A certificate signing request, as PEM; only its key counts.
    pub request: String,
}

/// A machine asks for its next certificate.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Renew {
    /// A certificate signing request, as PEM; only its key counts.
    pub request: String,
}

/// What a machine shows from now on, and whom it trusts.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ClientCertificate {
    pub user: UserName,
    pub client: ClientId,
    /// As PEM.
    pub certificate: String,
    /// The root certificates that the control plane may show, as PEM.
    pub roots: String,
    /// Milliseconds since 1970.
    pub issued_at: i64,
    pub expires_at: i64,
}

/// A machine that was enrolled.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ClientView {
    pub id: ClientId,
    pub user: UserName,
    pub user_id: UserId,
    pub name: String,
    pub enrolled_at: String,
    pub renewed_at: String,
    /// When its newest certificate ends.
    pub expires_at: String,
    /// Which root has issued that certificate.
    pub root: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<String>,
    /// Its connections that are open now.
    pub connections: usize,
}

/// The authority, and how far a rotation is.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CaView {
    pub phase: CaPhase,
    pub roots: Vec<RootView>,
    /// Clients whose newest certificate comes from a root that `finish` would end.
    pub behind: Vec<ClientId>,
    /// Where the admin listener is, if it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CaPhase {
    /// One root is trusted, and issues.
    Settled,
    /// The new root issues, the one before is trusted still.
    Rotating,
    /// The root before issues again, the newer one is trusted still.
    RolledBack,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RootView {
    pub number: u32,
    pub fingerprint: String,
    pub issues: bool,
    pub expires_at: String,
}

/// Ends the trust in every root but the one that issues.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FinishRotation {
    /// Also when clients are locked out by it.
    #[serde(default)]
    pub force: bool,
}
